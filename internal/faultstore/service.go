package faultstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// BeatWorker implements driver.WorkerRegistry.
func (s *Store) BeatWorker(ctx context.Context, now driver.Time, w driver.WorkerRecord) error {
	return callError(ctx, s, "BeatWorker", func() error { return s.inner.BeatWorker(ctx, now, w) })
}

// ForgetWorker implements driver.WorkerRegistry.
func (s *Store) ForgetWorker(ctx context.Context, id string) error {
	return callError(ctx, s, "ForgetWorker", func() error { return s.inner.ForgetWorker(ctx, id) })
}

// Workers implements driver.WorkerRegistry.
func (s *Store) Workers(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error) {
	return call(ctx, s, "Workers", func() (driver.WorkerPage, error) {
		return s.inner.Workers(ctx, now, after, limit)
	})
}

// Stats implements driver.StatsKeeper.
func (s *Store) Stats(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
	return call(ctx, s, "Stats", func() (driver.StatsResult, error) { return s.inner.Stats(ctx, req) })
}

// SweepStats implements driver.StatsKeeper.
func (s *Store) SweepStats(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return call(ctx, s, "SweepStats", func() (driver.SweepResult, error) { return s.inner.SweepStats(ctx, now, limit) })
}

// SampleDepth implements driver.StatsKeeper.
func (s *Store) SampleDepth(ctx context.Context, now driver.Time) error {
	return callError(ctx, s, "SampleDepth", func() error { return s.inner.SampleDepth(ctx, now) })
}

// Depths implements driver.StatsKeeper.
func (s *Store) Depths(ctx context.Context, from, to driver.Time) ([]driver.Depth, error) {
	return call(ctx, s, "Depths", func() ([]driver.Depth, error) { return s.inner.Depths(ctx, from, to) })
}

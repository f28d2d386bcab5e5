package drivertest

import (
	"context"
	"math"
	"strings"

	"github.com/braidmq/braid/driver"
)

// Stores that break a rule about workers and stats, each one rule.

// deadWorkersLive shows workers whose record has expired.
func deadWorkersLive(b *broken) {
	b.workers = func(ctx context.Context, _ driver.Time, after string, limit int) (driver.WorkerPage, error) {
		return b.Store.Workers(ctx, math.MinInt64, after, limit)
	}
}

// workersIgnoreCase begins a page behind another worker than the one named.
func workersIgnoreCase(b *broken) {
	b.workers = func(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error) {
		return b.Store.Workers(ctx, now, strings.ToUpper(after), limit)
	}
}

// counting returns a breakage that changes every stat that is read.
func counting(edit func(s *driver.Stat)) func(b *broken) {
	return func(b *broken) {
		b.stats = func(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
			result, err := b.Store.Stats(ctx, req)
			for i := range result.Stats {
				edit(&result.Stats[i])
			}
			return result, err
		}
	}
}

var (
	waitIsForgotten    = counting(func(s *driver.Stat) { s.WaitTime = 0 })
	retriesAreFailures = counting(func(s *driver.Stat) {
		if s.Outcome == driver.OutcomeRetried {
			s.Outcome = driver.OutcomeFailed
		}
	})
)

// refusedAcksCount counts an ack that was refused.
func refusedAcksCount(b *broken) {
	b.ack = func(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
		results, err := b.Store.Ack(ctx, now, batch)
		for _, r := range results {
			if r.Err != nil {
				b.remember("refused", 1)
			}
		}
		return results, err
	}
	b.stats = func(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
		result, err := b.Store.Stats(ctx, req)
		if len(result.Stats) > 0 {
			result.Stats[0].Count += b.remembered("refused")
		}
		return result, err
	}
}

// pagesCutMinutes ends a page of stats at its limit, within a minute.
func pagesCutMinutes(b *broken) {
	b.stats = func(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
		result, err := b.Store.Stats(ctx, req)
		if req.Limit > 0 && len(result.Stats) > req.Limit {
			result.Stats = result.Stats[:req.Limit]
		}
		return result, err
	}
}

func statsStayForEver(b *broken) {
	b.sweepStats = func(ctx context.Context, _ driver.Time, limit int) (driver.SweepResult, error) {
		return b.Store.SweepStats(ctx, math.MinInt64, limit)
	}
}

// samplesLate keeps a sample under the minute after its own.
func samplesLate(b *broken) {
	b.depth = func(ctx context.Context, now driver.Time) error { return b.Store.SampleDepth(ctx, now+60_000) }
}

// samplesNoOldOnes forgets to sample once a day has passed.
func samplesNoOldOnes(b *broken) {
	b.depth = func(ctx context.Context, now driver.Time) error {
		if now > driver.Time(driver.StatsKept) {
			return nil
		}
		return b.Store.SampleDepth(ctx, now)
	}
}

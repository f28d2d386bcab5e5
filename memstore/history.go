package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// longestStay returns how long a terminal job may stay after it finished.
func (s *Store) longestStay(rec *record) (driver.Millis, bool) {
	own, ceiling := rec.job.Keep.For(rec.job.State).Age, s.ceiling.For(rec.job.State)
	if !own.Set || ceiling.Set && ceiling.Value < own.Value {
		return ceiling.Get()
	}
	return own.Get()
}

// SweepHistory implements [driver.Sweeper].
func (s *Store) SweepHistory(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, limit, func() bool {
		if s.surplusJob() != nil {
			return true
		}
		oldest, ok := s.expiry.first()
		return ok && oldest.at <= now
	}, func() {
		rec := s.surplusJob()
		if rec == nil {
			oldest, _ := s.expiry.first()
			rec = oldest.rec
		}
		s.delete(rec)
	})
}

// surplusJob returns a job that a bounded trim has left over, if there is one.
func (s *Store) surplusJob() *record {
	for g := range s.surplus {
		if g.holdsBefore(g.bound) {
			oldest, _ := g.order.first()
			return oldest.rec
		}
		delete(s.surplus, g)
	}
	return nil
}

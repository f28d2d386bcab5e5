package pgstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// watchAge is how long the outcome lies ready for a process that waited for it and may
// have died.
const watchAge = driver.Millis(60 * 60 * 1000)

// SweepHistory implements [driver.Sweeper]. It also forgets watches whose process did
// not fetch their outcome.
func (s *Store) SweepHistory(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	var ages [3]*int64
	for i, state := range []driver.State{driver.Completed, driver.Failed, driver.Cancelled} {
		if age, ok := s.ceiling.For(state).Get(); ok {
			ages[i] = pointer(int64(now.Add(-age)))
		}
	}
	return s.sweep(ctx, "SweepHistory", now, limit, func(t *tx, most int) (deleted int, more bool, err error) {
		t.exec("watches_sweep", now.Add(-watchAge), most)
		t.scan("trims_sweep", nil, []any{&deleted, &more}, most)
		if err := t.send(); err != nil || more {
			return deleted, more, err
		}
		var expired int
		t.scan("history_sweep", nil, []any{&expired, &more}, now, ages[0], ages[1], ages[2], most-deleted)
		err = t.send()
		return deleted + expired, more, err
	})
}

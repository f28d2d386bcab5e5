package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// newStep begins the steps of a call with a batch of that size.
func newStep(t *tx, now driver.Time, batch int) step {
	trims := batch + trimsBeyondBatch
	return step{tx: t, now: now, trims: &trims}
}

// sweep deletes in transactions of at most a chunk, up to limit. work deletes up to
// most, tells how many it has deleted, and whether there is more.
func (s *Store) sweep(ctx context.Context, op string, limit int, work func(t *tx, most int) (deleted int, more bool, err error)) (driver.SweepResult, error) {
	var result driver.SweepResult
	for {
		most := max(0, min(driver.ChunkJobs, limit-result.Deleted))
		var deleted int
		var more bool
		err := s.write(ctx, op, most, func(t *tx) (err error) {
			deleted, more, err = work(t, most)
			return err
		})
		if err != nil {
			return result, err
		}
		result.Deleted += deleted
		result.More = more
		if !more || result.Deleted >= limit {
			return result, nil
		}
	}
}

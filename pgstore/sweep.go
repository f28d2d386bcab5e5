package pgstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// sweep changes at most a chunk in a transaction, up to limit in all. work changes up
// to most, tells how many it has, and whether there is more; what it leaves queued goes
// with the commit.
func (s *Store) sweep(ctx context.Context, op string, now driver.Time, limit int, work func(t *tx, most int) (done int, more bool, err error)) (driver.SweepResult, error) {
	var result driver.SweepResult
	for {
		most := max(0, min(driver.ChunkJobs, limit-result.Deleted))
		var done int
		var more bool
		err := s.transact(ctx, op, now, func(t *tx) (err error) {
			done, more, err = work(t, most)
			return err
		})
		if err != nil {
			return result, err
		}
		result.Deleted += done
		result.More = more
		if !more || result.Deleted >= limit {
			return result, nil
		}
	}
}

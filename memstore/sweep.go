package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// sweep calls work while there is any, up to limit times. Both functions run with
// the mutex held, which is free after every chunk.
func (s *Store) sweep(ctx context.Context, limit int, isWork func() bool, work func()) (result driver.SweepResult, err error) {
	for {
		if err := s.lock(ctx); err != nil {
			return result, err
		}
		for range driver.ChunkJobs {
			result.More = isWork()
			if !result.More || result.Deleted >= limit {
				s.mu.Unlock()
				return result, nil
			}
			work()
			result.Deleted++
		}
		s.mu.Unlock()
	}
}

package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// Jobs implements [driver.Inspector].
func (s *Store) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	jobs := make([]*driver.Job, len(ids))
	_, err := s.inChunks(ctx, len(ids), driver.ChunkJobs, func(from, to int) {
		for i := from; i < to; i++ {
			if rec := s.jobs[ids[i]]; rec != nil {
				jobs[i] = rec.snapshot()
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// Attempts implements [driver.Inspector].
func (s *Store) Attempts(ctx context.Context, id string) ([]driver.Attempt, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	rec := s.jobs[id]
	if rec == nil {
		return nil, nil
	}
	// The ledger grows behind what is returned, and the capacity keeps the caller
	// from growing it in place.
	n := len(rec.attempts)
	return rec.attempts[:n:n], nil
}

// Counts implements [driver.Inspector].
func (s *Store) Counts(ctx context.Context, queue string) (driver.Counts, error) {
	if err := s.lock(ctx); err != nil {
		return driver.Counts{}, err
	}
	defer s.mu.Unlock()
	if queue == "" {
		return s.counts.public(), nil
	}
	if q := s.queues[queue]; q != nil {
		return q.counts.public(), nil
	}
	return driver.Counts{}, nil
}

// Queues implements [driver.Inspector].
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	return s.queueNames(ctx, func(*queue) bool { return true })
}

// Position implements [driver.Inspector].
func (s *Store) Position(ctx context.Context, id string) (driver.Opt[int], error) {
	if err := s.lock(ctx); err != nil {
		return driver.Opt[int]{}, err
	}
	defer s.mu.Unlock()
	rec := s.jobs[id]
	if rec == nil {
		return driver.Opt[int]{}, driver.ErrNotFound
	}
	if rec.job.State != driver.Waiting {
		return driver.Opt[int]{}, nil
	}
	own := rank{major: -int64(rec.job.Priority), minor: rec.job.Seq}
	ahead := 0
	for _, l := range rec.lane.queue.lanes {
		if l.waiting.len() == 0 {
			continue
		}
		l.waiting.tree.Scan(func(other rank) bool {
			if ahead == driver.PositionLimit || !before(other, own) {
				return false
			}
			ahead++
			return true
		})
	}
	return driver.Some(ahead), nil
}

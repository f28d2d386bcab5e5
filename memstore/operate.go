package memstore

import (
	"context"
	"slices"

	"github.com/braidmq/braid/driver"
)

// Cancel implements [driver.Operator].
func (s *Store) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	c := newCall(now, len(ids))
	return s.operate(ctx, ids, func(rec *record) (driver.State, error) {
		if rec.job.State.Terminal() {
			return 0, refuse(driver.ErrNotCancellable, rec)
		}
		return s.cancel(c, rec), nil
	})
}

// Promote implements [driver.Operator].
func (s *Store) Promote(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, ids, func(rec *record) (driver.State, error) {
		if rec.job.State != driver.Delayed {
			return 0, refuse(driver.ErrNotPromotable, rec)
		}
		s.sendBack(rec, driver.Some(now), driver.Waiting, false)
		return driver.Waiting, nil
	})
}

// Retry implements [driver.Operator].
func (s *Store) Retry(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, ids, func(rec *record) (driver.State, error) {
		if rec.job.State != driver.Failed {
			return 0, refuse(driver.ErrNotRetryable, rec)
		}
		s.retry(now, rec)
		return driver.Waiting, nil
	})
}

// operate applies one operation to every job of a batch.
func (s *Store) operate(ctx context.Context, ids []string, apply func(*record) (driver.State, error)) ([]driver.OperateResult, error) {
	results := make([]driver.OperateResult, len(ids))
	done, err := s.inChunks(ctx, len(ids), driver.ChunkJobs, func(from, to int) {
		for i := from; i < to; i++ {
			if rec := s.jobs[ids[i]]; rec != nil {
				results[i].State, results[i].Err = apply(rec)
			} else {
				results[i].Err = driver.ErrNotFound
			}
		}
	})
	return results[:done], err
}

// refuse tells that the job's state does not allow the operation.
func refuse(sentinel error, rec *record) error {
	return &driver.StateError{Err: sentinel, ID: rec.job.ID, State: rec.job.State}
}

// cancel cancels a job that is not terminal, or requests it of its worker, and
// returns the state after that.
func (s *Store) cancel(c *call, rec *record) driver.State {
	switch rec.job.State {
	case driver.Active:
		rec.job.CancelRequested = true
		s.announceCancel(rec.job.ID)
		return driver.Active
	case driver.WaitingChildren:
		s.settleEarly(rec.flow)
	}
	s.finish(c, rec, cancelledEnding)
	return driver.Cancelled
}

// retry gives a failed job a fresh budget.
func (s *Store) retry(now driver.Time, rec *record) {
	s.release(rec)
	s.detach(rec)
	s.seq++
	job := &rec.job
	job.State, job.Seq, job.RunAt = driver.Waiting, s.seq, now
	job.AttemptsMade, job.StalledCount = 0, 0
	rec.exit, rec.failedReason = nil, ""
	rec.finishedAt, rec.processedAt = driver.Opt[driver.Time]{}, driver.Opt[driver.Time]{}
	s.attach(rec)
	s.retakeDedupe(now, rec)
	s.wake(rec.queue())
}

// Remove implements [driver.Operator].
func (s *Store) Remove(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
	removed := make([]bool, len(ids))
	done, err := s.inChunks(ctx, len(ids), driver.ChunkJobs, func(from, to int) {
		for i := from; i < to; i++ {
			removed[i] = s.remove(now, s.jobs[ids[i]])
		}
	})
	return removed[:done], err
}

func (s *Store) remove(now driver.Time, rec *record) bool {
	if rec == nil || rec.job.State == driver.Active || rec.job.State == driver.WaitingChildren {
		return false
	}
	if rec.job.Parent != nil && !rec.job.State.Terminal() {
		s.report(now, rec, cancelledEnding)
	}
	s.delete(rec)
	return true
}

// Pause implements [driver.Operator].
func (s *Store) Pause(ctx context.Context, queue string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.queueNamed(queue).paused = true
	return nil
}

// Resume implements [driver.Operator].
func (s *Store) Resume(ctx context.Context, queue string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	q := s.queues[queue]
	if q == nil || !q.paused {
		return nil
	}
	q.paused = false
	s.dropIdleQueue(q)
	s.wake(queue)
	return nil
}

// PausedQueues implements [driver.Operator].
func (s *Store) PausedQueues(ctx context.Context) ([]string, error) {
	return s.queueNames(ctx, func(q *queue) bool { return q.paused })
}

// queueNames returns the names of some queues, in byte order.
func (s *Store) queueNames(ctx context.Context, include func(*queue) bool) ([]string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var names []string
	for name, q := range s.queues {
		if include(q) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// Cancel implements [driver.Operator].
func (s *Store) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Cancel", now, ids, func(st step, rec *record) (driver.State, error) {
		if rec.state.Terminal() {
			return 0, refuse(driver.ErrNotCancellable, rec)
		}
		return st.cancel(rec)
	})
}

// Promote implements [driver.Operator].
func (s *Store) Promote(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Promote", now, ids, func(st step, rec *record) (driver.State, error) {
		if rec.state != driver.Delayed {
			return 0, refuse(driver.ErrNotPromotable, rec)
		}
		return driver.Waiting, st.sendBack(rec, now, driver.Waiting, false)
	})
}

// Retry implements [driver.Operator].
func (s *Store) Retry(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Retry", now, ids, func(st step, rec *record) (driver.State, error) {
		if rec.state != driver.Failed {
			return 0, refuse(driver.ErrNotRetryable, rec)
		}
		return driver.Waiting, st.retry(rec)
	})
}

// operate applies one operation to every job of a batch.
func (s *Store) operate(ctx context.Context, op string, now driver.Time, ids []string, apply func(step, *record) (driver.State, error)) ([]driver.OperateResult, error) {
	results := make([]driver.OperateResult, len(ids))
	trims := len(ids) + trimsBeyondBatch
	done, err := s.inChunks(ctx, op, len(ids), driver.ChunkJobs, func(t *tx, from, to int) error {
		st := step{tx: t, now: now, trims: &trims}
		for i := from; i < to; i++ {
			rec, err := st.record(ids[i])
			if err != nil {
				return err
			}
			if rec == nil {
				results[i] = driver.OperateResult{Err: driver.ErrNotFound}
				continue
			}
			state, err := apply(st, rec)
			if err != nil && !storekit.IsItemRefusal(err) {
				return err
			}
			results[i] = driver.OperateResult{State: state, Err: err}
		}
		return nil
	})
	return results[:done], err
}

// inChunks calls work in a transaction for one range of a batch after the other.
// When it stops early, it returns how many items were worked on.
func (s *Store) inChunks(ctx context.Context, op string, total, chunk int, work func(t *tx, from, to int) error) (done int, err error) {
	if total == 0 {
		return 0, s.serves(ctx)
	}
	for done < total {
		to := min(done+chunk, total)
		from := done
		if err := s.write(ctx, op, to-from, func(t *tx) error { return work(t, from, to) }); err != nil {
			return done, storekit.Partial(done, err)
		}
		done = to
	}
	return done, nil
}

// refuse tells that the job's state does not allow the operation.
func refuse(sentinel error, rec *record) error {
	return &driver.StateError{Err: sentinel, ID: rec.id, State: rec.state}
}

// cancel cancels a job that is not terminal, or requests it of its worker, and
// returns the state after that.
func (st step) cancel(rec *record) (driver.State, error) {
	switch rec.state {
	case driver.Active:
		st.tx.call.cancels = append(st.tx.call.cancels, rec.id)
		_, err := st.exec("job_request_cancel", rec.job)
		return driver.Active, err
	case driver.WaitingChildren:
		if err := st.settleEarly(rec.flow); err != nil {
			return 0, err
		}
	}
	return driver.Cancelled, st.finish(rec, cancelledEnding)
}

// retry gives a failed job a fresh budget. The last entry of its ledger goes where
// the others are.
func (st step) retry(rec *record) error {
	key, err := st.retakeDedupe(rec)
	if err != nil {
		return err
	}
	if _, err := st.exec("attempt_insert_last", rec.job); err != nil {
		return err
	}
	st.move(rec.queue, rec.name, driver.Failed, driver.Waiting)
	if rec.owing {
		st.count(rec.queue, rec.name, owingState+int64(driver.Failed), -1)
	}
	st.wake(rec.queue)
	_, err = st.exec("job_retry", rec.job, draw(&st.counters.seq), st.now, optional(key))
	return err
}

// Remove implements [driver.Operator].
func (s *Store) Remove(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
	removed := make([]bool, len(ids))
	done, err := s.inChunks(ctx, "Remove", len(ids), driver.ChunkJobs, func(t *tx, from, to int) error {
		st := step{tx: t, now: now}
		for i := from; i < to; i++ {
			rec, err := st.record(ids[i])
			if err != nil {
				return err
			}
			if removed[i], err = st.remove(rec); err != nil {
				return err
			}
		}
		return nil
	})
	return removed[:done], err
}

func (st step) remove(rec *record) (bool, error) {
	if rec == nil || rec.state == driver.Active || rec.state == driver.WaitingChildren {
		return false, nil
	}
	if rec.parent != "" && !rec.state.Terminal() {
		if err := st.report(rec, cancelledEnding); err != nil {
			return false, err
		}
	}
	return true, st.delete(rec)
}

// Pause implements [driver.Operator].
func (s *Store) Pause(ctx context.Context, queue string) error {
	return s.write(ctx, "Pause", 1, func(t *tx) error {
		_, err := t.exec("queue_pause", queue)
		return err
	})
}

// Resume implements [driver.Operator].
func (s *Store) Resume(ctx context.Context, queue string) error {
	return s.write(ctx, "Resume", 1, func(t *tx) error {
		resumed, err := t.affect("queue_resume", queue)
		if err != nil || resumed == 0 {
			return err
		}
		t.wake(queue) // a queue without jobs goes with this change
		return nil
	})
}

// PausedQueues implements [driver.Operator].
func (s *Store) PausedQueues(ctx context.Context) ([]string, error) {
	return s.queueNames(ctx, "PausedQueues", "queues_paused")
}

// queueNames returns the names of some queues, in byte order.
func (s *Store) queueNames(ctx context.Context, op string, query statement) ([]string, error) {
	var names []string
	err := s.read(ctx, op, func(on session) error {
		return on.query(query, func(r row) error {
			names = append(names, r.text(0))
			return nil
		})
	})
	return names, err
}

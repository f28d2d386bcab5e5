package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// Cancel implements [driver.Operator].
func (s *Store) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Cancel", now, ids, nil, func(t *tx, rec *record) (driver.State, error) {
		if rec.state.Terminal() {
			return 0, refuse(driver.ErrNotCancellable, rec)
		}
		return t.cancel(rec)
	})
}

// Promote implements [driver.Operator].
func (s *Store) Promote(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Promote", now, ids, nil, func(t *tx, rec *record) (driver.State, error) {
		if rec.state != driver.Delayed {
			return 0, refuse(driver.ErrNotPromotable, rec)
		}
		return driver.Waiting, t.sendBack(rec, now, driver.Waiting, false)
	})
}

// Retry implements [driver.Operator].
func (s *Store) Retry(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	var keys map[dedupeKey]*dedupeEntry
	lock := func(t *tx, recs records) (err error) {
		keys, err = t.lockKeysToRetake(recs)
		return err
	}
	return s.operate(ctx, "Retry", now, ids, lock, func(t *tx, rec *record) (driver.State, error) {
		if rec.state != driver.Failed {
			return 0, refuse(driver.ErrNotRetryable, rec)
		}
		return driver.Waiting, t.retry(rec, keys)
	})
}

// operate applies one operation to every job of a batch. prepare, unless nil, is called
// once the jobs are loaded.
func (s *Store) operate(ctx context.Context, op string, now driver.Time, ids []string, prepare func(t *tx, recs records) error, apply func(t *tx, rec *record) (driver.State, error)) ([]driver.OperateResult, error) {
	results := make([]driver.OperateResult, len(ids))
	trims := len(ids) + trimsBeyondBatch
	done, err := s.inChunks(ctx, op, now, len(ids), driver.ChunkJobs, func(t *tx, from, to int) error {
		budget := trims
		t.trims = &budget
		recs, err := t.load(ids[from:to])
		if err != nil {
			return err
		}
		if prepare != nil {
			if err := prepare(t, recs); err != nil {
				return err
			}
		}
		for i := from; i < to; i++ {
			rec := recs[ids[i]]
			if rec == nil || rec.deleted {
				results[i] = driver.OperateResult{Err: driver.ErrNotFound}
				continue
			}
			state, err := apply(t, rec)
			if err != nil && !storekit.IsItemRefusal(err) {
				return err
			}
			results[i] = driver.OperateResult{State: state, Err: err}
		}
		t.flush()
		t.settled = func() { trims = budget }
		return nil
	})
	return results[:done], err
}

// inChunks calls work in a transaction for one range of a batch after the other.
// When it stops early, it returns how many items were worked on.
func (s *Store) inChunks(ctx context.Context, op string, now driver.Time, total, chunk int, work func(t *tx, from, to int) error) (done int, err error) {
	if total == 0 {
		return 0, s.serves(ctx)
	}
	for done < total {
		from, to := done, min(done+chunk, total)
		if err := s.transact(ctx, op, now, func(t *tx) error { return work(t, from, to) }); err != nil {
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
func (t *tx) cancel(rec *record) (driver.State, error) {
	switch rec.state {
	case driver.Active:
		rec.cancelRequested = true
		t.cancels = append(t.cancels, rec.id)
		return driver.Active, nil
	case driver.WaitingChildren:
		if err := t.settleEarly(rec.flow); err != nil {
			return 0, err
		}
	}
	return driver.Cancelled, t.finish(rec, cancelledEnding)
}

// flushCancels queues the cancel requests of active jobs.
func (t *tx) flushCancels() {
	if len(t.cancels) > 0 {
		t.exec("jobs_request_cancel", t.cancels)
	}
}

// retry gives a failed job a fresh budget. The last entry of its ledger goes where
// the others are.
func (t *tx) retry(rec *record, keys map[dedupeKey]*dedupeEntry) error {
	seq, err := t.number()
	if err != nil {
		return err
	}
	t.lasts = append(t.lasts, rec.id)
	if rec.owing {
		t.count(rec.queue, rec.name, owingState+int64(driver.Failed), -1)
	}
	t.move(rec, driver.Waiting)
	rec.changed, rec.seq, rec.runAt = true, seq, t.now
	rec.ledger++
	rec.attemptsMade, rec.stalledCount, rec.owing = 0, 0, false
	rec.processedAt, rec.finishedAt = driver.Opt[driver.Time]{}, driver.Opt[driver.Time]{}
	rec.turn, rec.lockedBy = 0, ""
	if rec.dedupeKey != "" && !rec.dedupeTTL {
		k := keys[dedupeKey{rec.name, rec.dedupeKey}]
		if k.holds(t.now, t.loaded) {
			rec.dedupeKey = ""
		} else {
			k.id, k.owned, k.changed, k.expiresAt = rec.id, true, true, driver.Opt[driver.Time]{}
		}
	}
	t.wake(rec.queue)
	return nil
}

// lockKeysToRetake locks the keys that failed jobs take again if they are free.
func (t *tx) lockKeysToRetake(recs records) (map[dedupeKey]*dedupeEntry, error) {
	keys := map[dedupeKey]keyUse{}
	for _, rec := range recs {
		if rec.state == driver.Failed && rec.dedupeKey != "" && !rec.dedupeTTL {
			keys[dedupeKey{rec.name, rec.dedupeKey}] = keyUse{}
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	entries, err := t.lockKeys(keys)
	if err != nil {
		return nil, err
	}
	t.locked = entries
	return entries, nil
}

// Remove implements [driver.Operator].
func (s *Store) Remove(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
	removed := make([]bool, len(ids))
	done, err := s.inChunks(ctx, "Remove", now, len(ids), driver.ChunkJobs, func(t *tx, from, to int) error {
		recs, err := t.load(ids[from:to])
		if err != nil {
			return err
		}
		for i := from; i < to; i++ {
			if removed[i], err = t.remove(recs[ids[i]]); err != nil {
				return err
			}
		}
		t.flush()
		return nil
	})
	return removed[:done], err
}

func (t *tx) remove(rec *record) (bool, error) {
	if rec == nil || rec.deleted || rec.state == driver.Active || rec.state == driver.WaitingChildren {
		return false, nil
	}
	if rec.parent != "" && !rec.state.Terminal() {
		if err := t.report(rec, cancelledEnding); err != nil {
			return false, err
		}
	}
	t.announceRemoval(rec)
	return true, t.delete(rec)
}

// Pause implements [driver.Operator].
func (s *Store) Pause(ctx context.Context, queue string) error {
	return s.pipeline(ctx, "Pause", 0, func(t *tx) { t.exec("queue_pause", queue) })
}

// Resume implements [driver.Operator].
func (s *Store) Resume(ctx context.Context, queue string) error {
	return s.pipeline(ctx, "Resume", 0, func(t *tx) {
		var resumed int64
		t.affect("queue_resume", &resumed, queue)
		t.settled = func() {
			if resumed > 0 {
				t.wake(queue)
			}
		}
	})
}

// PausedQueues implements [driver.Operator].
func (s *Store) PausedQueues(ctx context.Context) ([]string, error) {
	return s.queueNames(ctx, "PausedQueues", "queues_paused")
}

// queueNames returns the names of some queues, in byte order.
func (s *Store) queueNames(ctx context.Context, op string, query statement) ([]string, error) {
	var queues []string
	err := s.pipeline(ctx, op, 0, func(t *tx) {
		queues = nil
		t.query(query, func(rows pgx.Rows) error {
			var queue string
			err := rows.Scan(&queue)
			queues = append(queues, queue)
			return err
		})
	})
	return queues, err
}

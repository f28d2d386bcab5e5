package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// Heartbeat implements [driver.Consumer].
func (s *Store) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, duration driver.Millis) (driver.HeartbeatResult, error) {
	var result driver.HeartbeatResult
	if len(locks) == 0 {
		return result, s.serves(ctx)
	}
	for from := 0; from < len(locks); from += driver.ChunkJobs {
		part := locks[from:min(from+driver.ChunkJobs, len(locks))]
		ids, tokens := make([]string, len(part)), make([]string, len(part))
		for i, lock := range part {
			ids[i], tokens[i] = lock.ID, lock.Token
		}
		held, err := s.extend(ctx, now, ids, tokens, now.Add(duration))
		if err != nil {
			return result, err
		}
		for _, lock := range part {
			state, ok := held[lock]
			switch {
			case !ok:
				result.Lost = append(result.Lost, lock.ID)
			case state.cancelRequested:
				result.CancelRequested = append(result.CancelRequested, lock.ID)
			}
			if ok && !state.extended {
				result.Contended = append(result.Contended, lock.ID)
			}
		}
	}
	return result, nil
}

// heldLock is what a heartbeat learns of a lock.
type heldLock struct{ cancelRequested, extended bool }

// extend extends locks and returns those that are held. Jobs that others have locked it
// leaves out: the locks of the others must not run out for them.
func (s *Store) extend(ctx context.Context, now driver.Time, ids, tokens []string, until driver.Time) (held map[driver.Lock]heldLock, err error) {
	try := func(p patience, st statement) error {
		return s.pipelineAs(ctx, p, "Heartbeat", now, func(t *tx) {
			held = make(map[driver.Lock]heldLock, len(ids))
			t.query(st, func(rows pgx.Rows) error {
				var lock driver.Lock
				var state heldLock
				err := rows.Scan(&lock.ID, &lock.Token, &state.cancelRequested, &state.extended)
				held[lock] = state
				return err
			}, ids, tokens, until)
		})
	}
	err = try(hasty, "locks_extend")
	if errors.Is(err, driver.ErrContended) {
		err = try(patient, "locks_extend_free")
	}
	return held, err
}

// RecoverStalled implements [driver.Consumer].
func (s *Store) RecoverStalled(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
	var result driver.RecoverResult
	trims := req.Limit + trimsBeyondBatch
	swept, err := s.sweep(ctx, "RecoverStalled", now, req.Limit, func(t *tx, most int) (done int, more bool, err error) {
		budget := trims
		t.trims = &budget
		var recovered []driver.Recovered
		stalled, err := t.stalled(most + 1)
		if err != nil {
			return 0, false, err
		}
		if more = len(stalled) > most; more {
			stalled = stalled[:most]
		}
		for _, rec := range stalled {
			one, report, err := t.recover(rec, req.MaxStalled)
			if err != nil {
				return 0, false, err
			}
			if report {
				recovered = append(recovered, one)
			}
		}
		t.flush()
		t.settled = func() {
			trims = budget
			result.Jobs = append(result.Jobs, recovered...)
		}
		return len(stalled), more, nil
	})
	result.More = swept.More
	return result, err
}

// stalled locks and returns jobs whose lock has run out, those that ran out first
// before others.
func (t *tx) stalled(limit int) ([]*record, error) {
	var recs []*record
	t.query("jobs_stalled", func(rows pgx.Rows) error {
		rec, err := readRecord(rows)
		recs = append(recs, rec)
		return err
	}, t.now, limit)
	t.draw(2 * min(limit, drawAtOnce))
	if err := t.send(); err != nil {
		return nil, err
	}
	return recs, t.loadLocked(recs)
}

// recover takes a job away from a worker that let its lock run out. A cancelled
// one is not reported.
func (t *tx) recover(rec *record, maxStalled int32) (result driver.Recovered, report bool, err error) {
	if rec.cancelRequested {
		return result, false, t.finish(rec, cancelledEnding)
	}
	rec.stalledCount++
	result = driver.Recovered{ID: rec.id, Failed: rec.stalledCount > maxStalled}
	if result.Failed {
		return result, true, t.finish(rec, ending{state: driver.Failed, outcome: driver.OutcomeStalled, reason: driver.StalledReason})
	}
	t.log(rec, driver.OutcomeStalled, nil)
	return result, true, t.sendBack(rec, rec.runAt, driver.Waiting, false)
}

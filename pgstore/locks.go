package pgstore

import (
	"context"

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
		var held map[driver.Lock]bool // whether a cancel is requested
		err := s.pipeline(ctx, "Heartbeat", now, func(t *tx) {
			held = make(map[driver.Lock]bool, len(part))
			t.query("locks_extend", func(rows pgx.Rows) error {
				var lock driver.Lock
				var requested bool
				err := rows.Scan(&lock.ID, &lock.Token, &requested)
				held[lock] = requested
				return err
			}, ids, tokens, now.Add(duration))
		})
		if err != nil {
			return result, err
		}
		for _, lock := range part {
			switch requested, ok := held[lock]; {
			case !ok:
				result.Lost = append(result.Lost, lock.ID)
			case requested:
				result.CancelRequested = append(result.CancelRequested, lock.ID)
			}
		}
	}
	return result, nil
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

package sqlitestore

import (
	"context"

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
		var lost, cancelled []string
		err := s.write(ctx, "Heartbeat", len(part), func(t *tx) error {
			for _, lock := range part {
				requested := false
				held, err := first(t, "lock_extend", func(r row) { requested = r.flag(0) }, lock.ID, lock.Token, now.Add(duration))
				switch {
				case err != nil:
					return err
				case !held:
					lost = append(lost, lock.ID)
				case requested:
					cancelled = append(cancelled, lock.ID)
				}
				t.changed = t.changed || held
			}
			return nil
		})
		if err != nil {
			return result, err
		}
		result.Lost = append(result.Lost, lost...)
		result.CancelRequested = append(result.CancelRequested, cancelled...)
	}
	return result, nil
}

// RecoverStalled implements [driver.Consumer].
func (s *Store) RecoverStalled(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
	var result driver.RecoverResult
	trims := req.Limit + trimsBeyondBatch
	swept, err := s.sweep(ctx, "RecoverStalled", req.Limit, func(t *tx, most int) (deleted int, more bool, err error) {
		st := step{tx: t, now: now, trims: &trims}
		before := len(result.Jobs)
		stalled, err := st.stalled(most + 1)
		if err != nil {
			return 0, false, err
		}
		for i, rec := range stalled {
			if i == most {
				return most, true, nil
			}
			recovered, report, err := st.recover(rec, req.MaxStalled)
			if err != nil {
				result.Jobs = result.Jobs[:before]
				return 0, false, err
			}
			if report {
				result.Jobs = append(result.Jobs, recovered)
			}
		}
		return len(stalled), false, nil
	})
	result.More = swept.More
	return result, err
}

// stalled returns jobs whose lock has run out, those that ran out first before others.
func (st step) stalled(limit int) ([]*record, error) {
	var rows []int64
	err := st.query("stalled", func(r row) error {
		rows = append(rows, r.integer(0))
		return nil
	}, st.now, limit)
	if err != nil {
		return nil, err
	}
	recs := make([]*record, len(rows))
	for i, job := range rows {
		if recs[i], err = st.recordOf(job); err != nil {
			return nil, err
		}
	}
	return recs, nil
}

// recover takes a job away from a worker that let its lock run out. A cancelled
// one is not reported.
func (st step) recover(rec *record, maxStalled int32) (result driver.Recovered, report bool, err error) {
	if rec.cancelRequested {
		return result, false, st.finish(rec, cancelledEnding)
	}
	rec.stalledCount++
	result = driver.Recovered{ID: rec.id, Failed: rec.stalledCount > maxStalled}
	if result.Failed {
		return result, true, st.finish(rec, ending{state: driver.Failed, outcome: driver.OutcomeStalled, reason: driver.StalledReason})
	}
	if err := st.log(rec, driver.OutcomeStalled, nil); err != nil {
		return result, false, err
	}
	return result, true, st.sendBack(rec, rec.runAt, driver.Waiting, false)
}

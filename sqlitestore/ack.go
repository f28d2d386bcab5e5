package sqlitestore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// Ack implements [driver.Consumer].
func (s *Store) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	results := make([]driver.AckResult, len(batch))
	if len(batch) == 0 {
		return results, s.serves(ctx)
	}
	trims := len(batch) + trimsBeyondBatch
	for from := 0; from < len(batch); {
		to := storekit.ChunkEnd(from, len(batch), driver.ChunkJobs, func(i int) int { return len(batch[i].Exit) })
		err := s.write(ctx, "Ack", to-from, func(t *tx) error {
			st := step{tx: t, now: now, trims: &trims}
			for i := from; i < to; i++ {
				state, err := st.ack(&batch[i])
				if err != nil && !storekit.IsItemRefusal(err) {
					return err
				}
				results[i] = driver.AckResult{State: state, Err: err}
			}
			return nil
		})
		if err != nil {
			return results[:from], storekit.Partial(from, err)
		}
		from = to
	}
	return results, nil
}

// ack settles one run.
func (st step) ack(a *driver.Ack) (driver.State, error) {
	rec, err := st.record(a.ID)
	switch {
	case err != nil:
		return 0, err
	case rec == nil:
		return 0, driver.ErrNotFound
	case rec.state != driver.Active || rec.token != a.Token:
		return 0, driver.ErrLockLost
	}
	before := *rec
	state, err := st.settleRun(rec, a)
	if err == nil {
		st.countRun(before, a.Kind, state)
	}
	return state, err
}

// settleRun does what an ack says to the job of a run.
func (st step) settleRun(rec *record, a *driver.Ack) (driver.State, error) {
	cancel := rec.cancelRequested
	switch a.Kind {
	case driver.AckComplete:
		rec.attemptsMade++
		return driver.Completed, st.finish(rec, ending{state: driver.Completed, outcome: driver.OutcomeCompleted, exit: a.Exit})
	case driver.AckFail:
		rec.attemptsMade++
		return driver.Failed, st.finish(rec, ending{state: driver.Failed, outcome: driver.OutcomeFailed, exit: a.Exit})
	case driver.AckCancelled:
		rec.attemptsMade++
	case driver.AckRetry:
		rec.attemptsMade++
		if !cancel {
			if err := st.log(rec, driver.OutcomeRetried, a.Exit); err != nil {
				return 0, err
			}
			return st.putOff(rec, a.Delay)
		}
	case driver.AckSnooze:
		if !cancel {
			return st.putOff(rec, a.Delay)
		}
	case driver.AckRelease:
		if !cancel {
			return driver.Waiting, st.sendBack(rec, rec.runAt, driver.Waiting, false)
		}
	case driver.AckFanOut:
		return st.fanOut(rec, a)
	default:
		return 0, &driver.InvalidError{Field: "kind", Value: strconv.Itoa(int(a.Kind)),
			Reason: "is no kind of ack; use one of the constants"}
	}
	return driver.Cancelled, st.finish(rec, cancelledEnding)
}

// putOff sends the job back for now + delay, behind the others.
func (st step) putOff(rec *record, delay driver.Millis) (driver.State, error) {
	state := driver.Waiting
	if delay > 0 {
		state = driver.Delayed
	}
	return state, st.sendBack(rec, st.now.Add(delay), state, true)
}

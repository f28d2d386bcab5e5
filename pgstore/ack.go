package pgstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// Ack implements [driver.Consumer].
func (s *Store) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	return s.ackAll(ctx, patient, now, batch)
}

// AckGrouped implements [driver.GroupedConsumer].
func (s *Store) AckGrouped(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	return s.ackAll(ctx, hasty, now, batch)
}

func (s *Store) ackAll(ctx context.Context, p patience, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	results := make([]driver.AckResult, len(batch))
	if len(batch) == 0 {
		return results, s.serves(ctx)
	}
	trims := len(batch) + trimsBeyondBatch
	for from := 0; from < len(batch); {
		to := storekit.ChunkEnd(from, len(batch), driver.ChunkJobs, func(i int) int { return len(batch[i].Exit) })
		if err := s.ackChunk(ctx, p, now, batch[from:to], results[from:to], &trims); err != nil {
			return results[:from], storekit.Partial(from, err)
		}
		from = to
	}
	return results, nil
}

func (s *Store) ackChunk(ctx context.Context, p patience, now driver.Time, batch []driver.Ack, results []driver.AckResult, trims *int) error {
	left, err := s.ackPlain(ctx, p, now, batch, results)
	if p == hasty && errors.Is(err, driver.ErrContended) {
		left, err = allOf(batch), nil
	}
	if len(left) == 0 || err != nil {
		return err
	}
	err = s.ackSome(ctx, p, now, batch, left, results, trims)
	if p != hasty || !errors.Is(err, driver.ErrContended) {
		return err
	}
	// Not a job, which is left out alone, but what hangs on one belongs to somebody else.
	for _, i := range left {
		err := s.ackSome(ctx, p, now, batch, []int{i}, results, trims)
		switch {
		case errors.Is(err, driver.ErrContended):
			results[i] = driver.AckResult{Err: err}
		case err != nil:
			return err
		}
	}
	return nil
}

// ackSome settles some runs of a batch in one transaction. If it is hasty, those whose jobs
// others have locked are refused with driver.ErrContended.
func (s *Store) ackSome(ctx context.Context, p patience, now driver.Time, batch []driver.Ack, which []int, results []driver.AckResult, trims *int) error {
	ids := make([]string, len(which))
	for n, i := range which {
		ids[n] = batch[i].ID
	}
	budget := *trims
	return s.transactAs(ctx, p, "Ack", now, func(t *tx) error {
		*trims = budget
		t.trims = trims
		var recs records
		var held map[string]bool
		var err error
		if p == hasty {
			recs, held, err = t.loadFree(ids)
		} else {
			recs, err = t.load(ids)
		}
		if err != nil {
			return err
		}
		for _, i := range which {
			if held[batch[i].ID] {
				results[i] = driver.AckResult{Err: s.storeError(ctx, "Ack", errHeld, false)}
				continue
			}
			state, err := t.ack(recs[batch[i].ID], &batch[i])
			if err != nil && !storekit.IsItemRefusal(err) {
				return err
			}
			results[i] = driver.AckResult{State: state, Err: err}
		}
		t.flush()
		return nil
	})
}

// allOf returns the places of all items.
func allOf(batch []driver.Ack) []int {
	all := make([]int, len(batch))
	for i := range all {
		all[i] = i
	}
	return all
}

// ack settles one run.
func (t *tx) ack(rec *record, a *driver.Ack) (driver.State, error) {
	switch {
	case rec == nil || rec.deleted:
		return 0, driver.ErrNotFound
	case rec.state != driver.Active || rec.token != a.Token:
		return 0, driver.ErrLockLost
	}
	before := *rec
	state, err := t.settleRun(rec, a)
	if err == nil {
		t.countRun(before, a.Kind, state)
	}
	return state, err
}

// settleRun does what an ack says to the job of a run.
func (t *tx) settleRun(rec *record, a *driver.Ack) (driver.State, error) {
	cancel := rec.cancelRequested
	switch a.Kind {
	case driver.AckComplete:
		rec.attemptsMade++
		return driver.Completed, t.finish(rec, ending{state: driver.Completed, outcome: driver.OutcomeCompleted, exit: a.Exit})
	case driver.AckFail:
		rec.attemptsMade++
		return driver.Failed, t.finish(rec, ending{state: driver.Failed, outcome: driver.OutcomeFailed, exit: a.Exit})
	case driver.AckCancelled:
		rec.attemptsMade++
	case driver.AckRetry:
		rec.attemptsMade++
		if !cancel {
			t.log(rec, driver.OutcomeRetried, a.Exit)
			return t.putOff(rec, a.Delay)
		}
	case driver.AckSnooze:
		if !cancel {
			return t.putOff(rec, a.Delay)
		}
	case driver.AckRelease:
		if !cancel {
			return driver.Waiting, t.sendBack(rec, rec.runAt, driver.Waiting, false)
		}
	case driver.AckFanOut:
		return t.fanOut(rec, a)
	default:
		return 0, &driver.InvalidError{Field: "kind", Value: strconv.Itoa(int(a.Kind)),
			Reason: "is no kind of ack; use one of the constants"}
	}
	return driver.Cancelled, t.finish(rec, cancelledEnding)
}

// putOff sends the job back for now + delay, behind the others.
func (t *tx) putOff(rec *record, delay driver.Millis) (driver.State, error) {
	state := driver.Waiting
	if delay > 0 {
		state = driver.Delayed
	}
	return state, t.sendBack(rec, t.now.Add(delay), state, true)
}

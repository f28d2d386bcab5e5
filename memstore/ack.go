package memstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// Ack implements [driver.Consumer].
func (s *Store) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	results := make([]driver.AckResult, len(batch))
	c := newCall(now, len(batch))
	done, err := s.inChunks(ctx, len(batch), driver.ChunkJobs, func(from, to int) {
		for i := from; i < to; i++ {
			results[i].State, results[i].Err = s.ack(c, &batch[i])
		}
	})
	return results[:done], err
}

// ack settles one run.
func (s *Store) ack(c *call, a *driver.Ack) (driver.State, error) {
	rec := s.jobs[a.ID]
	switch {
	case rec == nil:
		return 0, driver.ErrNotFound
	case rec.job.State != driver.Active || rec.token != a.Token:
		return 0, driver.ErrLockLost
	}
	run := rec.runBefore()
	state, err := s.settleRun(c, rec, a)
	if err == nil {
		s.countRun(c.now, run, a.Kind, state)
	}
	return state, err
}

// settleRun does what an ack says to the job of a run.
func (s *Store) settleRun(c *call, rec *record, a *driver.Ack) (driver.State, error) {
	cancel := rec.job.CancelRequested
	switch a.Kind {
	case driver.AckComplete:
		rec.job.AttemptsMade++
		s.finish(c, rec, ending{state: driver.Completed, outcome: driver.OutcomeCompleted, exit: a.Exit})
		return driver.Completed, nil
	case driver.AckFail:
		rec.job.AttemptsMade++
		s.finish(c, rec, ending{state: driver.Failed, outcome: driver.OutcomeFailed, exit: a.Exit})
		return driver.Failed, nil
	case driver.AckCancelled:
		rec.job.AttemptsMade++
		s.finish(c, rec, cancelledEnding)
		return driver.Cancelled, nil
	case driver.AckRetry:
		rec.job.AttemptsMade++
		if cancel {
			break
		}
		rec.log(c.now, driver.OutcomeRetried, a.Exit)
		return s.putOff(c.now, rec, a.Delay), nil
	case driver.AckSnooze:
		if cancel {
			break
		}
		return s.putOff(c.now, rec, a.Delay), nil
	case driver.AckRelease:
		if cancel {
			break
		}
		s.sendBack(rec, driver.Opt[driver.Time]{}, driver.Waiting, false)
		return driver.Waiting, nil
	case driver.AckFanOut:
		return s.fanOut(c, rec, a)
	default:
		return 0, &driver.InvalidError{Field: "kind", Value: strconv.Itoa(int(a.Kind)),
			Reason: "is no kind of ack; use one of the constants"}
	}
	s.finish(c, rec, cancelledEnding)
	return driver.Cancelled, nil
}

// putOff sends the job back for now + delay, behind the others.
func (s *Store) putOff(now driver.Time, rec *record, delay driver.Millis) driver.State {
	state := driver.Waiting
	if delay > 0 {
		state = driver.Delayed
	}
	s.sendBack(rec, driver.Some(now.Add(delay)), state, true)
	return state
}

package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// Heartbeat implements [driver.Consumer].
func (s *Store) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, duration driver.Millis) (driver.HeartbeatResult, error) {
	var result driver.HeartbeatResult
	_, err := s.inChunks(ctx, len(locks), driver.ChunkJobs, func(from, to int) {
		for _, lock := range locks[from:to] {
			rec := s.jobs[lock.ID]
			if rec == nil || rec.job.State != driver.Active || rec.token != lock.Token {
				result.Lost = append(result.Lost, lock.ID)
				continue
			}
			s.active.remove(rec.lockExpiresAt.Value, rec)
			rec.lockExpiresAt = driver.Some(now.Add(duration))
			s.active.add(rec.lockExpiresAt.Value, rec)
			if rec.job.CancelRequested {
				result.CancelRequested = append(result.CancelRequested, lock.ID)
			}
		}
	})
	return result, err
}

// RecoverStalled implements [driver.Consumer].
func (s *Store) RecoverStalled(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
	var result driver.RecoverResult
	c := newCall(now, req.Limit)
	swept, err := s.sweep(ctx, req.Limit, func() bool {
		stalled, ok := s.active.first()
		return ok && stalled.at <= now
	}, func() {
		stalled, _ := s.active.first()
		if recovered, report := s.recover(c, stalled.rec, req.MaxStalled); report {
			result.Jobs = append(result.Jobs, recovered)
		}
	})
	result.More = swept.More
	return result, err
}

// recover takes a job away from a worker that let its lock run out. A cancelled
// one is not reported.
func (s *Store) recover(c *call, rec *record, maxStalled int32) (result driver.Recovered, report bool) {
	if rec.job.CancelRequested {
		s.finish(c, rec, cancelledEnding)
		return driver.Recovered{}, false
	}
	rec.job.StalledCount++
	result = driver.Recovered{ID: rec.job.ID, Failed: rec.job.StalledCount > maxStalled}
	if result.Failed {
		s.finish(c, rec, ending{state: driver.Failed, outcome: driver.OutcomeStalled, reason: driver.StalledReason})
		return result, true
	}
	rec.log(c.now, driver.OutcomeStalled, nil)
	s.sendBack(rec, driver.Opt[driver.Time]{}, driver.Waiting, false)
	return result, true
}

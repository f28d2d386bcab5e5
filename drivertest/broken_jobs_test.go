package drivertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/braidmq/braid/driver"
)

// Stores that break a rule about jobs and schedules, each one rule.

// rewriting returns a breakage that changes every request that is enqueued.
func rewriting(edit func(r *driver.EnqueueRequest)) func(b *broken) {
	return func(b *broken) {
		b.enqueue = func(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
			batch = slices.Clone(batch)
			for i := range batch {
				edit(&batch[i])
			}
			return b.Store.Enqueue(ctx, now, batch)
		}
	}
}

// rededuping returns a breakage that changes every dedup that is enqueued.
func rededuping(edit func(d *driver.Dedupe)) func(b *broken) {
	return rewriting(func(r *driver.EnqueueRequest) {
		if r.Dedupe != nil {
			d := *r.Dedupe
			edit(&d)
			r.Dedupe = &d
		}
	})
}

// claiming returns a breakage that changes every claim.
func claiming(edit func(b *broken, now driver.Time, r *driver.ClaimRequest)) func(b *broken) {
	return func(b *broken) {
		b.claim = func(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
			edit(b, now, &req)
			return b.Store.Claim(ctx, now, req)
		}
	}
}

// acking returns a breakage that changes every ack.
func acking(edit func(b *broken, a *driver.Ack)) func(b *broken) {
	return func(b *broken) {
		b.ack = func(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
			batch = slices.Clone(batch)
			for i := range batch {
				edit(b, &batch[i])
			}
			return b.Store.Ack(ctx, now, batch)
		}
	}
}

// existingIDAfterDedupe lets a live dedup entry answer before an existing id does.
func existingIDAfterDedupe(b *broken) {
	b.enqueue = func(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
		var results []driver.EnqueueResult
		for _, r := range batch {
			if r.ID != "" && r.Dedupe != nil && b.real(r.ID) != nil {
				probe := r
				probe.ID = "probe"
				answer, err := b.Store.Enqueue(ctx, now, []driver.EnqueueRequest{probe})
				if err != nil {
					return results, err
				}
				if answer[0].Duplicate {
					results = append(results, answer[0])
					continue
				}
				if _, err := b.Store.Remove(ctx, now, []string{"probe"}); err != nil {
					return results, err
				}
			}
			answer, err := b.Store.Enqueue(ctx, now, []driver.EnqueueRequest{r})
			if err != nil {
				return results, err
			}
			results = append(results, answer[0])
		}
		return results, nil
	}
}

// backwardBatches inserts the last request of a batch first.
func backwardBatches(b *broken) {
	b.enqueue = func(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
		batch = slices.Clone(batch)
		slices.Reverse(batch)
		results, err := b.Store.Enqueue(ctx, now, batch)
		slices.Reverse(results)
		return results, err
	}
}

func timeZeroIsAbsent(b *broken) {
	b.view = func(j *driver.Job) {
		if j.ProcessedAt.Value == 0 {
			j.ProcessedAt.Set = false
		}
	}
}

func claimsWhilePaused(b *broken) {
	b.claim = func(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
		paused, err := b.Store.PausedQueues(ctx)
		if err != nil || !slices.Contains(paused, req.Queue) {
			return b.Store.Claim(ctx, now, req)
		}
		if err := b.Store.Resume(ctx, req.Queue); err != nil {
			return driver.ClaimResult{}, err
		}
		result, err := b.Store.Claim(ctx, now, req)
		if pauseErr := b.Store.Pause(ctx, req.Queue); err == nil {
			err = pauseErr
		}
		return result, err
	}
}

func noNextRunAt(b *broken) {
	b.claim = func(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
		result, err := b.Store.Claim(ctx, now, req)
		result.NextRunAt = driver.Opt[driver.Time]{}
		return result, err
	}
}

// wakesGetLost waits, for a while, for wakes that come after the call.
func wakesGetLost(b *broken) {
	b.awaitWake = func(ctx context.Context, queues []string, _ driver.WakeCursor) error {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		now, err := b.Store.Claim(ctx, 0, driver.ClaimRequest{Queue: queues[0], Token: "none", Limit: 1, LockDuration: 1})
		if err != nil {
			return err
		}
		return b.Store.AwaitWake(ctx, queues, now.Cursor)
	}
}

// wakesOfOthers wakes the waiters of every queue.
func wakesOfOthers(b *broken) {
	b.awaitWake = func(ctx context.Context, queues []string, since driver.WakeCursor) error {
		all, err := b.Store.Queues(ctx)
		if err != nil {
			return err
		}
		return b.Store.AwaitWake(ctx, slices.Concat(queues, all), since)
	}
}

// stopsAtBadItems leaves the rest of a batch of acks behind a bad one undone.
func stopsAtBadItems(b *broken) {
	b.ack = func(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
		results := make([]driver.AckResult, len(batch))
		for i, a := range batch {
			one, err := b.Store.Ack(ctx, now, []driver.Ack{a})
			if err != nil {
				return results, err
			}
			if results[i] = one[0]; one[0].Err != nil {
				for k := i + 1; k < len(batch); k++ {
					results[k] = one[0]
				}
				return results, nil
			}
		}
		return results, nil
	}
}

// cancelBeats makes acks of a kind lose to a pending cancel.
func cancelBeats(kind driver.AckKind) func(b *broken) {
	return acking(func(b *broken, a *driver.Ack) {
		if j := b.real(a.ID); a.Kind == kind && j != nil && j.CancelRequested {
			a.Kind = driver.AckCancelled
		}
	})
}

// extendsOnlyLiveLocks counts a lock that has run out as lost.
func extendsOnlyLiveLocks(b *broken) {
	b.heartbeat = func(ctx context.Context, now driver.Time, locks []driver.Lock, d driver.Millis) (driver.HeartbeatResult, error) {
		var live []driver.Lock
		var lost []string
		for _, l := range locks {
			if j := b.real(l.ID); j != nil && j.LockExpiresAt.Set && j.LockExpiresAt.Value <= now {
				lost = append(lost, l.ID)
			} else {
				live = append(live, l)
			}
		}
		result, err := b.Store.Heartbeat(ctx, now, live, d)
		result.Lost = append(slices.Clone(result.Lost), lost...)
		return result, err
	}
}

// dropsCancelled reports pending cancels and does not extend their locks.
func dropsCancelled(b *broken) {
	b.heartbeat = func(ctx context.Context, now driver.Time, locks []driver.Lock, d driver.Millis) (driver.HeartbeatResult, error) {
		var flagged []string
		var rest []driver.Lock
		for _, l := range locks {
			if j := b.real(l.ID); j != nil && j.CancelRequested && b.tokenOf(l.ID) == l.Token {
				flagged = append(flagged, l.ID)
			} else {
				rest = append(rest, l)
			}
		}
		result, err := b.Store.Heartbeat(ctx, now, rest, d)
		result.CancelRequested = flagged
		return result, err
	}
}

func recoversTooLate(b *broken) {
	b.recover = func(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
		return b.Store.RecoverStalled(ctx, now-1, req)
	}
}

func stallsForever(b *broken) {
	b.recover = func(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
		req.MaxStalled = 1 << 30
		return b.Store.RecoverStalled(ctx, now, req)
	}
}

// cancelEndsActive finishes an active job at once.
func cancelEndsActive(b *broken) {
	b.cancel = func(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
		results, err := b.Store.Cancel(ctx, now, ids)
		results = slices.Clone(results)
		for i, r := range results {
			if r.Err == nil && r.State == driver.Active {
				acked, err := b.Store.Ack(ctx, now, []driver.Ack{{ID: ids[i], Token: b.tokenOf(ids[i]), Kind: driver.AckCancelled}})
				if err != nil {
					return results, err
				}
				results[i].State = acked[0].State
			}
		}
		return results, err
	}
}

// retryKeepsBudget shows the used attempts again after an operator's retry.
func retryKeepsBudget(b *broken) {
	b.retry = func(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
		for _, id := range ids {
			if j := b.real(id); j != nil && j.State == driver.Failed {
				b.remember(id, int64(j.AttemptsMade))
			}
		}
		return b.Store.Retry(ctx, now, ids)
	}
	b.view = func(j *driver.Job) { j.AttemptsMade += int32(b.remembered(j.ID)) }
}

// promoteTakesNewPlace sends a promoted job to the end of its line.
func promoteTakesNewPlace(b *broken) {
	b.promote = func(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
		results, err := b.Store.Promote(ctx, now, ids)
		for i, r := range results {
			if r.Err == nil {
				b.remember(ids[i], 1_000_000)
			}
		}
		return results, err
	}
	b.view = func(j *driver.Job) { j.Seq += b.remembered(j.ID) }
}

// removesActive releases a running job, and removes it.
func removesActive(b *broken) {
	b.remove = func(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
		for _, id := range ids {
			if _, err := b.Store.Ack(ctx, now, []driver.Ack{{ID: id, Token: b.tokenOf(id), Kind: driver.AckRelease}}); err != nil {
				return nil, err
			}
		}
		return b.Store.Remove(ctx, now, ids)
	}
}

// repeatsTies goes on behind the cursor's time without regard to its id.
func repeatsTies(b *broken) {
	b.list = func(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
		if p, err := req.Position(); err == nil && p.Set && req.Ascending {
			p.Value.ID = p.Value.ID[:1]
			req.Cursor = p.Value.Cursor()
		}
		return b.Store.List(ctx, req)
	}
}

func emptyStatesMatchAll(b *broken) {
	b.list = func(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
		if len(req.States) == 0 {
			req.States = nil
		}
		return b.Store.List(ctx, req)
	}
}

// countsKeepRemoved counts removed jobs on.
func countsKeepRemoved(b *broken) {
	b.remove = func(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
		removed, err := b.Store.Remove(ctx, now, ids)
		for _, yes := range removed {
			if yes {
				b.remember("", 1)
			}
		}
		return removed, err
	}
	b.counts = func(ctx context.Context, queue string) (driver.Counts, error) {
		c, err := b.Store.Counts(ctx, queue)
		c.Waiting += b.remembered("")
		return c, err
	}
}

func positionCountsItself(b *broken) {
	b.position = func(ctx context.Context, id string) (driver.Opt[int], error) {
		p, err := b.Store.Position(ctx, id)
		p.Value++
		return p, err
	}
}

func historyIsNotSwept(b *broken) {
	b.sweepHistory = func(context.Context, driver.Time, int) (driver.SweepResult, error) { return driver.SweepResult{}, nil }
}

// firesPastSlots inserts the job of a slot that has been advanced past.
func firesPastSlots(b *broken) {
	b.tick = func(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
		fired, err := b.Store.Tick(ctx, now, req)
		if fired || err != nil {
			return fired, err
		}
		s, err := b.Store.Schedule(ctx, req.Key)
		if errors.Is(err, driver.ErrNotFound) || err == nil && s.NextRunAt <= req.Expected {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		results, err := b.Store.Enqueue(ctx, now, []driver.EnqueueRequest{req.Job})
		return err == nil && !results[0].Duplicate, err
	}
}

// upsertTurnsBack sets a schedule's next slot whether its cadence changed or not.
func upsertTurnsBack(b *broken) {
	b.upsert = func(ctx context.Context, s driver.Schedule) (driver.Schedule, error) {
		stored, err := b.Store.UpsertSchedule(ctx, s)
		if err != nil || stored.NextRunAt == s.NextRunAt {
			return stored, err
		}
		if _, err := b.Store.Advance(ctx, s.Key, stored.NextRunAt, s.NextRunAt); err != nil {
			return stored, err
		}
		return b.Store.Schedule(ctx, s.Key)
	}
}

func overlapIsIgnored(b *broken) {
	b.upsert = func(ctx context.Context, s driver.Schedule) (driver.Schedule, error) {
		wanted := s.Overlap
		s.Overlap = driver.OverlapAllow
		stored, err := b.Store.UpsertSchedule(ctx, s)
		stored.Overlap = wanted
		return stored, err
	}
}

package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/braidmq/braid/driver"
)

// fetch claims jobs for the queue's free slots until stop ends.
func (q *queue) fetch(stop context.Context) {
	waker, _ := q.engine.config.Store.(driver.Waker)
	empty := 0 // claims in a row that asked to be repeated and found nothing
	for {
		limit := q.awaitCapacity(stop)
		if limit == 0 {
			return
		}
		result, request, ok := q.claimJobs(stop, limit)
		if !ok {
			return
		}
		if len(result.Jobs) > 0 {
			empty = 0
			q.take(result.Jobs, request)
		}
		if len(result.Jobs) >= limit {
			continue
		}
		wait := jittered(q.engine.config.PollInterval)
		if at, set := result.NextRunAt.Get(); set {
			due := at.Sub(q.engine.config.Clock.Now()).Std()
			if due <= 0 {
				// Others were at the same jobs. After some tries they get a head start.
				if empty++; empty > 8 {
					pause(stop, time.Millisecond+rand.N(4*time.Millisecond))
				}
				continue
			}
			wait = min(wait, due)
		}
		empty = 0
		q.awaitWork(stop, waker, result.Cursor, wait)
	}
}

// awaitCapacity waits until the queue may claim, and returns how many jobs; 0 when
// stop has ended.
func (q *queue) awaitCapacity(stop context.Context) int {
	for stop.Err() == nil {
		if n := q.free(); n > 0 {
			return n
		}
		q.starved.Store(true)
		n := q.free() // what came free before starved was set sent no signal
		if n <= 0 {
			q.loop.rest()
			select {
			case <-q.capacity:
			case <-stop.Done():
			}
		}
		q.starved.Store(false)
		if n > 0 && stop.Err() == nil {
			return n
		}
	}
	return 0
}

// claimJobs claims, through whatever outage. After a call of unknown outcome it
// resumes that claim until the store has answered, since jobs may be locked under
// its token. It gives up only when stop has ended; then it returns false, unless
// it still got an answer. The request is the one that was answered.
func (q *queue) claimJobs(stop context.Context, limit int) (result driver.ClaimResult, request driver.ClaimRequest, ok bool) {
	e := q.engine
	request = driver.ClaimRequest{
		Queue: q.name, Names: e.names, Worker: e.config.WorkerID,
		Limit: limit, LockDuration: driver.MillisOf(e.config.LockDuration),
	}
	for {
		if !request.Resume {
			request.Token = e.newToken()
		}
		ctx, cancel := context.WithTimeout(e.hard, e.config.CallTimeout)
		err := guarded(ctx, func(ctx context.Context) (err error) {
			result, err = e.config.Store.Claim(ctx, e.config.Clock.Now(), request)
			return err
		})
		cancel()
		if err == nil {
			q.loop.ok()
			if o := e.config.Observer; o != nil {
				e.guard("an observer", func() { o.Claimed(q.name, len(result.Jobs)) })
			}
			return result, request, true
		}
		request.Resume = request.Resume || mayBeApplied(err)
		wait := q.loop.fail(err)
		if stop.Err() == nil {
			pause(stop, wait)
		} else if request.Resume {
			pause(e.hard, min(wait, 100*time.Millisecond))
		}
		if stop.Err() != nil && (!request.Resume || e.hard.Err() != nil || e.pastStop()) {
			return result, request, false
		}
	}
}

// take starts what was claimed; at shutdown it gives it back.
func (q *queue) take(jobs []*driver.Job, request driver.ClaimRequest) {
	e := q.engine
	runs := make([]*run, len(jobs))
	for i, job := range jobs {
		runs[i] = e.newRun(q, job, request.Token)
		if job.CancelRequested { // a resumed claim: the request came meanwhile
			runs[i].requestCancel()
		}
	}
	e.registry.add(runs)
	// A resumed claim's locks are older than they should be.
	if e.cancels.missed(runs) || request.Resume {
		e.beatNow()
	}
	if q.push(runs) {
		return
	}
	for _, r := range runs {
		e.settleUnstarted(r)
	}
}

// awaitWork waits until there may be work since the cursor, at most for the given
// time. Without a waker, or while it fails, that time is the bound.
func (q *queue) awaitWork(stop context.Context, waker driver.Waker, since driver.WakeCursor, most time.Duration) {
	if waker == nil {
		pause(stop, most)
		return
	}
	ctx, cancel := context.WithTimeout(stop, most)
	defer cancel()
	err := guarded(ctx, func(ctx context.Context) error {
		return waker.AwaitWake(ctx, q.wakeOn, since)
	})
	if err != nil && ctx.Err() == nil {
		pause(ctx, q.loop.fail(err))
	}
}

// mayBeApplied reports whether a call that failed may have had its effect. Errors
// that nobody vouches for count.
func mayBeApplied(err error) bool {
	var store *driver.StoreError
	if errors.As(err, &store) {
		return store.OutcomeUnknown
	}
	return !errors.Is(err, driver.ErrClosed) && !errors.Is(err, driver.ErrInvalid)
}

package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/braidmq/braid/driver"
)

// maxBeatWait bounds the wait after a heartbeat that failed: the one that gets
// through first tells the runs which of them lost their lock meanwhile.
const maxBeatWait = time.Second

// heartbeat extends, every half lock duration, the locks of everything that is
// claimed and not yet acked, and tells the runs what the store says of them. While
// heartbeats fail the runs go on, since a lock that has run out is still theirs
// until somebody recovers it.
func (e *Engine) heartbeat(hard context.Context) {
	l := e.heartbeatLoop
	defer e.beatNow() // after a panic the loop goes on with a heartbeat
	for wait := beatIn(l.interval); ; {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.beatSignal:
			timer.Stop()
		case <-hard.Done():
			timer.Stop()
			return
		}
		wait = beatIn(l.interval)
		contended, err := e.beat(hard)
		if contended {
			wait = min(wait, e.config.LockDuration/8, maxBeatWait)
		}
		if err == nil {
			l.ok()
		} else if hard.Err() == nil {
			wait = min(l.fail(err), e.config.LockDuration/4, maxBeatWait)
		}
	}
}

// beatIn returns when the next heartbeat is due: in time, also when the call takes a
// while, and not in step with other workers.
func beatIn(interval time.Duration) time.Duration {
	return interval - interval/20 - rand.N(interval/10+1)
}

// beatNow makes the next heartbeat come at once.
func (e *Engine) beatNow() {
	select {
	case e.beatSignal <- struct{}{}:
	default:
	}
}

// beat extends all locks once. A chunk that fails does not keep the others from
// being extended. contended tells that somebody has jobs locked in the store: their locks
// may run out meanwhile, so they are to be extended as soon as they are free.
func (e *Engine) beat(hard context.Context) (contended bool, failed error) {
	held, locks, replaced := e.registry.locks()
	e.loseLocks(replaced)
	duration := driver.MillisOf(e.config.LockDuration)
	for len(locks) > 0 && hard.Err() == nil {
		chunk := locks[:min(len(locks), driver.ChunkJobs)]
		locks = locks[len(chunk):]
		ctx, cancel := context.WithTimeout(hard, min(e.config.CallTimeout, e.config.LockDuration/2))
		var result driver.HeartbeatResult
		err := guarded(ctx, func(ctx context.Context) (err error) {
			result, err = e.config.Store.Heartbeat(ctx, e.config.Clock.Now(), chunk, duration)
			return err
		})
		cancel()
		if err != nil {
			if failed = err; isContextError(err) {
				return contended, failed // the others would wait as long
			}
			continue
		}
		contended = contended || len(result.Contended) > 0
		lost := make([]*run, 0, len(result.Lost))
		for _, id := range result.Lost {
			if r := held[id]; r != nil {
				lost = append(lost, r)
			}
		}
		e.loseLocks(lost)
		for _, id := range result.CancelRequested {
			if r := held[id]; r != nil {
				r.requestCancel()
			}
		}
	}
	return contended, failed
}

// loseLocks tells runs that their lock is gone. One whose result is on its way to
// the store is left alone: the ack that is under way explains the loss.
func (e *Engine) loseLocks(runs []*run) {
	told := 0
	for _, r := range runs {
		if r.end(ErrLockLost, func(r *run) { r.lost = true }) {
			told++
			r.Logger().Warn("braid: a run lost its lock; its result will be dropped")
		}
	}
	e.locksLost(told)
}

func (e *Engine) locksLost(n int) {
	if o := e.config.Observer; o != nil && n > 0 {
		e.guard("an observer", func() { o.LocksLost(n) })
	}
}

// requestCancel tells a run that its job was cancelled.
func (r *run) requestCancel() {
	r.end(ErrCancelRequested, func(r *run) { r.cancelRequested = true })
}

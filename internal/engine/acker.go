package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/plural"
)

// acker sends the results of finished runs to the store: whatever came while the
// last call was under way goes in the next. What cannot be delivered is kept and
// tried again; meanwhile its lock is extended, and claims wait (see queue.free).
type acker struct {
	engine *Engine
	loop   *loop
	size   int // the most runs per call; smaller while calls fail

	mu        sync.Mutex
	pending   []*run
	closed    bool          // no handler is waited for any more
	abandoned int           // runs that never come; set with closed
	signal    chan struct{} // buffered
	contended []*run        // that the store could not settle for a moment; a timer adds them again

	work []*run // taken over from pending, not all settled

	sending atomic.Int64 // since when there has been something undelivered, in Unix nanoseconds; 0: not
	ends    []RunEnd     // used again for each batch
}

func newAcker(e *Engine) *acker {
	return &acker{
		engine: e, size: driver.ChunkJobs, signal: make(chan struct{}, 1),
		loop: e.newLoop("ack", 2*e.config.CallTimeout),
	}
}

// add hands a finished run over.
func (a *acker) add(r *run) {
	a.mu.Lock()
	a.pending = append(a.pending, r)
	first := len(a.pending) == 1
	a.mu.Unlock()
	if first {
		a.wake()
	}
}

// Pauses before contended results are sent again. They double with each try of a run.
const (
	firstContendedPause = 50 * time.Millisecond
	lastContendedPause  = time.Second
)

// later adds a run again in a while, with the others that wait for that.
func (a *acker) later(r *run) {
	pause := min(firstContendedPause<<min(r.contended, 10), lastContendedPause)
	r.contended++
	a.mu.Lock()
	defer a.mu.Unlock()
	a.contended = append(a.contended, r)
	if len(a.contended) == 1 {
		time.AfterFunc(pause, func() {
			a.mu.Lock()
			a.pending = append(a.pending, a.contended...)
			a.contended = nil
			a.mu.Unlock()
			a.wake()
		})
	}
}

// close says that what is added now is the last, but for so many abandoned runs,
// which are never added.
func (a *acker) close(abandoned int) {
	a.mu.Lock()
	a.closed, a.abandoned = true, abandoned
	a.mu.Unlock()
	a.wake()
}

func (a *acker) wake() {
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

// overdue reports whether results have been undelivered for so long that claiming
// more would only pile up work.
func (a *acker) overdue() bool {
	since := a.sending.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > a.engine.config.LockDuration/2
}

// deliver sends until the acker is closed and every run has come and was sent, or
// hard ends. A run whose handler has returned may take its time to come: the failure
// hook comes first. After a panic deliver can be called again.
func (a *acker) deliver(hard context.Context) {
	a.work = slices.DeleteFunc(a.work, func(r *run) bool {
		r.maybeApplied = true
		return r.settled
	})
	for {
		a.mu.Lock()
		if len(a.work) == 0 {
			a.work, a.pending = a.pending, a.work
		} else {
			a.work = append(a.work, a.pending...)
			clear(a.pending)
			a.pending = a.pending[:0]
		}
		closed, abandoned := a.closed, a.abandoned
		a.mu.Unlock()
		switch {
		case hard.Err() != nil:
			return
		case len(a.work) > 0:
			a.sending.CompareAndSwap(0, time.Now().UnixNano())
			a.work = a.deliverAll(hard, a.work)
		case closed && a.engine.registry.len() <= abandoned:
			return
		default:
			a.sending.Store(0)
			a.loop.rest()
			select {
			case <-a.signal:
			case <-hard.Done():
			}
		}
	}
}

// deliverAll works through runs, and returns those that could not be delivered.
func (a *acker) deliverAll(hard context.Context, runs []*run) []*run {
	var failed []*run
	var wait time.Duration
	rest := runs
	for len(rest) > 0 && hard.Err() == nil {
		n := a.cut(rest)
		again, pauseFor := a.deliverBatch(hard, rest[:n])
		rest = rest[n:]
		failed = append(failed, again...)
		if wait = pauseFor; wait > 0 {
			break
		}
		a.progress()
	}
	if len(failed)+len(rest) == 0 {
		clear(runs)
		return runs[:0]
	}
	left := append(append(make([]*run, 0, len(rest)+len(failed)), rest...), failed...)
	if wait > 0 {
		a.rest(hard, wait)
	}
	return left
}

// progress notes that results get through. Queues that held back go on.
func (a *acker) progress() {
	held := a.overdue()
	a.sending.Store(time.Now().UnixNano())
	if held {
		for _, q := range a.engine.queues {
			q.offer()
		}
	}
}

// rest waits after a failure; less long at shutdown, where the time is bounded.
func (a *acker) rest(hard context.Context, wait time.Duration) {
	a.mu.Lock()
	closed := a.closed
	a.mu.Unlock()
	if closed {
		wait = min(wait, 100*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(hard, wait)
	defer cancel()
	for !closed {
		select {
		case <-ctx.Done():
			return
		case <-a.signal: // more came, which can wait, or the acker was closed
			a.mu.Lock()
			closed = a.closed
			a.mu.Unlock()
		}
	}
	pause(ctx, min(wait, 100*time.Millisecond))
}

// cut returns how many of the runs go in the next call.
func (a *acker) cut(runs []*run) int {
	bytes := 0
	for i, r := range runs[:min(len(runs), a.size)] {
		if bytes += len(r.ack.Exit); bytes > driver.ChunkBytes && i > 0 {
			return i
		}
	}
	return min(len(runs), a.size)
}

// deliverBatch makes one call. It returns the runs to send again, and how long to
// wait before.
func (a *acker) deliverBatch(hard context.Context, batch []*run) (again []*run, wait time.Duration) {
	acks := make([]driver.Ack, 0, len(batch))
	for _, r := range batch {
		if r.ack.Kind != 0 {
			acks = append(acks, r.ack)
		}
	}
	if len(acks) == 0 {
		a.done(batch)
		return nil, 0
	}
	results, err := a.call(hard, acks)
	if err == nil {
		a.loop.ok()
		a.size = min(2*a.size, driver.ChunkJobs)
		return a.answered(hard, batch, results)
	}
	if mayBeApplied(err) {
		for _, r := range batch {
			r.maybeApplied = true
		}
	}
	switch {
	case !final(err):
		a.size = max(a.size/2, 1)
		return batch, a.loop.fail(err)
	case len(batch) == 1:
		return a.substitute(hard, batch[0], err)
	}
	// One item spoils the call. Alone, each fails for itself only.
	for i := range batch {
		failed, pauseFor := a.deliverBatch(hard, batch[i:i+1])
		again = append(again, failed...)
		if pauseFor > 0 {
			return append(append(make([]*run, 0, len(batch)), batch[i+1:]...), again...), pauseFor
		}
	}
	return again, 0
}

// substitute sends, for a result that the store refuses, the news of that. If
// even this does not get through, the result is not to blame, and is kept.
func (a *acker) substitute(hard context.Context, r *run, cause error) (again []*run, wait time.Duration) {
	e := a.engine
	original := r.ack
	failure := e.refusal(r, cause)
	results, err := a.call(hard, []driver.Ack{r.ack})
	if err != nil {
		r.maybeApplied = r.maybeApplied || mayBeApplied(err)
		r.ack = original
		return []*run{r}, a.loop.fail(err)
	}
	a.loop.ok()
	r.Logger().Error("braid: the store refused a result; the run counts as failed",
		"ack", original.Kind.String(), "error", logText(cause))
	if refused(results[0].Err) {
		r.ack.Kind = 0
	}
	if hook := e.config.OnFailure; hook != nil && results[0].Err == nil {
		e.aftermath.Go(func() { e.callHook(r, failure) })
	}
	again, wait = a.answered(hard, []*run{r}, results)
	return again, wait
}

func (a *acker) call(hard context.Context, acks []driver.Ack) (results []driver.AckResult, err error) {
	ctx, cancel := context.WithTimeout(hard, a.engine.config.CallTimeout)
	defer cancel()
	err = guarded(ctx, func(ctx context.Context) (err error) {
		ack := a.engine.config.Store.Ack
		if grouped, ok := a.engine.config.Store.(driver.GroupedConsumer); ok {
			ack = grouped.AckGrouped
		}
		results, err = ack(ctx, a.engine.config.Clock.Now(), acks)
		return err
	})
	if err == nil && len(results) != len(acks) {
		err = &driver.StoreError{Op: "Ack", OutcomeUnknown: true, Retryable: true,
			Err: fmt.Errorf("%s came for %s", plural.Of(len(results), "answer", "answers"), plural.Of(len(acks), "ack", "acks"))}
	}
	return results, err
}

// answered takes the store's answers. It returns the runs to send again.
func (a *acker) answered(hard context.Context, batch []*run, results []driver.AckResult) (again []*run, wait time.Duration) {
	settled := make([]*run, 0, len(batch))
	lost := 0
	for _, r := range batch {
		if r.ack.Kind == 0 {
			settled = append(settled, r)
			continue
		}
		err := results[0].Err
		r.result, results = results[0].State, results[1:]
		switch {
		case err == nil:
		case errors.Is(err, driver.ErrContended):
			a.later(r)
			continue
		case refused(err):
			failed, pauseFor := a.substitute(hard, r, err)
			again, wait = append(again, failed...), max(wait, pauseFor)
			continue
		case !r.maybeApplied: // else it was, by a call whose answer did not come
			lost++
			r.Logger().Warn("braid: a result was dropped, because the run had lost its lock",
				"ack", r.ack.Kind.String(), "error", logText(err))
			r.ack.Kind = 0
		}
		settled = append(settled, r)
	}
	a.engine.locksLost(lost)
	a.done(settled)
	return again, wait
}

// refused reports whether an answer says that the store will never take this ack,
// although the run may have its lock.
func refused(err error) bool {
	return err != nil && !errors.Is(err, driver.ErrLockLost) && !errors.Is(err, driver.ErrNotFound) && !errors.Is(err, driver.ErrContended)
}

// done lets runs go whose results are stored or dropped.
func (a *acker) done(runs []*run) {
	if len(runs) == 0 {
		return
	}
	e := a.engine
	e.registry.remove(runs)
	for i := 0; i < len(runs); {
		q, first := runs[i].queue, i
		for i < len(runs) && runs[i].queue == q {
			i++
		}
		q.unacked.Add(int64(first - i))
		q.offer()
	}
	for _, r := range runs {
		r.settled = true
		if r.landed != nil {
			e.land(r)
		}
		if e.config.ChildEnded != nil && r.Job.Parent != nil && (r.result.Terminal() || r.maybeApplied) {
			e.guard("what follows a child's end", func() { e.config.ChildEnded(r.Job.Parent.ParentStoreKey) })
		}
	}
	if o := e.config.Observer; o != nil {
		a.ends = a.ends[:0]
		for _, r := range runs {
			a.ends = append(a.ends, r.summary())
		}
		e.guard("an observer", func() { o.RunsEnded(a.ends) })
		clear(a.ends)
	}
}

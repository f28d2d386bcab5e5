package engine

import (
	"fmt"
	"sync"
	"time"
)

// shutDown ends the engine after its context has ended. It returns the runs whose
// handlers ignore that.
func (e *Engine) shutDown(fetchers *sync.WaitGroup, delivered <-chan struct{}) []StuckRun {
	margin := e.config.StopMargin
	whole := e.config.Grace + margin
	end := time.Now().Add(whole)
	defer time.AfterFunc(whole, e.endHard).Stop()
	// A claim that is under way may be answered yet; its jobs are given back.
	e.lastCall.Store(time.Now().Add(min(e.config.CallTimeout, whole)).UnixNano())
	for _, q := range e.queues {
		for _, r := range q.close() {
			e.settleUnstarted(r)
		}
	}
	if !e.awaitHandlers(e.config.Grace) {
		for _, r := range e.registry.all() {
			r.end(ErrShutdown, func(r *run) { r.shutdown = true })
		}
		e.awaitHandlers(min(e.config.StuckAfter, margin/2))
	}
	e.endAfter()
	fetchers.Wait()
	abandoned := e.abandon()

	// What is finished is stored, for a bounded time.
	e.acker.close(len(abandoned))
	defer time.AfterFunc(e.config.CallTimeout, e.endHard).Stop()
	<-delivered
	if left := e.registry.len() - len(abandoned); left > 0 {
		e.config.Logger.Error("braid: the worker stopped before the store took all results; their jobs run again when their locks lapse",
			"runs", left)
	}
	e.awaitAftermath(time.Until(end))
	e.endHard()
	return abandoned
}

// awaitHandlers waits until no handler runs, at most for d; it says whether.
func (e *Engine) awaitHandlers(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, q := range e.queues {
		select {
		case <-q.exited:
			continue
		default:
		}
		select {
		case <-q.exited:
		case <-timer.C:
			return false
		}
	}
	return true
}

// abandon lets the runs go that still are in their handlers. What they return is
// dropped.
func (e *Engine) abandon() []StuckRun {
	e.findStuck(0)
	var abandoned []StuckRun
	for _, r := range e.registry.all() {
		r.mu.Lock()
		if r.state == runRunning && r.stuck != nil {
			r.abandoned = true
			abandoned = append(abandoned, *r.stuck)
		}
		r.mu.Unlock()
	}
	if len(abandoned) > 0 {
		e.config.Logger.Error("braid: the worker stops without handlers that ignore the end of their context; their locks lapse",
			"handlers", len(abandoned), "first", fmt.Sprintf("%s %q", abandoned[0].Name, abandoned[0].JobID))
	}
	return abandoned
}

// awaitAftermath waits for what follows runs, such as the rest of a fan-out, whose
// context has ended. It waits for d, but gives it a moment to notice.
func (e *Engine) awaitAftermath(d time.Duration) {
	ended := make(chan struct{})
	go func() {
		e.aftermath.Wait()
		close(ended)
	}()
	timer := time.NewTimer(max(min(d, e.config.StuckAfter), 100*time.Millisecond))
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		e.config.Logger.Error("braid: what follows a fan-out goes on although its context has ended")
	}
}

// pastStop reports whether the time for a last call at shutdown is over.
func (e *Engine) pastStop() bool {
	at := e.lastCall.Load()
	return at != 0 && time.Now().UnixNano() > at
}

package braid

import (
	"context"
	"time"

	"github.com/braidmq/braid/driver"
)

const (
	firstPoll = 5 * time.Millisecond // the first interval of a wait that polls
	lastPoll  = time.Second          // the longest one
	// safetyPoll is how often a wait looks although the store pushes.
	safetyPoll = 10 * time.Second
	// longestUnwatched is the longest that a wait polls before it tries to watch again.
	longestUnwatched = 30 * time.Second
)

// wait is one wait for the end of a job. It watches where the store can push, looks
// now and then, and polls while there is no watch.
type wait struct {
	client  *Client
	id      string
	existed bool // the job was there: then its absence means that it is gone

	pushed  <-chan driver.Finished // nil: no watch
	unwatch context.CancelFunc     // ends the watch; not nil
	watchAt time.Time              // no watch is tried before
	rest    time.Duration          // from the next loss of the watch to the next try
	poll    time.Duration          // the next interval without a watch
}

// waitFor returns how a job ended, as soon as it has. existed tells that the job was
// there.
func (c *Client) waitFor(ctx context.Context, id string, existed bool) (driver.Finished, error) {
	if err := c.ready(); err != nil {
		return driver.Finished{}, err
	}
	if !canBeID(id) {
		return driver.Finished{}, ErrNotFound
	}
	ctx, cancel := c.whileOpen(ctx)
	defer cancel()
	w := c.newWait(id, existed)
	defer w.lose()
	return w.await(ctx, true)
}

// do enqueues a job and waits for it. The watch begins before the enqueue, so that
// the result of a job that is not kept is not missed.
func (c *Client) do(ctx context.Context, req driver.EnqueueRequest) (driver.Finished, error) {
	if req.ID == "" {
		req.ID = newID()
	}
	open, cancel := c.whileOpen(ctx)
	defer cancel()
	w := c.newWait(req.ID, true)
	defer w.lose()
	if err := w.insist(open); err != nil {
		return driver.Finished{}, err
	}
	result, err := c.target().enqueueOne(ctx, req)
	if err != nil {
		return driver.Finished{}, err
	}
	if result.ID != req.ID { // the dedup key's owner
		return c.waitFor(ctx, result.ID, true)
	}
	return w.await(open, result.Duplicate)
}

// whileOpen returns a context that ends with the client, too, and says so by its
// cause.
func (c *Client) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.shared.life, func() { cancel(ErrClientClosed) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

func (c *Client) newWait(id string, existed bool) *wait {
	return &wait{client: c, id: id, existed: existed, unwatch: func() {}, poll: firstPoll}
}

// await looks at the job, at once or when it is time to, and waits for a push or
// the next look, until the job has ended.
func (w *wait) await(ctx context.Context, look bool) (driver.Finished, error) {
	for ; ; look = true {
		if w.pushed == nil {
			if err := w.watch(ctx); err != nil {
				return driver.Finished{}, err
			}
			look = true
		}
		if look {
			if end, ended, err := w.look(ctx); ended || err != nil {
				return end, err
			}
		}
		if end, ended, err := w.pause(ctx); ended || err != nil {
			return end, err
		}
	}
}

// insist watches before the job is there. A passing failure is outlasted for a
// little while; then the wait will poll.
func (w *wait) insist(ctx context.Context) error {
	for attempt, start := 1, time.Now(); ; attempt++ {
		w.watchAt = time.Time{}
		if err := w.watch(ctx); err != nil {
			return err
		}
		if _, pushes := w.client.store.driver.(driver.FinishWatcher); !pushes || w.pushed != nil {
			return nil
		}
		if time.Since(start) >= callTimeout || !rest(ctx, attempt) {
			return context.Cause(ctx)
		}
	}
}

// watch asks the store to push the job's end, if it can and it is time to ask. A
// passing failure leaves the wait without a watch.
func (w *wait) watch(ctx context.Context) error {
	watcher, pushes := w.client.store.driver.(driver.FinishWatcher)
	if !pushes || time.Now().Before(w.watchAt) {
		return nil
	}
	// The watch lives as long as the context, so the call cannot have its time limit.
	watching, unwatch := context.WithCancel(ctx)
	limit := time.AfterFunc(callTimeout, unwatch)
	pushed, err := watcher.WatchFinished(watching, w.id)
	inTime := limit.Stop()
	if err == nil && inTime {
		w.pushed, w.unwatch, w.poll = pushed, unwatch, firstPoll
		return nil
	}
	unwatch()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case inTime && !driver.Retryable(err):
		return err
	}
	w.lose()
	return nil
}

// lose ends the watch, and puts the next one off: the first one not at all, each
// further one longer.
func (w *wait) lose() {
	w.unwatch()
	w.pushed, w.unwatch = nil, func() {}
	w.watchAt = time.Now().Add(w.rest)
	w.rest = min(max(2*w.rest, lastPoll), longestUnwatched)
}

// look reads the job, under a time limit, and reports whether it has ended. A push
// that comes meanwhile ends it. A look that fails for now is made again later.
func (w *wait) look(ctx context.Context) (driver.Finished, bool, error) {
	type answer struct {
		jobs []*driver.Job
		err  error
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		jobs, err := w.client.store.driver.Jobs(bounded, []string{w.id})
		answers <- answer{jobs, err}
	}()
	for {
		select {
		case end, ok := <-w.pushed:
			if ok {
				return end, true, nil
			}
			w.lose()
		case <-ctx.Done():
			return driver.Finished{}, false, context.Cause(ctx)
		case a := <-answers:
			switch {
			case a.err != nil && ctx.Err() != nil:
				return driver.Finished{}, false, context.Cause(ctx)
			case a.err != nil && (driver.Retryable(a.err) || bounded.Err() != nil):
				return driver.Finished{}, false, nil
			case a.err != nil:
				return driver.Finished{}, false, a.err
			case a.jobs[0] == nil:
				return w.vanished()
			}
			w.existed = true
			return finished(a.jobs[0]), a.jobs[0].State.Terminal(), nil
		}
	}
}

// pause waits until it is time to look, or the job's end was pushed.
func (w *wait) pause(ctx context.Context) (driver.Finished, bool, error) {
	interval := safetyPoll
	if w.pushed == nil {
		interval, w.poll = w.poll, min(2*w.poll, lastPoll)
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case end, ok := <-w.pushed:
		if ok {
			return end, true, nil
		}
		w.lose()
	case <-timer.C:
		if w.pushed != nil {
			w.rest = 0 // the watch holds
		}
	case <-ctx.Done():
		return driver.Finished{}, false, context.Cause(ctx)
	}
	return driver.Finished{}, false, nil
}

// vanished tells what the absence of the job means; its end may have been pushed.
func (w *wait) vanished() (driver.Finished, bool, error) {
	select {
	case end, ok := <-w.pushed:
		if ok {
			return end, true, nil
		}
	default:
	}
	if w.existed {
		return driver.Finished{}, false, ErrResultNotKept
	}
	return driver.Finished{}, false, ErrNotFound
}

func finished(j *driver.Job) driver.Finished {
	return driver.Finished{ID: j.ID, State: j.State, Exit: j.Exit, FailedReason: j.FailedReason, AttemptsMade: j.AttemptsMade}
}

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
)

// waitFor returns how a job ended, as soon as it has. existed tells that the job was
// there: then its absence means that it is gone.
func (c *Client) waitFor(ctx context.Context, id string, existed bool) (driver.Finished, error) {
	if err := c.ready(); err != nil {
		return driver.Finished{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pushed, err := c.watch(ctx, id)
	if err != nil {
		return driver.Finished{}, err
	}
	return c.await(ctx, id, pushed, existed)
}

// do enqueues a job and waits for it. The watch begins before the enqueue, so that
// the result of a job that is not kept is not missed.
func (c *Client) do(ctx context.Context, req driver.EnqueueRequest) (driver.Finished, error) {
	if req.ID == "" {
		req.ID = newID()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pushed, err := c.watch(ctx, req.ID)
	if err != nil {
		return driver.Finished{}, err
	}
	result, err := c.target().enqueueOne(ctx, req)
	if err != nil {
		return driver.Finished{}, err
	}
	if result.ID != req.ID { // the dedup key's owner
		return c.waitFor(ctx, result.ID, true)
	}
	if pushed != nil && !result.Duplicate {
		return c.awaitPush(ctx, req.ID, pushed)
	}
	return c.await(ctx, req.ID, pushed, true)
}

// watch asks the store to push a job's end; a nil channel if it cannot.
func (c *Client) watch(ctx context.Context, id string) (<-chan driver.Finished, error) {
	watcher, ok := c.store.driver.(driver.FinishWatcher)
	if !ok {
		return nil, nil
	}
	return watcher.WatchFinished(ctx, id)
}

// await looks at the job, and then waits for a push or polls, until it has ended.
func (c *Client) await(ctx context.Context, id string, pushed <-chan driver.Finished, existed bool) (driver.Finished, error) {
	interval := firstPoll
	if pushed != nil {
		interval = safetyPoll
	}
	for {
		// A look that meets a passing failure is made again, with the next poll.
		jobs, err := c.store.driver.Jobs(ctx, []string{id})
		switch {
		case err != nil:
			if ctx.Err() != nil || !driver.Retryable(err) {
				return driver.Finished{}, err
			}
		case jobs[0] == nil:
			return c.vanished(pushed, existed)
		case jobs[0].State.Terminal():
			return finished(jobs[0]), nil
		default:
			existed = true
		}
		end, event, err := c.pause(ctx, pushed, interval)
		switch {
		case err != nil:
			return driver.Finished{}, err
		case event == jobEnded:
			return end, nil
		case event == watchEnded:
			if pushed, err = c.watch(ctx, id); err != nil {
				return driver.Finished{}, err
			}
		case pushed == nil:
			interval = min(2*interval, lastPoll)
		}
	}
}

// awaitPush waits for the push of a job that was just enqueued, and looks only when
// that takes long.
func (c *Client) awaitPush(ctx context.Context, id string, pushed <-chan driver.Finished) (driver.Finished, error) {
	end, event, err := c.pause(ctx, pushed, safetyPoll)
	switch {
	case err != nil || event == jobEnded:
		return end, err
	case event == watchEnded:
		return c.waitFor(ctx, id, true)
	}
	return c.await(ctx, id, pushed, true)
}

// waitEvent is what ended a pause.
type waitEvent int

const (
	timeToLook waitEvent = iota
	jobEnded
	watchEnded // the store cannot push on
)

// pause waits for a push, or for the interval.
func (c *Client) pause(ctx context.Context, pushed <-chan driver.Finished, interval time.Duration) (driver.Finished, waitEvent, error) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case end, ok := <-pushed:
		if !ok {
			return end, watchEnded, ctx.Err()
		}
		return end, jobEnded, nil
	case <-timer.C:
		return driver.Finished{}, timeToLook, nil
	case <-ctx.Done():
		return driver.Finished{}, timeToLook, context.Cause(ctx)
	case <-c.shared.closed:
		return driver.Finished{}, timeToLook, ErrClientClosed
	}
}

// vanished tells what the absence of a job means; its end may have been pushed.
func (c *Client) vanished(pushed <-chan driver.Finished, existed bool) (driver.Finished, error) {
	select {
	case end, ok := <-pushed:
		if ok {
			return end, nil
		}
	default:
	}
	if existed {
		return driver.Finished{}, ErrResultNotKept
	}
	return driver.Finished{}, ErrNotFound
}

func finished(j *driver.Job) driver.Finished {
	return driver.Finished{ID: j.ID, State: j.State, Exit: j.Exit, FailedReason: j.FailedReason, AttemptsMade: j.AttemptsMade}
}

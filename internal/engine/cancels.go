package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
)

// cancels hands pushed cancel requests to the runs they concern. What the store
// cannot push, or a lost connection swallows, comes with the heartbeat.
type cancels struct {
	mu     sync.Mutex
	queued map[string]bool
	signal chan struct{} // buffered
	// recent keeps the latest requests, since a claim that is under way may be about to
	// bring their jobs.
	recent recentIDs
}

func newCancels() *cancels {
	return &cancels{queued: make(map[string]bool), signal: make(chan struct{}, 1)}
}

// watchCancels keeps the watch up until hard ends.
func (e *Engine) watchCancels(hard context.Context, watcher driver.CancelWatcher) {
	for hard.Err() == nil {
		e.cancelLoop.rest()
		err := guarded(hard, func(ctx context.Context) error {
			return watcher.WatchCancels(ctx, e.cancels.deliver)
		})
		if hard.Err() != nil {
			return
		}
		if err == nil {
			err = fmt.Errorf("the watch for cancel requests ended")
		}
		pause(hard, e.cancelLoop.fail(err))
		e.beatNow() // for what was missed
	}
}

// deliver takes the id of a job whose cancel is requested. It does not block.
func (c *cancels) deliver(id string) {
	c.mu.Lock()
	c.queued[id] = true
	c.mu.Unlock()
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// handOutCancels passes delivered requests on until hard ends.
func (e *Engine) handOutCancels(hard context.Context) {
	for {
		select {
		case <-e.cancels.signal:
		case <-hard.Done():
			return
		}
		e.cancels.mu.Lock()
		ids := e.cancels.queued
		e.cancels.queued = make(map[string]bool)
		now := time.Now()
		for id := range ids {
			e.cancels.recent.add(id, now)
		}
		e.cancels.mu.Unlock()
		// Remembered first, looked up second: a claim that comes in between finds one
		// or the other.
		for _, r := range e.registry.with(ids) {
			r.requestCancel()
		}
	}
}

// missed reports whether a cancel request of one of these runs' jobs came just
// before the run did. The heartbeat knows whether it still stands.
func (c *cancels) missed(runs []*run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent.len() == 0 {
		return false
	}
	now, found := time.Now(), false
	for _, r := range runs {
		found = c.recent.take(r.Job.ID, now) || found
	}
	return found
}

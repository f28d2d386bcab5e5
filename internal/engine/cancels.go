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
	// recent keeps requests for jobs that the engine did not have: a claim that is
	// under way may be about to bring them.
	recent map[string]time.Time
}

const (
	recentCancels   = 10_000
	recentCancelAge = time.Minute
)

func newCancels() *cancels {
	return &cancels{
		queued: make(map[string]bool), recent: make(map[string]time.Time), signal: make(chan struct{}, 1),
	}
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
		e.cancels.remember(ids)
		e.cancels.mu.Unlock()
		// Remembered first, looked up second: a claim that comes in between finds one
		// or the other.
		for _, r := range e.registry.with(ids) {
			r.requestCancel()
		}
	}
}

func (c *cancels) remember(ids map[string]bool) {
	now := time.Now()
	if len(c.recent) > 0 {
		for id, at := range c.recent {
			if now.Sub(at) > recentCancelAge {
				delete(c.recent, id)
			}
		}
	}
	for id := range ids {
		if len(c.recent) >= recentCancels {
			return
		}
		c.recent[id] = now
	}
}

// missed reports whether a cancel request of one of these runs' jobs came just
// before the run did. The heartbeat knows whether it still stands.
func (c *cancels) missed(runs []*run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.recent) == 0 {
		return false
	}
	found := false
	for _, r := range runs {
		if _, known := c.recent[r.Job.ID]; known {
			delete(c.recent, r.Job.ID)
			found = true
		}
	}
	return found
}

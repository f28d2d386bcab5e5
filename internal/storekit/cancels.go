package storekit

import (
	"context"
	"sync"

	"github.com/braidmq/braid/driver"
)

// CancelWatches are the calls of WatchCancels under way. The zero value has none; any
// number of goroutines may use it at once.
type CancelWatches struct {
	mu  sync.Mutex
	all map[*CancelWatch]struct{}
}

// CancelWatch is one call of WatchCancels: what it still has to deliver.
type CancelWatch struct {
	of      *CancelWatches
	pending []string      // guarded by of.mu
	some    chan struct{} // holds a token while pending is not empty
}

// Enter begins a watch, which hears of what is announced from now on, until its Leave.
func (c *CancelWatches) Enter() *CancelWatch {
	w := &CancelWatch{of: c, some: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[*CancelWatch]struct{}{}
	}
	c.all[w] = struct{}{}
	return w
}

// Any reports whether anybody watches.
func (c *CancelWatches) Any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all) > 0
}

// Announce tells every watch of a job whose cancel was requested. It never waits.
func (c *CancelWatches) Announce(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.all {
		w.pending = append(w.pending, id)
		select {
		case w.some <- struct{}{}:
		default:
		}
	}
}

// Leave ends the watch.
func (w *CancelWatch) Leave() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	delete(w.of.all, w)
}

// Deliver calls deliver with each announced job until ctx ends, or the store closes.
func (w *CancelWatch) Deliver(ctx context.Context, closing <-chan struct{}, deliver func(id string)) error {
	for {
		select {
		case <-w.some:
			for _, id := range w.take() {
				deliver(id)
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-closing:
			return driver.ErrClosed
		}
	}
}

func (w *CancelWatch) take() []string {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	ids := w.pending
	w.pending = nil
	return ids
}

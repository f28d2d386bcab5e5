package storekit

import (
	"context"
	"slices"

	"github.com/braidmq/braid/driver"
)

// maxWakes is how many queues' latest wakes are known one by one. Beyond that the oldest
// half is forgotten; a waiter whose cursor is older than they are may then be woken
// without need, but never misses a wake.
const maxWakes = 1 << 14

// WakeBook knows the latest wakes of queues, and who waits for the next ones. Wakes have
// numbers, each greater than those before it. Its user guards it with a mutex.
type WakeBook struct {
	latest    map[string]driver.WakeCursor // of a queue
	forgotten driver.WakeCursor            // no forgotten wake is behind it
	waiters   map[string]map[*Waiter]struct{}
}

// Waiter is one call of AwaitWake.
type Waiter struct {
	queues []string
	since  driver.WakeCursor
	woken  chan struct{} // closed by the first wake behind since
	done   bool
}

// NewWakeBook returns a book that knows of nothing.
func NewWakeBook() WakeBook {
	return WakeBook{latest: map[string]driver.WakeCursor{}, waiters: map[string]map[*Waiter]struct{}{}}
}

// Wake wakes the waiters of one queue that have not seen that wake. One that is not
// behind the queue's latest is old news.
func (b *WakeBook) Wake(queue string, number driver.WakeCursor) {
	if number <= b.Latest(queue) {
		return
	}
	b.latest[queue] = number
	for w := range b.waiters[queue] {
		if number > w.since {
			w.wake()
		}
	}
	if len(b.latest) > maxWakes {
		b.forgetOldest()
	}
}

// WakeAll wakes everybody: what happened up to that number, while nothing was heard, is
// not known.
func (b *WakeBook) WakeAll(number driver.WakeCursor) {
	b.forgotten = number
	clear(b.latest)
	for _, waiters := range b.waiters {
		for w := range waiters {
			w.wake()
		}
	}
}

// Latest returns the number of a queue's latest wake, 0 for none that is remembered.
func (b *WakeBook) Latest(queue string) driver.WakeCursor { return b.latest[queue] }

// Enter begins a wait for a wake of one of the queues behind since. It returns nil if
// there has been one, as far as is known.
func (b *WakeBook) Enter(queues []string, since driver.WakeCursor) *Waiter {
	for _, queue := range queues {
		if max(b.latest[queue], b.forgotten) > since {
			return nil
		}
	}
	w := &Waiter{queues: queues, since: since, woken: make(chan struct{})}
	for _, queue := range queues {
		if b.waiters[queue] == nil {
			b.waiters[queue] = map[*Waiter]struct{}{}
		}
		b.waiters[queue][w] = struct{}{}
	}
	return w
}

// Leave ends a wait.
func (b *WakeBook) Leave(w *Waiter) {
	for _, queue := range w.queues {
		delete(b.waiters[queue], w)
		if len(b.waiters[queue]) == 0 {
			delete(b.waiters, queue)
		}
	}
}

// forgetOldest forgets the half of the wakes that lies furthest back.
func (b *WakeBook) forgetOldest() {
	numbers := make([]driver.WakeCursor, 0, len(b.latest))
	for _, number := range b.latest {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	b.forgotten = max(b.forgotten, numbers[len(numbers)/2])
	for queue, number := range b.latest {
		if number <= b.forgotten {
			delete(b.latest, queue)
		}
	}
}

func (w *Waiter) wake() {
	if !w.done {
		w.done = true
		close(w.woken)
	}
}

// Await returns at the wake, or when ctx ends, or the store closes.
func (w *Waiter) Await(ctx context.Context, closing <-chan struct{}) error {
	select {
	case <-w.woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-closing:
		return driver.ErrClosed
	}
}

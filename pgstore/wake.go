package pgstore

import (
	"context"
	"slices"

	"github.com/braidmq/braid/driver"
)

// maxWakeVersions is how many queues' latest wakes are known one by one. Beyond
// that the oldest half is forgotten; a waiter whose cursor is older than they are
// may then be woken without need, but never misses a wake.
const maxWakeVersions = 1 << 14

// wakeBook numbers the wakes of all queues, in the order in which this process learns
// of them.
type wakeBook struct {
	latest    driver.WakeCursor
	versions  map[string]driver.WakeCursor // the latest wake of a queue
	forgotten driver.WakeCursor            // the latest among the forgotten versions, or of all queues
	waiters   map[string]map[*waiter]struct{}
}

// waiter is one call of AwaitWake.
type waiter struct {
	woken chan struct{} // closed by the first wake
	done  bool
}

func newWakeBook() wakeBook {
	return wakeBook{versions: map[string]driver.WakeCursor{}, waiters: map[string]map[*waiter]struct{}{}}
}

// wake wakes the waiters of one queue.
func (b *wakeBook) wake(queue string) {
	b.latest++
	b.versions[queue] = b.latest
	for w := range b.waiters[queue] {
		w.wake()
	}
	if len(b.versions) > maxWakeVersions {
		b.forgetOldest()
	}
}

// wakeAll wakes everybody: what happened while nothing was heard is not known.
func (b *wakeBook) wakeAll() {
	b.latest++
	b.forgotten = b.latest
	clear(b.versions)
	for _, waiters := range b.waiters {
		for w := range waiters {
			w.wake()
		}
	}
}

func (w *waiter) wake() {
	if !w.done {
		w.done = true
		close(w.woken)
	}
}

// forgetOldest forgets the half of the versions that lies furthest back.
func (b *wakeBook) forgetOldest() {
	versions := make([]driver.WakeCursor, 0, len(b.versions))
	for _, version := range b.versions {
		versions = append(versions, version)
	}
	slices.Sort(versions)
	b.forgotten = max(b.forgotten, versions[len(versions)/2])
	for queue, version := range b.versions {
		if version <= b.forgotten {
			delete(b.versions, queue)
		}
	}
}

// wokenSince reports whether the queue was woken after the cursor.
func (b *wakeBook) wokenSince(queue string, since driver.WakeCursor) bool {
	return max(b.versions[queue], b.forgotten) > since
}

// AwaitWake implements [driver.Waker]. Wakes of this process arrive at once, those of
// others, and of transactions of the caller's, as notifications; where these cannot be
// heard, not at all.
func (s *Store) AwaitWake(ctx context.Context, queues []string, since driver.WakeCursor) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	h := s.hub
	if err := h.listen(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	w := &waiter{woken: make(chan struct{})}
	for _, queue := range queues {
		if h.wakes.wokenSince(queue, since) {
			h.mu.Unlock()
			return nil
		}
	}
	h.wakes.enter(queues, w)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.wakes.leave(queues, w)
		h.mu.Unlock()
	}()
	select {
	case <-w.woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return driver.ErrClosed
	}
}

func (b *wakeBook) enter(queues []string, w *waiter) {
	for _, queue := range queues {
		if b.waiters[queue] == nil {
			b.waiters[queue] = map[*waiter]struct{}{}
		}
		b.waiters[queue][w] = struct{}{}
	}
}

func (b *wakeBook) leave(queues []string, w *waiter) {
	for _, queue := range queues {
		delete(b.waiters[queue], w)
		if len(b.waiters[queue]) == 0 {
			delete(b.waiters, queue)
		}
	}
}

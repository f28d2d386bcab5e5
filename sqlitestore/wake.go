package sqlitestore

import (
	"context"
	"slices"

	"github.com/braidmq/braid/driver"
)

// maxWakeVersions is how many queues' latest wakes are known one by one. Beyond
// that the oldest half is forgotten; a waiter whose cursor is older than they are
// may then be woken without need, but never misses a wake.
const maxWakeVersions = 1 << 14

// wakeBook knows the numbers of the latest wakes. The numbers are drawn from a
// counter in the file, so that all processes share one sequence.
type wakeBook struct {
	opened    int64            // the latest number when the store was opened
	polled    int64            // the latest number that the poll has seen
	versions  map[string]int64 // the latest wake of a queue
	forgotten int64            // the latest among the forgotten versions
	waiters   map[string]map[*waiter]struct{}
}

// waiter is one call of AwaitWake.
type waiter struct {
	since int64
	woken chan struct{} // closed by the first wake
	done  bool
}

func newWakeBook() wakeBook {
	return wakeBook{versions: map[string]int64{}, waiters: map[string]map[*waiter]struct{}{}}
}

// wake wakes the waiters of one queue that have not seen that wake.
func (b *wakeBook) wake(queue string, number int64) {
	if number <= b.versions[queue] {
		return
	}
	b.versions[queue] = number
	for w := range b.waiters[queue] {
		if !w.done && number > w.since {
			w.done = true
			close(w.woken)
		}
	}
	if len(b.versions) > maxWakeVersions {
		b.forgetOldest()
	}
}

// forgetOldest forgets the half of the versions that lies furthest back.
func (b *wakeBook) forgetOldest() {
	numbers := make([]int64, 0, len(b.versions))
	for _, number := range b.versions {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	b.forgotten = numbers[len(numbers)/2]
	for queue, number := range b.versions {
		if number <= b.forgotten {
			delete(b.versions, queue)
		}
	}
}

// wokenSince reports whether the queue was woken after the cursor, as far as is
// known.
func (b *wakeBook) wokenSince(queue string, since int64) bool {
	if number, known := b.versions[queue]; known {
		return number > since
	}
	return b.forgotten > since
}

// AwaitWake implements [driver.Waker]. Wakes of other processes arrive within 50 ms
// of their commit.
func (s *Store) AwaitWake(ctx context.Context, queues []string, since driver.WakeCursor) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	h := s.hub
	h.mu.Lock()
	w := &waiter{since: max(int64(since), h.wakes.opened), woken: make(chan struct{})}
	for _, queue := range queues {
		if h.wakes.wokenSince(queue, w.since) {
			h.mu.Unlock()
			return nil
		}
	}
	h.wakes.enter(queues, w)
	h.enter()
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.wakes.leave(queues, w)
		h.waiting--
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

package memstore

import (
	"context"
	"slices"

	"github.com/braidmq/braid/driver"
)

// maxWakeVersions is how many queues' latest wakes are known one by one. Beyond
// that the oldest half is forgotten; a waiter whose cursor is older than they are
// may then be woken without need, but never misses a wake.
const maxWakeVersions = 1 << 14

// wakeBook numbers the wakes of all queues in one sequence.
type wakeBook struct {
	latest    driver.WakeCursor
	versions  map[string]driver.WakeCursor // the latest wake of a queue
	forgotten driver.WakeCursor            // the latest among the forgotten versions
	waiters   map[string]map[*waiter]struct{}
}

// waiter is one call of AwaitWake.
type waiter struct {
	woken chan struct{} // closed by the first wake
	done  bool
}

func newWakeBook() wakeBook {
	return wakeBook{
		versions: map[string]driver.WakeCursor{},
		waiters:  map[string]map[*waiter]struct{}{},
	}
}

// cursor is the point behind every wake so far.
func (b *wakeBook) cursor() driver.WakeCursor { return b.latest }

// wake wakes the waiters of one queue.
func (s *Store) wake(queue string) {
	b := &s.wakes
	b.latest++
	b.versions[queue] = b.latest
	for w := range b.waiters[queue] {
		if !w.done {
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
	versions := make([]driver.WakeCursor, 0, len(b.versions))
	for _, version := range b.versions {
		versions = append(versions, version)
	}
	slices.Sort(versions)
	b.forgotten = versions[len(versions)/2]
	for queue, version := range b.versions {
		if version <= b.forgotten {
			delete(b.versions, queue)
		}
	}
}

// wokenSince reports whether the queue was woken after the cursor.
func (b *wakeBook) wokenSince(queue string, since driver.WakeCursor) bool {
	if version, known := b.versions[queue]; known {
		return version > since
	}
	return b.forgotten > since
}

// AwaitWake implements [driver.Waker].
func (s *Store) AwaitWake(ctx context.Context, queues []string, since driver.WakeCursor) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	for _, queue := range queues {
		if s.wakes.wokenSince(queue, since) {
			s.mu.Unlock()
			return nil
		}
	}
	w := &waiter{woken: make(chan struct{})}
	s.wakes.enter(queues, w)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.wakes.leave(queues, w)
		s.mu.Unlock()
	}()
	select {
	case <-w.woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
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

package redisstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var awaitScript = loadScript("await")

var _ driver.Waker = (*Store)(nil)

// A wake is a number, one higher for each, that the script which makes it also notes
// for the queue. A waiter subscribes to its queues' channels, then asks whether one of
// them has a higher number than its cursor; if not, that same step arms the queues. The
// next wake of an armed queue disarms it and is published. So no wake is missed, and a
// thousand enqueues while everybody is at work publish nothing.

// waiter is one call of AwaitWake.
type waiter struct {
	since uint64
	woken chan struct{} // closed by the first wake after since
	done  bool
}

func (w *waiter) wake() {
	if !w.done {
		w.done = true
		close(w.woken)
	}
}

// AwaitWake implements [driver.Waker].
func (s *Store) AwaitWake(ctx context.Context, queues []string, since driver.WakeCursor) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	w := &waiter{since: max(uint64(since), s.openedAt), woken: make(chan struct{})}
	names := make([]string, len(queues))
	for i, queue := range queues {
		names[i] = s.keys.key("WAKE", queue)
	}
	s.listener.enter(names, w)
	defer s.listener.leave(names, w)
	if err := s.listener.subscribe(ctx, names...); err != nil {
		return err
	}
	if len(queues) > 0 {
		args := append([]any{strconv.FormatUint(w.since, 10)}, anys(queues)...)
		woken, err := s.run(ctx, "AwaitWake", call{script: awaitScript, args: args})
		if err != nil || woken == int64(1) {
			return err
		}
	}
	select {
	case <-w.woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return driver.ErrClosed
	}
}

func (l *listener) enter(names []string, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if l.waiters[name] == nil {
			l.waiters[name] = map[*waiter]struct{}{}
		}
		l.waiters[name][w] = struct{}{}
	}
}

func (l *listener) leave(names []string, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		delete(l.waiters[name], w)
		if len(l.waiters[name]) == 0 {
			delete(l.waiters, name)
		}
	}
}

// deliverWake wakes those who wait for a queue's wake of that number.
func (l *listener) deliverWake(name, payload string) {
	turn, err := strconv.ParseUint(payload, 10, 64)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.waiters[name] {
		if turn > w.since {
			w.wake()
		}
	}
}

// wakeAll wakes everybody: what happened while nothing was heard is not known.
func (l *listener) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, waiters := range l.waiters {
		for w := range waiters {
			w.wake()
		}
	}
}

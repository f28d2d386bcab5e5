package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// AwaitWake implements [driver.Waker]. The numbers of wakes are drawn from a counter in
// the file, so that all processes share one sequence. Wakes of other processes arrive
// within 50 ms of their commit.
func (s *Store) AwaitWake(ctx context.Context, queues []string, since driver.WakeCursor) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	h := s.hub
	h.mu.Lock()
	w := h.wakes.Enter(queues, max(since, driver.WakeCursor(h.opened)))
	if w == nil {
		h.mu.Unlock()
		return nil
	}
	h.enter()
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.wakes.Leave(w)
		h.waiting--
		h.mu.Unlock()
	}()
	return w.Await(ctx, s.closing)
}

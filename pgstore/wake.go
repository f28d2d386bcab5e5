package pgstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

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
	w := h.wakes.Enter(queues, since)
	h.mu.Unlock()
	if w == nil {
		return nil
	}
	defer func() {
		h.mu.Lock()
		h.wakes.Leave(w)
		h.mu.Unlock()
	}()
	return w.Await(ctx, s.closing)
}

// wake wakes the waiters of one queue. Wakes are numbered in the order in which this
// process learns of them. The mutex is held.
func (h *hub) wake(queue string) {
	h.woken++
	h.wakes.Wake(queue, h.woken)
}

// wakeAll wakes everybody: what happened while nothing was heard is not known.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.woken++
	h.wakes.WakeAll(h.woken)
}

package pgstore

import (
	"crypto/rand"
	"encoding/hex"
	"sync"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// hub tells those who wait in this process what was committed: by this process at once,
// by others when their notification arrives.
type hub struct {
	store *Store
	id    string // of this process among those who listen; 16 bytes

	mu       sync.Mutex // guards what follows
	closed   bool
	wakes    storekit.WakeBook
	woken    driver.WakeCursor      // the latest wake
	finished map[int64]*finishWatch // by watch
	cancels  storekit.CancelWatches

	notifier notifier
	listener listener
}

func newHub(s *Store) *hub {
	var id [8]byte
	_, _ = rand.Read(id[:])
	h := &hub{
		store: s, id: hex.EncodeToString(id[:]), wakes: storekit.NewWakeBook(),
		finished: map[int64]*finishWatch{},
	}
	h.notifier.hub, h.listener.hub = h, h
	h.listener.init()
	return h
}

// publish tells of what a transaction has committed.
func (s *Store) publish(t *tx) {
	if t.settled != nil {
		t.settled()
	}
	s.heads.add(t.strays)
	if t.counted {
		s.folder.begin()
	}
	if len(t.wakes) == 0 && len(t.cancels) == 0 && len(t.told) == 0 {
		return
	}
	h := s.hub
	var listeners []string
	h.mu.Lock()
	for queue := range t.wakes {
		h.wake(queue)
	}
	for _, id := range t.cancels {
		h.cancels.Announce(id)
	}
	for _, told := range t.told {
		if told.listener == h.id {
			h.announceEnd(told.watch, told.end)
		} else {
			listeners = append(listeners, told.listener)
		}
	}
	h.mu.Unlock()
	h.notifier.add(t.wakes, t.cancels, listeners)
}

// cursor is the point behind every wake so far.
func (h *hub) cursor() driver.WakeCursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.woken
}

// promoted wakes a queue whose due jobs a claim has promoted, and returns the cursor of
// that claim, which has seen them: not behind what came while it was under way.
func (h *hub) promoted(queue string, any bool, before driver.WakeCursor) driver.WakeCursor {
	if !any {
		return before
	}
	h.mu.Lock()
	alone := h.woken == before
	h.wake(queue)
	if alone {
		before = h.woken
	}
	h.mu.Unlock()
	h.notifier.add(map[string]struct{}{queue: {}}, nil, nil)
	return before
}

// wakeHere wakes the waiters of a queue in this process.
func (h *hub) wakeHere(queue string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake(queue)
}

// close ends all waits. It returns when nothing runs any more.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	for watch := range h.finished {
		h.endFinishWatch(watch)
	}
	h.mu.Unlock()
	h.listener.close()
	h.notifier.close()
}

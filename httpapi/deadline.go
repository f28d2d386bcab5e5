package httpapi

import (
	"context"
	"sync"
	"time"
)

// drainPatience is what is left, once the handler is drained, for bodies that are not
// there yet and for replies that nobody reads.
const drainPatience = 2 * time.Second

// deadline is one of a connection's deadlines, which Drain moves near.
type deadline struct {
	apply func(time.Time) error // not every writer has deadlines; those of a server have
	stop  func() bool

	mu   sync.Mutex
	last time.Time // none is later; zero: any may be
}

func (h *Handler) deadline(apply func(time.Time) error) *deadline {
	d := &deadline{apply: apply}
	d.stop = context.AfterFunc(h.draining, func() {
		d.mu.Lock()
		d.last = time.Now().Add(drainPatience)
		_ = d.apply(d.last)
		d.mu.Unlock()
	})
	return d
}

func (d *deadline) set(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.last.IsZero() && d.last.Before(at) {
		at = d.last
	}
	_ = d.apply(at)
}

// end ends it. What went well has no deadline from then on. After a failure the
// connection is of no more use, and nothing shall wait for it.
func (d *deadline) end(well bool) {
	d.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	at := time.Time{}
	if !well {
		at = time.Now()
	}
	_ = d.apply(at)
	d.apply = func(time.Time) error { return nil } // a Drain that has just begun comes too late
}

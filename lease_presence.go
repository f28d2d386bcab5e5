package braid

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
)

// leaseholders tells the stores which workers lease jobs: those cannot beat themselves.
// A worker is listed until its locks of the latest lease would have run out, and a
// while longer. Its zero value is ready to use.
type leaseholders struct {
	mu    sync.Mutex
	known map[leaseholder]*leasing
}

type leaseholder struct{ store, worker string }

// leasing is what a worker has asked for.
type leasing struct {
	since driver.Time
	told  time.Time // when the store last heard of it
	slots map[string]int
	names map[string]bool
}

const (
	leaseTellEvery = defaultPresence
	leaseGrace     = 3 * defaultPresence
	mostLeasing    = 1000 // workers are remembered until they were silent for a while
)

// tell tells the store of a worker that leases, unless it has just been told.
func (h *leaseholders) tell(c *Client, req LeaseRequest) {
	now := c.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = make(map[leaseholder]*leasing)
	}
	who := leaseholder{c.store.name, req.Worker}
	l := h.known[who]
	if l == nil {
		h.forgetSilent()
		l = &leasing{since: now, slots: make(map[string]int), names: make(map[string]bool)}
		h.known[who] = l
	}
	if !l.learn(req) && time.Since(l.told) < leaseTellEvery {
		return
	}
	l.told = time.Now()
	record := driver.WorkerRecord{
		ID: req.Worker, Names: slices.Sorted(maps.Keys(l.names)), Since: l.since,
		ExpiresAt: now.Add(driver.MillisOf(req.LockDuration + leaseGrace)),
	}
	for _, queue := range slices.Sorted(maps.Keys(l.slots)) {
		record.Queues = append(record.Queues, driver.WorkerQueue{Name: queue, Slots: l.slots[queue]})
	}
	c.shared.background(func(<-chan struct{}) {
		ctx, cancel := context.WithTimeout(c.shared.life, callTimeout)
		defer cancel()
		if err := c.store.driver.BeatWorker(ctx, now, record); err != nil && ctx.Err() == nil {
			c.shared.logger.Warn("braid: a worker that leases jobs could not be listed", "worker", req.Worker, "error", err)
		}
	})
}

// learn takes in what the worker asks for, and reports whether something of it is new.
func (l *leasing) learn(req LeaseRequest) bool {
	before := len(l.names)
	if before < mostNames {
		for _, name := range req.Names {
			l.names[name] = true
		}
	}
	news := len(l.names) > before
	if slots, known := l.slots[req.Queue]; (!known || slots < req.Limit) && len(l.slots) < mostNames {
		l.slots[req.Queue] = req.Limit
		news = true
	}
	return news
}

// forgetSilent forgets workers that have not leased for a while, once there are many.
func (h *leaseholders) forgetSilent() {
	if len(h.known) < mostLeasing {
		return
	}
	maps.DeleteFunc(h.known, func(_ leaseholder, l *leasing) bool { return time.Since(l.told) > leaseGrace })
}

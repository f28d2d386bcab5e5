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
// A worker is listed for a while after each of its calls, and for as long as it holds
// locks. Only what goes through this client is known of it. Its zero value is ready to
// use.
type leaseholders struct {
	mu      sync.Mutex
	known   map[leaseholder]*leasing
	holders map[heldLease]*leasing
}

type leaseholder struct{ store, worker string }

type heldLease struct {
	store string
	lock  driver.Lock
}

// leasing is what a worker has asked for, and what it has.
type leasing struct {
	worker  string
	since   driver.Time
	told    time.Time   // when the store last heard of it
	expires driver.Time // what it heard then
	slots   map[string]int
	names   map[string]bool
	held    map[driver.Lock]lease
	changed bool // the number of its jobs, since the store heard of it
}

type lease struct {
	queue string
	until driver.Time
}

const (
	leaseTellEvery  = defaultPresence
	leaseTellChange = time.Second // how often it is told that a worker has more jobs, or fewer
	leaseGrace      = 3 * defaultPresence
	mostLeasing     = 1000 // workers are remembered until they were silent for a while
)

// claimed takes in a claim of a worker, and the jobs that it got.
func (h *leaseholders) claimed(c *Client, req LeaseRequest, jobs []LeasedJob) {
	now := c.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known, h.holders = make(map[leaseholder]*leasing), make(map[heldLease]*leasing)
	}
	who := leaseholder{c.store.name, req.Worker}
	l := h.known[who]
	if l == nil {
		h.forgetSilent(now)
		l = &leasing{worker: req.Worker, since: now, slots: make(map[string]int), names: make(map[string]bool), held: make(map[driver.Lock]lease)}
		h.known[who] = l
	}
	until := now.Add(driver.MillisOf(req.LockDuration))
	for _, job := range jobs {
		lock := driver.Lock{ID: job.ID, Token: job.Token}
		l.held[lock], h.holders[heldLease{c.store.name, lock}] = lease{req.Queue, until}, l
		l.changed = true
	}
	news := l.learn(req)
	h.tell(c, l, now, news)
}

// extended takes in that leases were renewed, except for those that are lost.
func (h *leaseholders) extended(c *Client, locks []driver.Lock, lost []string, d time.Duration) {
	now := c.now()
	until := now.Add(driver.MillisOf(d))
	h.each(c, now, locks, func(l *leasing, lock driver.Lock) (holds bool) {
		if slices.Contains(lost, lock.ID) {
			return false
		}
		held := l.held[lock]
		held.until = until
		l.held[lock] = held
		return true
	})
}

// ended takes in that jobs are held no more.
func (h *leaseholders) ended(c *Client, locks []driver.Lock) {
	h.each(c, c.now(), locks, func(*leasing, driver.Lock) bool { return false })
}

// each visits the leases that are known, forgets those that are not held any more, and
// tells the store of their workers.
func (h *leaseholders) each(c *Client, now driver.Time, locks []driver.Lock, visit func(*leasing, driver.Lock) (holds bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := make(map[*leasing]bool)
	for _, lock := range locks {
		l := h.holders[heldLease{c.store.name, lock}]
		if l == nil {
			continue
		}
		told[l] = true
		if !visit(l, lock) {
			h.drop(c.store.name, l, lock)
		}
	}
	for l := range told {
		h.tell(c, l, now, false)
	}
}

func (h *leaseholders) drop(store string, l *leasing, lock driver.Lock) {
	delete(l.held, lock)
	delete(h.holders, heldLease{store, lock})
	l.changed = true
}

// tell tells the store of a worker, unless it has just been told and there is no news.
func (h *leaseholders) tell(c *Client, l *leasing, now driver.Time, news bool) {
	expires := now.Add(driver.MillisOf(leaseGrace))
	inFlight := make(map[string]int)
	for lock, lease := range l.held {
		if lease.until <= now {
			h.drop(c.store.name, l, lock)
			continue
		}
		inFlight[lease.queue]++
		expires = max(expires, lease.until)
	}
	ago := time.Since(l.told)
	// A record that would outlive a worker by far is corrected at once.
	news = news || l.changed && ago >= leaseTellChange || l.expires.Sub(expires).Std() > leaseGrace
	if !news && ago < leaseTellEvery {
		return
	}
	l.told, l.expires, l.changed = time.Now(), expires, false
	record := driver.WorkerRecord{ID: l.worker, Names: slices.Sorted(maps.Keys(l.names)), Since: l.since, ExpiresAt: expires}
	for _, queue := range slices.Sorted(maps.Keys(l.slots)) {
		n := inFlight[queue]
		record.Queues = append(record.Queues, driver.WorkerQueue{Name: queue, Slots: max(l.slots[queue], n), InFlight: n})
	}
	c.shared.background(func(<-chan struct{}) {
		ctx, cancel := context.WithTimeout(c.shared.life, callTimeout)
		defer cancel()
		if err := c.store.driver.BeatWorker(ctx, now, record); err != nil && ctx.Err() == nil {
			c.shared.logger.Warn("braid: a worker that leases jobs could not be listed", "worker", l.worker, "error", err)
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

// forgetSilent forgets workers that have not called for a while, and hold nothing, once
// there are many.
func (h *leaseholders) forgetSilent(now driver.Time) {
	if len(h.known) < mostLeasing {
		return
	}
	maps.DeleteFunc(h.known, func(who leaseholder, l *leasing) bool {
		if time.Since(l.told) <= leaseGrace || l.expires > now {
			return false
		}
		for lock := range l.held {
			h.drop(who.store, l, lock)
		}
		return true
	})
}

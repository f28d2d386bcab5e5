package pgstore

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// notifyInterval is the least time between two notifications of one process: what
	// comes meanwhile goes into one. Committing a NOTIFY locks out all others, so they
	// are not part of the transactions that they tell of.
	notifyInterval = 3 * time.Millisecond
	// notifyTimeout bounds one attempt to notify.
	notifyTimeout = 5 * time.Second
	// notifyPause is the rest after an attempt that failed.
	notifyPause = 100 * time.Millisecond
	// farewellTimeout bounds how long Close waits for the last notifications.
	farewellTimeout = 2 * time.Second
	// mostWaiting bounds what is kept for notifications that fail. Beyond it, others find
	// out by polling.
	mostWaiting = 10_000
)

// The kinds of notification. The kind is followed by the id of the process that sends
// it, 16 bytes, and what it tells.
const (
	noteWake   = 'w' // a queue
	noteCancel = 'c' // a job
	noteEnd    = 'e' // nothing: the process of that id has outcomes to fetch
	noteProbe  = 'p' // anything: the process asks whether it hears itself
)

// fromTransaction stands for the process in notifications that a transaction of the
// caller's sends, since it is not over when they are sent.
const fromTransaction = "----------------"

// notifier tells other processes what this one has committed.
type notifier struct {
	hub *hub

	mu      sync.Mutex
	notes   map[string]struct{}
	forgets []int64 // watches whose rows are to go
	running bool
	closed  bool
	tasks   sync.WaitGroup
}

// add tells that queues woke, jobs were asked to cancel, and processes have outcomes to
// fetch.
func (n *notifier) add(queues map[string]struct{}, cancels, listeners []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.notes == nil {
		n.notes = map[string]struct{}{}
	}
	if len(n.notes) < mostWaiting {
		for queue := range queues {
			n.notes[string(noteWake)+n.hub.id+queue] = struct{}{}
		}
		for _, id := range cancels {
			n.notes[string(noteCancel)+n.hub.id+id] = struct{}{}
		}
		for _, listener := range listeners {
			n.notes[string(noteEnd)+listener] = struct{}{}
		}
	}
	n.begin()
}

// forget deletes the row of a watch.
func (n *notifier) forget(watch int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.forgets) < mostWaiting {
		n.forgets = append(n.forgets, watch)
	}
	n.begin()
}

// begin sees that what is to be sent is sent. The mutex is held.
func (n *notifier) begin() {
	if !n.running && !n.closed {
		n.running = true
		n.tasks.Go(n.run)
	}
}

// run sends until nothing is left.
func (n *notifier) run() {
	for {
		n.mu.Lock()
		notes, forgets := n.notes, n.forgets
		n.notes, n.forgets = nil, nil
		if n.running = len(notes)+len(forgets) > 0; !n.running {
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		pause := notifyInterval
		if err := n.send(notes, forgets); err != nil {
			n.putBack(notes, forgets)
			pause = notifyPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-n.hub.store.closing:
			timer.Stop()
			n.farewell()
			return
		}
	}
}

// putBack keeps what could not be sent for the next attempt.
func (n *notifier) putBack(notes map[string]struct{}, forgets []int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.notes == nil {
		n.notes = map[string]struct{}{}
	}
	for note := range notes {
		if len(n.notes) < mostWaiting {
			n.notes[note] = struct{}{}
		}
	}
	n.forgets = append(forgets, n.forgets...)
	n.forgets = n.forgets[:min(len(n.forgets), mostWaiting)]
}

// farewell makes a last attempt.
func (n *notifier) farewell() {
	n.mu.Lock()
	notes, forgets := n.notes, n.forgets
	n.notes, n.forgets, n.closed, n.running = nil, nil, true, false
	n.mu.Unlock()
	if len(notes)+len(forgets) > 0 {
		_ = n.send(notes, forgets)
	}
}

// send is one round trip.
func (n *notifier) send(notes map[string]struct{}, forgets []int64) error {
	s := n.hub.store
	timeout := notifyTimeout
	select {
	case <-s.closing:
		timeout = farewellTimeout
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	t := newTx(ctx, s, conn, 0)
	if len(forgets) > 0 {
		slices.Sort(forgets)
		t.exec("settings")
		t.exec("watches_delete", forgets)
	}
	if len(notes) > 0 {
		payloads := make([]string, 0, len(notes))
		for note := range notes {
			payloads = append(payloads, note)
		}
		t.exec("notify", s.channel(), payloads)
	}
	return t.send()
}

// close sends what is left and ends the notifier.
func (n *notifier) close() {
	n.mu.Lock()
	idle := !n.running
	n.closed = n.closed || idle
	n.mu.Unlock()
	n.tasks.Wait()
	if idle {
		n.farewell()
	}
}

package engine

import (
	"sync"
	"sync/atomic"

	"github.com/braidmq/braid/driver"
)

// unackedPerSlot bounds the finished runs per slot that wait for their ack: beyond
// it the queue claims nothing more.
const unackedPerSlot = 4

// queue is one queue's slots: the runs that were claimed, and the executors that
// run them. A slot is taken by a run from its claim until its handler returns.
type queue struct {
	engine *Engine
	name   string
	slots  int
	wakeOn []string // its name
	loop   *loop

	unacked  atomic.Int64  // finished runs whose ack is not through
	capacity chan struct{} // buffered; a signal for the fetcher
	starved  atomic.Bool   // the fetcher waits for that signal

	mu        sync.Mutex
	idle      sync.Cond // idle executors wait here
	ready     []*run    // claimed, not started; ready[head:]
	head      int
	running   int
	executors int
	idlers    int
	waking    bool // an executor was woken or started, and has not arrived yet
	closed    bool
	exited    chan struct{} // closed when closed and no executor is left
}

func newQueue(e *Engine, q Queue) *queue {
	made := &queue{
		engine: e, name: q.Name, slots: q.Slots, wakeOn: []string{q.Name},
		capacity: make(chan struct{}, 1), exited: make(chan struct{}),
		loop: e.newLoop("claim "+q.Name, e.config.PollInterval),
	}
	made.idle.L = &made.mu
	return made
}

// free returns how many jobs the queue may claim now, none or less if it may not. While most of what was
// claimed has not even been started, it is 0: claims stay large.
func (q *queue) free() int {
	q.mu.Lock()
	queued := len(q.ready) - q.head
	free := q.slots - q.running - queued
	q.mu.Unlock()
	if queued > q.slots/4 || q.engine.acker.overdue() {
		return 0
	}
	return min(free, q.slots*unackedPerSlot-int(q.unacked.Load()), driver.ChunkJobs)
}

// offer tells a waiting fetcher to look at the capacity again.
func (q *queue) offer() {
	if q.starved.Load() {
		select {
		case q.capacity <- struct{}{}:
		default:
		}
	}
}

// push hands claimed runs to the executors; it says no if the queue is closed.
func (q *queue) push(runs []*run) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.head == len(q.ready) {
		q.ready, q.head = q.ready[:0], 0
	}
	q.ready = append(q.ready, runs...)
	q.wakeLocked()
	return true
}

// next gives the calling executor its next run, waiting for one; nil when the
// queue is closed. finished: the executor's last run has left its slot.
func (q *queue) next(finished bool) *run {
	q.mu.Lock()
	defer q.mu.Unlock()
	if finished {
		q.running--
	}
	for q.head == len(q.ready) {
		if finished {
			q.offer()
			finished = false
		}
		if q.closed {
			q.leaveLocked()
			return nil
		}
		q.idlers++
		q.idle.Wait()
		q.idlers--
		q.waking = false
	}
	r := q.ready[q.head]
	q.ready[q.head] = nil
	q.head++
	q.running++
	q.wakeLocked()
	if finished || len(q.ready)-q.head <= q.slots/4 {
		q.offer()
	}
	return r
}

// wakeLocked sees to it that another executor comes if runs wait. One at a time is
// enough: it does the same when it arrives. So runs that block get an executor
// each, and runs that do not are worked off by few.
func (q *queue) wakeLocked() {
	if q.waking || q.head == len(q.ready) {
		return
	}
	switch {
	case q.idlers > 0:
		q.waking = true
		q.idle.Signal()
	case q.executors < q.slots:
		q.waking = true
		q.executors++
		go q.execute()
	}
}

// arrive notes that a started executor runs.
func (q *queue) arrive() {
	q.mu.Lock()
	q.waking = false
	q.mu.Unlock()
}

// vanish notes that an executor's goroutine ends inside a handler.
func (q *queue) vanish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.leaveLocked()
	q.offer()
}

func (q *queue) leaveLocked() {
	q.executors--
	if q.closed && q.executors == 0 {
		close(q.exited)
	}
}

// close ends the queue: nothing more is started, idle executors leave. It returns
// the runs that were not started.
func (q *queue) close() []*run {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	left := q.ready[q.head:]
	q.ready, q.head = nil, 0
	if q.executors == 0 {
		close(q.exited)
	}
	q.idle.Broadcast()
	return left
}

func (q *queue) stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return QueueStats{
		Queue: q.name, Slots: q.slots, Running: q.running, Queued: len(q.ready) - q.head,
		Unacked: int(q.unacked.Load()),
	}
}

package memstore

import "github.com/braidmq/braid/driver"

// stateCounts is a number of jobs per state, indexed by driver.State.
type stateCounts [driver.Cancelled + 1]int64

func (c *stateCounts) public() (counts driver.Counts) {
	for _, state := range driver.States {
		*counts.Of(state) = c[state]
	}
	return counts
}

// queue is a queue that holds a job or is paused; others are not kept.
type queue struct {
	name    string
	paused  bool
	counts  stateCounts
	delayed ranking          // by RunAt, then seq
	lanes   map[string]*lane // by job name
}

// nameGroup is a job name, over all queues, as long as it has a job.
type nameGroup struct {
	name   string
	lanes  map[string]*lane // by queue
	groups [3]*group        // per terminal state; nil: never had a job
}

// lane holds the jobs of one name in one queue, as long as there are any.
type lane struct {
	queue   *queue
	name    *nameGroup
	size    int // jobs in all states
	waiting ranking
	buckets [driver.Cancelled + 1]bucket
	visit   int64 // see Store.visits
}

// bucket holds the jobs of one lane and state, in every order that a list needs. A
// job whose RunAt is its EnqueuedAt lies in straight alone, which serves both
// orders; any other lies in moved and movedByRunAt.
type bucket struct {
	straight     timeline
	moved        timeline // by EnqueuedAt
	movedByRunAt timeline
	finished     timeline // by FinishedAt; terminal states only
}

func (b *bucket) len() int { return b.straight.len() + b.moved.len() }

func (b *bucket) add(rec *record) {
	job := &rec.job
	if job.RunAt == job.EnqueuedAt {
		b.straight.add(job.EnqueuedAt, rec)
	} else {
		b.moved.add(job.EnqueuedAt, rec)
		b.movedByRunAt.add(job.RunAt, rec)
	}
	if job.State.Terminal() {
		b.finished.add(rec.finishedAt.Value, rec)
	}
}

func (b *bucket) remove(rec *record) {
	job := &rec.job
	if job.RunAt == job.EnqueuedAt {
		b.straight.remove(job.EnqueuedAt, rec)
	} else {
		b.moved.remove(job.EnqueuedAt, rec)
		b.movedByRunAt.remove(job.RunAt, rec)
	}
	if job.State.Terminal() {
		b.finished.remove(rec.finishedAt.Value, rec)
	}
}

// attach enters the record into the orders of its state.
func (s *Store) attach(rec *record) {
	job, lane := &rec.job, rec.lane
	lane.buckets[job.State].add(rec)
	lane.queue.counts[job.State]++
	s.counts[job.State]++
	switch job.State {
	case driver.Waiting:
		lane.waiting.add(-int64(job.Priority), job.Seq, rec)
	case driver.Delayed:
		lane.queue.delayed.add(int64(job.RunAt), job.Seq, rec)
	case driver.Active:
		s.active.add(rec.lockExpiresAt.Value, rec)
	}
}

// detach takes the record out of the orders of its state. It must come before any
// change of state, id, times, priority or seq, and attach after it.
func (s *Store) detach(rec *record) {
	job, lane := &rec.job, rec.lane
	lane.buckets[job.State].remove(rec)
	lane.queue.counts[job.State]--
	s.counts[job.State]--
	switch job.State {
	case driver.Waiting:
		lane.waiting.remove(-int64(job.Priority), job.Seq)
	case driver.Delayed:
		lane.queue.delayed.remove(int64(job.RunAt), job.Seq)
	case driver.Active:
		s.active.remove(rec.lockExpiresAt.Value, rec)
	}
}

// queueNamed returns the queue, which it makes if need be.
func (s *Store) queueNamed(name string) *queue {
	q := s.queues[name]
	if q == nil {
		q = &queue{name: name, lanes: map[string]*lane{}}
		s.queues[name] = q
	}
	return q
}

// laneFor returns the lane of a queue and name, which it makes if need be.
func (s *Store) laneFor(queueName, jobName string) *lane {
	q := s.queueNamed(queueName)
	if l := q.lanes[jobName]; l != nil {
		return l
	}
	n := s.names[jobName]
	if n == nil {
		n = &nameGroup{name: jobName, lanes: map[string]*lane{}}
		s.names[jobName] = n
	}
	l := &lane{queue: q, name: n}
	q.lanes[jobName], n.lanes[queueName] = l, l
	return l
}

// leaveLane drops what holds nothing any more after one job has left the lane.
func (s *Store) leaveLane(l *lane) {
	l.size--
	if l.size > 0 {
		return
	}
	delete(l.queue.lanes, l.name.name)
	delete(l.name.lanes, l.queue.name)
	if len(l.name.lanes) == 0 {
		for _, g := range l.name.groups {
			delete(s.surplus, g)
		}
		delete(s.names, l.name.name)
	}
	s.dropIdleQueue(l.queue)
}

// dropIdleQueue forgets a queue that neither holds a job nor is paused.
func (s *Store) dropIdleQueue(q *queue) {
	if len(q.lanes) == 0 && !q.paused {
		delete(s.queues, q.name)
	}
}

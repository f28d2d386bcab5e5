package memstore

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// CheckInvariants is for tests. It holds every order, counter and owner that the
// store keeps against the records, and returns all contradictions joined, or nil.
// It costs as much as the store holds, with all other calls waiting, and works on
// a closed store too.
func (s *Store) CheckInvariants() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &audit{}
	a.lanes(s)
	a.records(s)
	a.locks(s)
	a.retention(s)
	a.dedupes(s)
	a.schedules(s)
	a.flows(s)
	a.outbox(s)
	a.watches(s)
	a.workers(s)
	a.stats(s)
	return errors.Join(a.problems...)
}

// audit collects contradictions.
type audit struct {
	problems []error
}

func (a *audit) check(ok bool, format string, args ...any) {
	if !ok {
		a.problems = append(a.problems, fmt.Errorf("braid: memory store: "+format, args...))
	}
}

// lanes checks that queues, names and lanes know each other, hold something, and
// count right.
func (a *audit) lanes(s *Store) {
	var all stateCounts
	jobs := 0
	for name, q := range s.queues {
		a.check(q.name == name, "queue %q lies under %q", q.name, name)
		a.check(len(q.lanes) > 0 || q.paused, "queue %q is idle, and kept", name)
		var counts stateCounts
		for jobName, l := range q.lanes {
			a.check(l.queue == q && l.name.name == jobName && l.name.lanes[name] == l,
				"lane %q of queue %q is not where it belongs", jobName, name)
			a.check(s.names[jobName] == l.name, "lane %q of queue %q has a name that is gone", jobName, name)
			a.check(l.size > 0, "lane %q of queue %q is empty, and kept", jobName, name)
			held := 0
			for _, state := range driver.States {
				n := l.buckets[state].len()
				held += n
				counts[state] += int64(n)
				a.bucket(&l.buckets[state], state)
			}
			a.check(held == l.size, "lane %q of queue %q holds %d jobs, and counts %d", jobName, name, held, l.size)
			a.check(l.waiting.len() == l.buckets[driver.Waiting].len(), "lane %q of queue %q: %d jobs of %d can be claimed",
				jobName, name, l.waiting.len(), l.buckets[driver.Waiting].len())
			jobs += held
		}
		a.check(counts == q.counts, "queue %q holds %v, and counts %v", name, counts, q.counts)
		a.check(int64(q.delayed.len()) == counts[driver.Delayed], "queue %q: %d delayed jobs of %d can be promoted",
			name, q.delayed.len(), counts[driver.Delayed])
		for state := range all {
			all[state] += counts[state]
		}
	}
	a.check(all == s.counts, "the queues hold %v, the store counts %v", all, s.counts)
	a.check(jobs == len(s.jobs), "the lanes hold %d jobs, the store %d", jobs, len(s.jobs))
	for name, n := range s.names {
		a.check(len(n.lanes) > 0, "name %q has no job, and is kept", name)
	}
}

// bucket checks that a bucket's orders hold as many jobs as they should.
func (a *audit) bucket(b *bucket, state driver.State) {
	a.check(b.moved.len() == b.movedByRunAt.len(), "a %v bucket lists %d moved jobs of %d by runAt",
		state, b.movedByRunAt.len(), b.moved.len())
	finished := 0
	if state.Terminal() {
		finished = b.len()
	}
	a.check(b.finished.len() == finished, "a %v bucket lists %d jobs of %d by finishedAt", state, b.finished.len(), finished)
}

func (t *timeline) holds(at driver.Time, rec *record) bool {
	if t.tree == nil {
		return false
	}
	got, ok := t.tree.Get(entry{at: at, rec: rec})
	return ok && got.rec == rec
}

func (r *ranking) holds(major, minor int64, rec *record) bool {
	if r.tree == nil {
		return false
	}
	got, ok := r.tree.Get(rank{major: major, minor: minor})
	return ok && got.rec == rec
}

// records checks that every job lies in its orders. As the orders hold as many as
// there are jobs, they then hold nothing else.
func (a *audit) records(s *Store) {
	a.check(reflect.ValueOf(untouched).IsZero(), "the progress of jobs without any was written to: %+v", untouched)
	for id, rec := range s.jobs {
		job, l := &rec.job, rec.lane
		a.check(job.ID == id, "job %q lies under %q", job.ID, id)
		a.check(s.queues[rec.queue()] == l.queue && s.names[rec.name()] == l.name && l.queue.lanes[rec.name()] == l,
			"job %q lies in a lane that is not its own", id)
		b := &l.buckets[job.State]
		if job.RunAt == job.EnqueuedAt {
			a.check(b.straight.holds(job.EnqueuedAt, rec), "job %q is not listed", id)
		} else {
			a.check(b.moved.holds(job.EnqueuedAt, rec), "job %q is not listed by enqueuedAt", id)
			a.check(b.movedByRunAt.holds(job.RunAt, rec), "job %q is not listed by runAt", id)
		}
		switch job.State {
		case driver.Waiting:
			a.check(l.waiting.holds(-int64(job.Priority), job.Seq, rec), "job %q cannot be claimed", id)
		case driver.Delayed:
			a.check(l.queue.delayed.holds(int64(job.RunAt), job.Seq, rec), "job %q cannot be promoted", id)
		}
		active := job.State == driver.Active
		a.check(rec.lockExpiresAt.Set == active && (rec.claim != nil) == active, "job %q is %v, and its lock says otherwise", id, job.State)
		a.check(active || rec.token == "" && rec.staged == nil && rec.lockedBy == "" && !job.CancelRequested,
			"job %q is %v, and keeps parts of its lock", id, job.State)
		a.check(rec.finishedAt.Set == job.State.Terminal(), "job %q is %v, and FinishedAt says otherwise", id, job.State)
		if job.State.Terminal() {
			a.check(b.finished.holds(rec.finishedAt.Value, rec), "job %q is not listed by finishedAt", id)
		}
		a.check(job.Seq <= s.seq, "job %q has a seq beyond the counter", id)
		for i, attempt := range rec.attempts {
			a.check(attempt.Attempt == int64(i)+1, "job %q: ledger entry %d has the number %d", id, i, attempt.Attempt)
		}
	}
}

// locks checks the orders of active jobs.
func (a *audit) locks(s *Store) {
	a.check(int64(s.active.len()) == s.counts[driver.Active], "%d active jobs of %d can be recovered",
		s.active.len(), s.counts[driver.Active])
	held := map[*claim]int{}
	for id, rec := range s.jobs {
		if rec.claim == nil {
			continue
		}
		held[rec.claim]++
		a.check(s.claims[rec.token] == rec.claim, "job %q is held by a claim that is gone", id)
		a.check(rec.claim.recs[rec.claimIndex] == rec, "job %q is not where its claim has it", id)
		a.check(s.active.holds(rec.lockExpiresAt.Value, rec), "job %q cannot be recovered", id)
	}
	a.check(len(held) == len(s.claims), "%d claims hold jobs, %d are kept", len(held), len(s.claims))
	for c, n := range held {
		a.check(c.held == n, "a claim holds %d jobs, and counts %d", n, c.held)
		kept := 0
		for _, rec := range c.recs {
			if rec != nil {
				kept++
			}
		}
		a.check(kept == n, "a claim holds %d jobs, and keeps %d", n, kept)
	}
}

// retention checks the groups and the expiry.
func (a *audit) retention(s *Store) {
	retained, grouped, expiring := 0, 0, 0
	for id, rec := range s.jobs {
		a.check(rec.retained == (rec.job.State.Terminal() && !rec.owes()), "job %q is %v, retention has it: %t",
			id, rec.job.State, rec.retained)
		if !rec.retained {
			a.check(!rec.expiresAt.Set, "job %q expires outside retention", id)
			continue
		}
		retained++
		a.check(groupOf(rec).order.holds(int64(rec.finishedAt.Value), rec.finishOrder, rec), "job %q is not in its group", id)
		age, expires := s.longestStay(rec)
		a.check(rec.expiresAt.Set == expires, "job %q expires: %t", id, rec.expiresAt.Set)
		if expires {
			expiring++
			a.check(rec.expiresAt.Value == rec.finishedAt.Value.Add(age) && s.expiry.holds(rec.expiresAt.Value, rec),
				"job %q is not where its expiry says", id)
		}
	}
	groups := map[*group]bool{}
	for _, n := range s.names {
		for _, g := range n.groups {
			if g != nil {
				groups[g] = true
				grouped += g.order.len()
			}
		}
	}
	a.check(grouped == retained, "groups hold %d jobs, retention has %d", grouped, retained)
	a.check(s.expiry.len() == expiring, "%d jobs expire, %d are listed", expiring, s.expiry.len())
	for g := range s.surplus {
		a.check(groups[g], "a group that is gone has a surplus")
	}
}

// dedupes checks that keys and jobs know each other.
func (a *audit) dedupes(s *Store) {
	windows := 0
	for key, e := range s.dedupes {
		a.check(e.dedupeKey == key, "the dedup entry %v lies under %v", e.dedupeKey, key)
		if e.expiresAt.Set {
			windows++
			got, ok := s.dedupeEnds.Get(e)
			a.check(ok && got == e, "the window of the dedup key %v is not listed", key)
		}
		if e.rec == nil {
			a.check(e.expiresAt.Set, "the dedup key %v holds for a job that is gone", key)
			continue
		}
		a.check(s.jobs[e.id] == e.rec && e.rec.name() == key.name && e.rec.job.DedupeKey == key.key,
			"the dedup key %v belongs to a job that does not know it", key)
		a.check(e.expiresAt.Set || !e.rec.job.State.Terminal(), "the dedup key %v holds for a finished job", key)
	}
	a.check(s.dedupeEnds.Len() == windows, "%d dedup windows, %d are listed", windows, s.dedupeEnds.Len())
}

// schedules checks that every schedule can fall due.
func (a *audit) schedules(s *Store) {
	s.schedules.byKey.Scan(func(key string, schedule driver.Schedule) bool {
		_, ok := s.schedules.due.Get(driver.ScheduleCursor{NextRunAt: schedule.NextRunAt, Key: key})
		a.check(ok && schedule.Key == key, "schedule %q cannot fall due", key)
		return true
	})
	a.check(s.schedules.due.Len() == s.schedules.byKey.Len(), "%d schedules, %d can fall due",
		s.schedules.byKey.Len(), s.schedules.due.Len())
}

// outbox checks that every entry lies where a peek looks.
func (a *audit) outbox(s *Store) {
	all := 0
	for key, box := range s.outbox.boxes {
		a.check(box.all.Len() > 0, "the outbox to %q is empty, and kept", key)
		a.check(box.ready.Len()+box.held.Len() == box.all.Len(), "the outbox to %q: %d ready, %d held, of %d",
			key, box.ready.Len(), box.held.Len(), box.all.Len())
		all += box.all.Len()
	}
	a.check(all == len(s.outbox.entries), "the outboxes hold %d entries of %d", all, len(s.outbox.entries))
	for id, item := range s.outbox.entries {
		box := s.outbox.boxes[item.ParentStoreKey]
		if box == nil {
			a.check(false, "outbox entry %s has no outbox", id)
			continue
		}
		a.check(has(box.all, item) && has(box.held, item) == item.heldUntil.Set && has(box.ready, item) != item.heldUntil.Set,
			"outbox entry %s is not where it belongs", id)
	}
}

// watches checks that nothing waits that nobody knows of.
func (a *audit) watches(s *Store) {
	for id, watches := range s.finished {
		a.check(len(watches) > 0, "nobody watches job %q, and it is kept", id)
	}
	for queue, waiters := range s.wakes.waiters {
		a.check(len(waiters) > 0, "nobody waits for queue %q, and it is kept", queue)
	}
}

// has reports whether that very item lies in the tree.
func has[T comparable](tree *btree.BTreeG[T], item T) bool {
	got, ok := tree.Get(item)
	return ok && got == item
}

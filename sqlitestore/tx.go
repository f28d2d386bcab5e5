package sqlitestore

import (
	sqldriver "database/sql/driver"

	"github.com/braidmq/braid/driver"
)

// tx is a write transaction: the statements, and what is written once at its end for
// all that happened in it.
type tx struct {
	session
	store    *Store
	counters counters
	loaded   bool               // whether counters are those of the file
	changed  bool               // whether anything was written
	sizes    map[countKey]int64 // counts as they were stored before the transaction
	trims    driver.Opt[bool]   // whether braid_trims holds anything, once that is known
	group    change
	call     change // of the call under way
}

// counters is the row of braid_store.
type counters struct {
	commits, seq, ids, turns, wakes, entries, outbox int64
}

// countKey names a count of jobs.
type countKey struct {
	queue, name string
	state       int64
}

// owingState is what is added to a terminal state in the counts of those jobs that
// owe cascades.
const owingState = 10

// change is what a call changes besides its own rows.
type change struct {
	counts  map[countKey]int64
	queues  map[string]queueChange
	outbox  int64
	ends    []driver.Finished
	cancels []string
	stats   statSums
}

type queueChange struct {
	jobs int64
	wake int64 // the number of the latest wake; 0: none
}

func newTx(s *Store, on session) *tx { return &tx{session: on, store: s} }

// exec runs a statement that changes something.
func (t *tx) exec(st statement, args ...any) (sqldriver.Result, error) {
	t.changed = true
	return t.session.exec(st, args...)
}

// affect is exec, and returns how many rows it changed.
func (t *tx) affect(st statement, args ...any) (int64, error) {
	result, err := t.session.exec(st, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	t.changed = t.changed || n > 0
	return n, err
}

// insert is exec, and returns the number of the row that it inserted.
func (t *tx) insert(st statement, args ...any) (int64, error) {
	result, err := t.exec(st, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// first runs a query and calls each for its first row. It reports whether there was
// one.
func first(on session, st statement, each func(r row), args ...any) (found bool, err error) {
	err = on.query(st, func(r row) error {
		found = true
		each(r)
		return errEnough
	}, args...)
	return found, err
}

// keep makes the call's changes the group's.
func (t *tx) keep() {
	if len(t.call.counts) > 0 && t.group.counts == nil {
		t.group.counts = map[countKey]int64{}
	}
	for key, n := range t.call.counts {
		t.group.counts[key] += n
	}
	if len(t.call.queues) > 0 && t.group.queues == nil {
		t.group.queues = map[string]queueChange{}
	}
	for queue, c := range t.call.queues {
		sum := t.group.queues[queue]
		t.group.queues[queue] = queueChange{jobs: sum.jobs + c.jobs, wake: max(sum.wake, c.wake)}
	}
	for _, sum := range t.call.stats {
		if t.group.stats == nil {
			t.group.stats = statSums{}
		}
		t.group.stats.add(sum)
	}
	t.group.outbox += t.call.outbox
	t.group.ends = append(t.group.ends, t.call.ends...)
	t.group.cancels = append(t.group.cancels, t.call.cancels...)
	t.drop()
}

// drop forgets the call's changes.
func (t *tx) drop() {
	clear(t.call.counts)
	clear(t.call.queues)
	clear(t.call.stats)
	t.call.outbox = 0
	t.trims = driver.Opt[bool]{}
	t.call.ends, t.call.cancels = t.call.ends[:0], t.call.cancels[:0]
}

// load reads the counters, once.
func (t *tx) load() error {
	if t.loaded {
		return nil
	}
	_, err := first(t, "store_load", func(r row) {
		t.counters = counters{commits: r.integer(0), seq: r.integer(1), ids: r.integer(2),
			turns: r.integer(3), wakes: r.integer(4), entries: r.integer(5), outbox: r.integer(6)}
	})
	t.loaded = err == nil
	return err
}

// draw returns the next value of a counter, which load has read.
func draw(counter *int64) int64 {
	*counter++
	return *counter
}

// count changes how many jobs of a queue and name are in a state.
func (t *tx) count(queue, name string, state int64, by int64) {
	if t.call.counts == nil {
		t.call.counts = map[countKey]int64{}
	}
	t.call.counts[countKey{queue, name, state}] += by
	t.call.counts[countKey{"", name, state}] += by
}

// move counts a job that goes from one state to another.
func (t *tx) move(queue, name string, from, to driver.State) {
	if from != to {
		t.count(queue, name, int64(from), -1)
		t.count(queue, name, int64(to), 1)
	}
}

// queueJobs changes how many jobs a queue holds.
func (t *tx) queueJobs(queue string, by int64) {
	q := t.queueChange(queue)
	q.jobs += by
	t.call.queues[queue] = q
}

// wake wakes the waiters of a queue with the commit.
func (t *tx) wake(queue string) {
	q := t.queueChange(queue)
	q.wake = draw(&t.counters.wakes)
	t.call.queues[queue] = q
}

func (t *tx) queueChange(queue string) queueChange {
	if t.call.queues == nil {
		t.call.queues = map[string]queueChange{}
	}
	return t.call.queues[queue]
}

// size returns how many jobs there are of a name in a state, in all queues.
func (t *tx) size(name string, state int64) (int64, error) {
	key := countKey{"", name, state}
	stored, known := t.sizes[key]
	if !known {
		if _, err := first(t, "counts_of", func(r row) { stored = r.integer(0) }, "", name, state); err != nil {
			return 0, err
		}
		if t.sizes == nil {
			t.sizes = map[countKey]int64{}
		}
		t.sizes[key] = stored
	}
	return stored + t.group.counts[key] + t.call.counts[key], nil
}

// flush writes counts, queues and counters. Nothing but the commit comes after it.
func (t *tx) flush() error {
	if !t.changed {
		return nil
	}
	if err := t.load(); err != nil {
		return err
	}
	if err := t.flushCounts(); err != nil {
		return err
	}
	for queue, c := range t.group.queues {
		if c.jobs == 0 && c.wake == 0 {
			continue
		}
		if _, err := t.exec("queue_change", queue, c.jobs, c.wake); err != nil {
			return err
		}
		if c.jobs <= 0 {
			if _, err := t.exec("queue_drop_idle", queue); err != nil {
				return err
			}
		}
	}
	if err := t.flushStats(); err != nil {
		return err
	}
	c := &t.counters
	c.commits++
	c.outbox += t.group.outbox
	_, err := t.exec("store_save", c.commits, c.seq, c.ids, c.turns, c.wakes, c.entries, c.outbox)
	return err
}

// flushCounts writes the counts, each also under the totals that it belongs to.
func (t *tx) flushCounts() error {
	totals := make(map[countKey]int64, 2*len(t.group.counts))
	for key, by := range t.group.counts {
		totals[key] += by
		totals[countKey{key.queue, "", key.state}] += by
	}
	for key, by := range totals {
		if by == 0 {
			continue
		}
		if _, err := t.exec("counts_change", key.queue, key.name, key.state, by); err != nil {
			return err
		}
		if by < 0 {
			if _, err := t.exec("counts_drop_empty", key.queue, key.name, key.state); err != nil {
				return err
			}
		}
	}
	return nil
}

package pgstore

import (
	"cmp"
	"slices"

	"github.com/braidmq/braid/driver"
)

// owingState is what is added to a terminal state in the counts of those jobs that
// owe cascades.
const owingState = 10

// countKey names a count of jobs.
type countKey struct {
	queue, name string
	state       int64
}

// outboxKey counts the entries of the outbox.
var outboxKey = countKey{}

// attempt is an entry of a ledger that is to be written.
type attempt struct {
	id         string
	attempt    int32
	startedAt  driver.Opt[driver.Time]
	finishedAt driver.Time
	outcome    driver.Outcome
	worker     string
	exit       []byte
}

// changes is what a transaction changes: its records and flows, and what follows from
// that. It is written once, at the end.
type changes struct {
	loaded   records
	flows    map[int64]*flowState
	trims    *int // how many jobs the call may still delete for Keep
	counts   map[countKey]int64
	attempts []attempt
	lasts    []string // ids of jobs whose last ledger entry leaves their row
	outbox   []outboxRow
	stats    map[statKey]driver.Stat // of the runs that it ends
	frees    []*record               // whose dedup keys without window are free, if they own them
	forgets  []*record               // whose windows outlive them
	groups   []*trimGroup
	locked   map[dedupeKey]*dedupeEntry // to be saved
	ended    []string                   // ids of the jobs that are terminal and stay
	gone     []driver.Finished          // how deleted jobs ended

	// What others are told, and what follows, after the commit.
	counted bool // whether counts have changed
	wakes   map[string]struct{}
	cancels []string
	told    []toldWatch
	strays  []stray // jobs that wait at their old places
}

// count changes how many jobs of a queue and name are in a state.
func (c *changes) count(queue, name string, state int64, by int64) {
	if c.counts == nil {
		c.counts = map[countKey]int64{}
	}
	c.counts[countKey{queue, name, state}] += by
}

// move counts a job that goes from one state to another.
func (c *changes) move(rec *record, to driver.State) {
	if rec.state != to {
		c.count(rec.queue, rec.name, int64(rec.state), -1)
		c.count(rec.queue, rec.name, int64(to), 1)
	}
	rec.state = to
}

// wake wakes the waiters of a queue after the commit.
func (c *changes) wake(queue string) {
	if c.wakes == nil {
		c.wakes = map[string]struct{}{}
	}
	c.wakes[queue] = struct{}{}
}

// announceEnd tells the watchers of a job that ended and stays.
func (c *changes) announceEnd(rec *record) { c.ended = append(c.ended, rec.id) }

// announceGone tells the watchers of a job that ended and is deleted in the same step.
func (c *changes) announceGone(rec *record) {
	c.gone = append(c.gone, driver.Finished{ID: rec.id, State: rec.state, Exit: rec.exit,
		FailedReason: rec.failedReason, AttemptsMade: rec.attemptsMade})
}

// announceRemoval tells the watchers of a job that is deleted.
func (c *changes) announceRemoval(rec *record) {
	c.gone = append(c.gone, driver.Finished{ID: rec.id})
}

// flush queues what the transaction changes. Statements that look at what it has
// changed come behind those that change it.
func (t *tx) flush() {
	t.flushJobs()
	t.flushCancels()
	t.flushCounts()
	t.flushStats()
	t.flushAttempts()
	t.flushOutbox()
	t.flushDedupe()
	t.flushFlows()
	t.flushEnds()
	t.flushTrims()
}

func (t *tx) flushJobs() {
	if len(t.lasts) > 0 {
		t.exec("attempts_keep_last", t.lasts)
	}
	var changed []*record
	var deleted []string
	for _, rec := range t.loaded {
		switch {
		case rec.deleted:
			deleted = append(deleted, rec.id)
		case rec.changed:
			changed = append(changed, rec)
		}
	}
	if len(deleted) > 0 {
		slices.Sort(deleted)
		t.exec("jobs_delete", deleted)
	}
	if len(changed) == 0 {
		return
	}
	slices.SortFunc(changed, func(a, b *record) int { return cmp.Compare(a.id, b.id) })
	n := len(changed)
	ids, states, seqs, runAts := make([]string, n), make([]int16, n), make([]int64, n), make([]int64, n)
	made, stalled, ledgers := make([]int32, n), make([]int32, n), make([]int32, n)
	processed, lockedBy, flows := make([]*int64, n), make([]*string, n), make([]*int64, n)
	finished, turns, outcomes, ran := make([]*int64, n), make([]*int64, n), make([]*int16, n), make([]bool, n)
	reasons, owing, expires := make([]*string, n), make([]bool, n), make([]*int64, n)
	keys, exits := make([]*string, n), make([]*string, n)
	for i, rec := range changed {
		ids[i], states[i], seqs[i], runAts[i] = rec.id, int16(rec.state), rec.seq, int64(rec.runAt)
		made[i], stalled[i], ledgers[i] = rec.attemptsMade, rec.stalledCount, rec.ledger
		processed[i], lockedBy[i], flows[i] = optionalTime(rec.processedAt), optional(rec.lockedBy), optionalNumber(rec.flow)
		finished[i], turns[i], ran[i] = optionalTime(rec.finishedAt), optionalNumber(rec.turn), rec.ran
		if rec.outcome != 0 {
			outcomes[i] = pointer(int16(rec.outcome))
		}
		reasons[i], owing[i], expires[i] = optional(rec.failedReason), rec.owing, optionalTime(rec.expiresAt)
		keys[i], exits[i] = optional(rec.dedupeKey), optionalBytes(rec.exit)
	}
	t.exec("jobs_update", ids, states, seqs, runAts, made, stalled, ledgers, processed, lockedBy, flows,
		finished, turns, outcomes, ran, reasons, owing, expires, keys, exits)
}

func (t *tx) flushCounts() {
	var keys []countKey
	for key, by := range t.counts {
		if by != 0 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	t.counted = true
	n := len(keys)
	queues, names, states, jobs := make([]string, n), make([]string, n), make([]int16, n), make([]int32, n)
	for i, key := range keys {
		queues[i], names[i], states[i], jobs[i] = key.queue, key.name, int16(key.state), int32(t.counts[key]) //nolint:gosec // a transaction is small
	}
	t.exec("changes_insert", queues, names, states, jobs)
}

func (t *tx) flushAttempts() {
	n := len(t.attempts)
	if n == 0 {
		return
	}
	ids, numbers, started, finished := make([]string, n), make([]int32, n), make([]*int64, n), make([]int64, n)
	outcomes, workers, exits := make([]int16, n), make([]*string, n), make([]*string, n)
	for i, a := range t.attempts {
		ids[i], numbers[i], started[i], finished[i] = a.id, a.attempt, optionalTime(a.startedAt), int64(a.finishedAt)
		outcomes[i], workers[i], exits[i] = int16(a.outcome), optional(a.worker), optionalBytes(a.exit)
	}
	// A job that was deleted meanwhile took its ledger along.
	t.exec("attempts_insert", ids, numbers, started, finished, outcomes, workers, exits)
}

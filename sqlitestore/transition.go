package sqlitestore

import "github.com/braidmq/braid/driver"

// record is what a transition needs to know of a job.
type record struct {
	job             int64
	id              string
	state           driver.State
	queue, name     string
	attemptsMade    int32
	stalledCount    int32
	ledger          int64 // entries in braid_attempts
	runAt           driver.Time
	processedAt     driver.Opt[driver.Time]
	token           string
	lockedBy        string
	cancelRequested bool
	staged          int64 // 0: no children are staged
	finishedAt      driver.Opt[driver.Time]
	turn            int64
	owing           bool
	dedupeKey       string
	dedupeTTL       bool
	flow            int64 // 0: no flow has landed
	settings        string
	parent          string
	large           bool
	enqueuedAt      driver.Time
}

func readRecord(r row) *record {
	return &record{
		job: r.integer(0), id: r.text(1), state: r.state(2), queue: r.text(3), name: r.text(4),
		attemptsMade: r.int32(5), stalledCount: r.int32(6), ledger: r.integer(7), runAt: r.time(8),
		processedAt: r.optionalTime(9), token: r.text(10), lockedBy: r.text(11), cancelRequested: r.flag(12),
		staged: r.integer(13), finishedAt: r.optionalTime(14), turn: r.integer(15), owing: r.flag(16),
		dedupeKey: r.text(17), dedupeTTL: r.flag(18), flow: r.integer(19), settings: r.text(20),
		parent: r.text(21), large: r.flag(22), enqueuedAt: r.time(23),
	}
}

// record returns the job of that id, or nil.
func (t *tx) record(id string) (*record, error) {
	var rec *record
	_, err := first(t, "job_load", func(r row) { rec = readRecord(r) }, id)
	return rec, err
}

// recordOf returns the job of that row, or nil.
func (t *tx) recordOf(job int64) (*record, error) {
	var rec *record
	_, err := first(t, "job_load_row", func(r row) { rec = readRecord(r) }, job)
	return rec, err
}

// step is what all steps of one call share.
type step struct {
	*tx
	now   driver.Time
	trims *int // how many jobs the call may still delete for Keep
}

// trimsBeyondBatch is how many more jobs than its batch a call may trim for Keep.
const trimsBeyondBatch = 100

// ending is how a job becomes terminal.
type ending struct {
	state   driver.State
	outcome driver.Outcome // for the ledger
	exit    []byte
	reason  string // FailedReason
}

// cancelledEnding ends a job as cancelled.
var cancelledEnding = ending{state: driver.Cancelled, outcome: driver.OutcomeCancelled}

// finish is every terminal transition. The record may be gone after it.
func (st step) finish(rec *record, end ending) error {
	ranFrom, ranBy := rec.run()
	if err := st.unlock(rec); err != nil {
		return err
	}
	owing, err := st.owes(rec)
	if err != nil {
		return err
	}
	p, err := st.store.plans.Plan(rec.settings)
	if err != nil {
		return err
	}
	keep := p.Keep.For(end.state)
	goes, err := st.goesAtOnce(rec, keep, end.state, owing)
	if err != nil {
		return err
	}
	if goes {
		return st.finishAndDelete(rec, end)
	}
	st.move(rec.queue, rec.name, rec.state, end.state)
	rec.state, rec.finishedAt, rec.owing = end.state, driver.Some(st.now), owing
	rec.turn = draw(&st.counters.turns)
	if owing {
		st.count(rec.queue, rec.name, owingState+int64(end.state), 1)
	}
	expiresAt := driver.Opt[driver.Time]{}
	if age, ok := keep.Age.Get(); ok && !owing {
		expiresAt = driver.Some(st.now.Add(age))
	}
	_, err = st.exec("job_finish", rec.job, end.state, rec.attemptsMade, rec.stalledCount, st.now, rec.turn, end.outcome,
		ranFrom, optional(ranBy), optional(end.reason), owing, expiresAt, end.exit)
	if err != nil {
		return err
	}
	if err := st.freeDedupe(rec); err != nil {
		return err
	}
	if err := st.announceEnd(rec, end); err != nil || owing {
		return err
	}
	return st.trim(rec, keep)
}

// finishAndDelete is finish for a job that its own policy does not let stay.
func (st step) finishAndDelete(rec *record, end ending) error {
	*st.trims--
	if err := st.announceEnd(rec, end); err != nil {
		return err
	}
	return st.delete(rec)
}

// announceEnd tells the parent and the watchers how a job ended.
func (st step) announceEnd(rec *record, end ending) error {
	if rec.parent != "" {
		if err := st.report(rec, end); err != nil {
			return err
		}
	}
	st.tx.call.ends = append(st.tx.call.ends, driver.Finished{
		ID: rec.id, State: end.state, Exit: end.exit, FailedReason: end.reason, AttemptsMade: rec.attemptsMade})
	return nil
}

// run returns when the run under way began and who runs it; neither unless the job
// is active.
func (rec *record) run() (from driver.Opt[driver.Time], by string) {
	if rec.state != driver.Active {
		return driver.Opt[driver.Time]{}, ""
	}
	return rec.processedAt, rec.lockedBy
}

// log appends an entry to the ledger of a job that goes on. The record's own row is
// still to be written.
func (st step) log(rec *record, outcome driver.Outcome, exit []byte) error {
	from, by := rec.run()
	rec.ledger++
	_, err := st.exec("attempt_insert", rec.job, rec.ledger, from, st.now, outcome, optional(by), exit)
	return err
}

// unlock forgets what hangs on an active job's lock: children staged under it will
// never land.
func (st step) unlock(rec *record) error {
	if rec.staged == 0 {
		return nil
	}
	flow := rec.staged
	rec.staged = 0
	return st.abandon(flow)
}

// sendBack makes a job waiting or delayed, in its old place or, with anew, behind the
// others, and wakes its queue.
func (st step) sendBack(rec *record, runAt driver.Time, state driver.State, anew bool) error {
	if err := st.unlock(rec); err != nil {
		return err
	}
	st.move(rec.queue, rec.name, rec.state, state)
	rec.state, rec.runAt = state, runAt
	var seq any
	if anew {
		seq = draw(&st.counters.seq)
	}
	_, err := st.exec("job_send_back", rec.job, state, runAt, seq, rec.attemptsMade, rec.stalledCount, rec.ledger)
	st.wake(rec.queue)
	return err
}

// delete removes a job and everything that hangs on it.
func (st step) delete(rec *record) error {
	if err := st.freeDedupe(rec); err != nil {
		return err
	}
	if rec.dedupeKey != "" {
		if _, err := st.exec("dedupe_forget_job", rec.name, rec.dedupeKey, rec.job); err != nil {
			return err
		}
	}
	if rec.flow != 0 {
		if err := st.abandon(rec.flow); err != nil {
			return err
		}
	}
	if rec.ledger > 0 {
		if _, err := st.exec("attempts_delete", rec.job); err != nil {
			return err
		}
	}
	if rec.large {
		if _, err := st.exec("payload_delete", rec.job); err != nil {
			return err
		}
	}
	if _, err := st.exec("job_delete", rec.job); err != nil {
		return err
	}
	st.count(rec.queue, rec.name, int64(rec.state), -1)
	if rec.owing {
		st.count(rec.queue, rec.name, owingState+int64(rec.state), -1)
	}
	st.queueJobs(rec.queue, -1)
	st.tx.call.ends = append(st.tx.call.ends, driver.Finished{ID: rec.id})
	return nil
}

package pgstore

import "github.com/braidmq/braid/driver"

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
func (t *tx) finish(rec *record, end ending) error {
	rec.ran = rec.state == driver.Active
	if err := t.unlock(rec); err != nil {
		return err
	}
	p, err := t.store.plans.Plan(rec.settings)
	if err != nil {
		return err
	}
	keep := p.Keep.For(end.state)
	turn, err := t.number()
	if err != nil {
		return err
	}
	t.move(rec, end.state)
	rec.changed = true
	rec.finishedAt, rec.turn = driver.Some(t.now), turn
	rec.outcome, rec.exit, rec.failedReason = end.outcome, end.exit, end.reason
	rec.owing = rec.flow != 0 && t.flows[rec.flow].owed > 0
	if rec.owing {
		t.count(rec.queue, rec.name, owingState+int64(end.state), 1)
	} else if age, ok := keep.Age.Get(); ok {
		rec.expiresAt = driver.Some(t.now.Add(age))
	}
	t.freeDedupe(rec)
	if rec.parent != "" {
		if err := t.report(rec, end); err != nil {
			return err
		}
	}
	if rec.owing {
		t.announceEnd(rec)
		return nil
	}
	if count, ok := keep.Count.Get(); t.store.deleteFinished || ok && count <= 0 && *t.trims > 0 {
		t.announceGone(rec)
		*t.trims--
		if !t.store.deleteFinished {
			t.trim(rec, keep, true)
		}
		return t.delete(rec)
	}
	t.announceEnd(rec)
	t.trim(rec, keep, false)
	return nil
}

// log appends an entry to the ledger of a job that goes on.
func (t *tx) log(rec *record, outcome driver.Outcome, exit []byte) {
	rec.ledger++
	entry := attempt{id: rec.id, attempt: rec.ledger, finishedAt: t.now, outcome: outcome, exit: exit}
	if rec.state == driver.Active {
		entry.startedAt, entry.worker = rec.processedAt, rec.lockedBy
	}
	t.attempts = append(t.attempts, entry)
}

// unlock forgets what hangs on an active job's lock: children staged under it will
// never land.
func (t *tx) unlock(rec *record) error {
	rec.token, rec.cancelRequested = "", false
	if rec.staged == 0 {
		return nil
	}
	flow := rec.staged
	rec.staged = 0
	return t.abandon(flow)
}

// sendBack makes a job waiting, delayed or parked, in its old place or, with anew,
// behind the others. If it may be claimed then, or later by itself, its queue wakes.
func (t *tx) sendBack(rec *record, runAt driver.Time, state driver.State, anew bool) error {
	if err := t.unlock(rec); err != nil {
		return err
	}
	t.move(rec, state)
	rec.changed, rec.runAt, rec.lockedBy = true, runAt, ""
	if anew {
		seq, err := t.number()
		if err != nil {
			return err
		}
		rec.seq = seq
	} else if state == driver.Waiting {
		t.strays = append(t.strays, stray{rec.queue, rec.name, rec.id})
	}
	if state != driver.WaitingChildren {
		t.wake(rec.queue)
	}
	return nil
}

// delete removes a job and everything that hangs on it.
func (t *tx) delete(rec *record) error {
	rec.deleted = true
	t.freeDedupe(rec)
	if rec.dedupeKey != "" {
		t.forgets = append(t.forgets, rec)
	}
	if rec.flow != 0 {
		if err := t.abandon(rec.flow); err != nil {
			return err
		}
	}
	t.count(rec.queue, rec.name, int64(rec.state), -1)
	if rec.owing {
		t.count(rec.queue, rec.name, owingState+int64(rec.state), -1)
	}
	return nil
}

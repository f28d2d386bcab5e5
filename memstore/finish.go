package memstore

import "github.com/braidmq/braid/driver"

// trimsBeyondBatch is how many more jobs than its batch a call may trim for Keep.
const trimsBeyondBatch = 100

// call is what all steps of one call share.
type call struct {
	now   driver.Time
	trims int // how many jobs it may still delete for Keep
}

func newCall(now driver.Time, batch int) *call {
	return &call{now: now, trims: batch + trimsBeyondBatch}
}

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
func (s *Store) finish(c *call, rec *record, end ending) {
	rec.log(c.now, end.outcome, end.exit)
	s.detach(rec)
	s.unlock(rec)
	job := &rec.job
	job.State = end.state
	rec.finishedAt = driver.Some(c.now)
	rec.exit = end.exit
	rec.failedReason = end.reason
	s.finishes++
	rec.finishOrder = s.finishes
	s.attach(rec)
	s.freeDedupe(rec)
	if job.Parent != nil {
		s.report(c.now, rec, end)
	}
	s.announceEnd(driver.Finished{ID: job.ID, State: end.state, Exit: end.exit, FailedReason: end.reason, AttemptsMade: job.AttemptsMade})
	if !rec.owes() {
		s.retain(rec)
		s.trim(c, rec)
	}
}

// unlock ends an active job's lock; children staged under it will never land.
func (s *Store) unlock(rec *record) {
	if rec.claim == nil {
		return
	}
	rec.claim.recs[rec.claimIndex] = nil
	rec.claim.held--
	if rec.claim.held == 0 {
		delete(s.claims, rec.token)
	}
	rec.claim = nil
	rec.token = ""
	if rec.staged != nil {
		s.abandon(rec.staged)
		rec.staged = nil
	}
	rec.job.CancelRequested = false
	rec.lockedBy = ""
	rec.lockExpiresAt = driver.Opt[driver.Time]{}
}

// sendBack makes a job waiting or delayed, in its old place or, with anew, behind
// the others, and wakes its queue.
func (s *Store) sendBack(rec *record, runAt driver.Opt[driver.Time], state driver.State, anew bool) {
	s.detach(rec)
	s.unlock(rec)
	rec.job.State = state
	rec.job.RunAt = runAt.Or(rec.job.RunAt)
	if anew {
		s.seq++
		rec.job.Seq = s.seq
	}
	s.attach(rec)
	s.wake(rec.queue())
}

package memstore

import "github.com/braidmq/braid/driver"

// record is a job in the store.
type record struct {
	// job is the record that callers see, but for Flow, which lies in flow.
	job      driver.Job
	attempts []driver.Attempt // grows only; its entries never change
	lane     *lane

	token      string // the lock's token while active
	claim      *claim // while active
	claimIndex int    // in claim.recs
	staged     *flow  // the children staged under token, if any; only while active
	flow       *flow  // once the fan-out has landed

	finishOrder int64                   // of the latest finish, among all of the store
	retained    bool                    // whether retention has it: group and expiry
	expiresAt   driver.Opt[driver.Time] // its place in expiry
}

// snapshot returns the record as it stands now.
func (r *record) snapshot() *driver.Job {
	job := r.job
	if r.flow != nil {
		manifest := r.flow.manifest
		job.Flow = &manifest
	}
	return &job
}

// size is what the record adds to a page, in bytes.
func (r *record) size() int {
	size := len(r.job.ID) + len(r.job.Payload) + len(r.job.Exit) + len(r.job.FailedReason)
	for k, v := range r.job.Metadata {
		size += len(k) + len(v)
	}
	return size
}

// log appends an entry to the ledger. An active job is charged with its run.
func (r *record) log(now driver.Time, outcome driver.Outcome, exit []byte) {
	attempt := driver.Attempt{
		Attempt: int64(len(r.attempts)) + 1, FinishedAt: now, Outcome: outcome, Exit: exit,
	}
	if r.job.State == driver.Active {
		attempt.StartedAt = r.job.ProcessedAt
		attempt.Worker = r.job.LockedBy
	}
	r.attempts = append(r.attempts, attempt)
}

// owes reports whether the job is a flow parent with children still to be
// cancelled after an early settle.
func (r *record) owes() bool { return r.flow != nil && r.flow.owed > 0 }

package memstore

import "github.com/braidmq/braid/driver"

// record is a job in the store. Its parts make [driver.Job] together; what only a job
// has that was claimed, or has ended, lies in its progress, so that a long backlog
// is small.
type record struct {
	job  pending
	lane *lane
	// progress is untouched until the job is first claimed or ends; begin makes it
	// the job's own.
	*progress
}

// pending is what a job has from its enqueue on. Its name and queue are the lane's.
type pending struct {
	ID              string
	Payload         []byte
	Metadata        map[string]string
	Backoff         *driver.Backoff
	Keep            *driver.Keep
	Trace           *driver.Trace
	Parent          *driver.Envelope
	DedupeKey       string
	Timeout         driver.Opt[driver.Millis]
	Seq             int64
	RunAt           driver.Time
	EnqueuedAt      driver.Time
	Priority        int32
	AttemptsMax     int32
	AttemptsMade    int32
	StalledCount    int32
	State           driver.State
	CancelRequested bool
	DedupeTTL       bool
}

// progress is what a job has once it was claimed or has ended.
type progress struct {
	processedAt  driver.Opt[driver.Time]
	finishedAt   driver.Opt[driver.Time]
	exit         []byte
	failedReason string
	attempts     []driver.Attempt // grows only; its entries never change

	// While the job is active.
	lockedBy      string
	lockExpiresAt driver.Opt[driver.Time]
	token         string
	claim         *claim
	claimIndex    int   // in claim.recs
	staged        *flow // the children staged under token, if any

	flow *flow // once the fan-out has landed

	finishOrder int64                   // of the latest finish, among all of the store
	retained    bool                    // whether retention has it: group and expiry
	expiresAt   driver.Opt[driver.Time] // its place in expiry
}

// untouched is the progress of every job that has made none. It is never written to.
var untouched progress

// newRecord returns a job that is in no order yet.
func newRecord(now driver.Time, id string, seq int64, req *driver.EnqueueRequest, lane *lane) *record {
	rec := &record{
		job: pending{
			ID: id, Seq: seq, State: driver.Waiting, RunAt: now, EnqueuedAt: now,
			AttemptsMax: req.AttemptsMax, Parent: req.Parent,
		},
		lane:     lane,
		progress: &untouched,
	}
	rec.job.rewrite(&req.Spec)
	if req.Delay > 0 {
		rec.job.State = driver.Delayed
		rec.job.RunAt = now.Add(req.Delay)
	}
	return rec
}

// rewrite sets what a dedup replace may change.
func (p *pending) rewrite(spec *driver.Spec) {
	p.Payload, p.Metadata, p.Priority = spec.Payload, spec.Metadata, spec.Priority
	p.AttemptsMax, p.Backoff, p.Keep = spec.AttemptsMax, spec.Backoff, spec.Keep
	p.Timeout, p.Trace = spec.Timeout, spec.Trace
}

// begin gives the job a progress of its own, if it has none. It must come before any
// change of it.
func (r *record) begin() {
	if r.progress == &untouched {
		r.progress = &progress{}
	}
}

func (r *record) name() string { return r.lane.name.name }

func (r *record) queue() string { return r.lane.queue.name }

// snapshot returns the record as it stands now.
func (r *record) snapshot() *driver.Job {
	p := &r.job
	job := &driver.Job{
		ID: p.ID,
		Spec: driver.Spec{
			Name: r.name(), Queue: r.queue(), Payload: p.Payload, Metadata: p.Metadata,
			Priority: p.Priority, AttemptsMax: p.AttemptsMax, Backoff: p.Backoff, Keep: p.Keep,
			Timeout: p.Timeout, Trace: p.Trace, Parent: p.Parent,
		},
		State: p.State, Seq: p.Seq, AttemptsMade: p.AttemptsMade, StalledCount: p.StalledCount,
		CancelRequested: p.CancelRequested, DedupeKey: p.DedupeKey, DedupeTTL: p.DedupeTTL,
		RunAt: p.RunAt, EnqueuedAt: p.EnqueuedAt,
		ProcessedAt: r.processedAt, FinishedAt: r.finishedAt, Exit: r.exit, FailedReason: r.failedReason,
		LockedBy: r.lockedBy, LockExpiresAt: r.lockExpiresAt,
	}
	if r.flow != nil {
		manifest := r.flow.manifest
		job.Flow = &manifest
	}
	return job
}

// size is what the record adds to a page, in bytes.
func (r *record) size() int {
	size := len(r.job.ID) + len(r.job.Payload) + len(r.exit) + len(r.failedReason)
	for k, v := range r.job.Metadata {
		size += len(k) + len(v)
	}
	return size
}

// log appends an entry to the ledger. An active job is charged with its run.
func (r *record) log(now driver.Time, outcome driver.Outcome, exit []byte) {
	r.begin()
	attempt := driver.Attempt{
		Attempt: int64(len(r.attempts)) + 1, FinishedAt: now, Outcome: outcome, Exit: exit,
	}
	if r.job.State == driver.Active {
		attempt.StartedAt = r.processedAt
		attempt.Worker = r.lockedBy
	}
	r.attempts = append(r.attempts, attempt)
}

// owes reports whether the job is a flow parent with children still to be
// cancelled after an early settle.
func (r *record) owes() bool { return r.flow != nil && r.flow.owed > 0 }

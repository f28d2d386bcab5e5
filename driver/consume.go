package driver

import "context"

// WakeCursor is a point in the sequence of wake-ups that one Store value has
// seen. It means nothing to another Store value. The zero cursor is the point at
// which the store was opened.
type WakeCursor uint64

// ClaimRequest asks for jobs to run.
type ClaimRequest struct {
	Queue string
	// Names are the job names that the worker can run; others are never claimed.
	// No names: nothing is claimed, due jobs are promoted all the same.
	Names  []string
	Worker string // recorded as LockedBy
	// Token is the lock token of the claimed jobs. The caller draws a fresh one for
	// every call, except to resume one.
	Token        string
	Limit        int    // the most jobs to claim; at least 1
	LockDuration Millis // the lock expires at now + LockDuration; at least 1
	// Resume repeats a call whose outcome was unknown: the queue's jobs that are
	// still active under Token come back first (at most Limit), unchanged.
	Resume bool
}

// ClaimResult is what a claim found.
type ClaimResult struct {
	// Jobs are the claimed jobs, best first, with the new lock in place. They may
	// be fewer than asked for while others claim.
	Jobs []*Job
	// NextRunAt is set when fewer jobs than Limit were claimed and another claim
	// may find one without a wake in between: at or before now, if candidates were
	// locked by others or due jobs remain unpromoted, else the earliest time at
	// which a job of the queue falls due. It may be earlier than true, never later.
	// It is absent while the queue is paused.
	NextRunAt Opt[Time]
	// Cursor is the point before the claim looked; AwaitWake from it misses nothing.
	Cursor WakeCursor
}

// AckKind is what a worker says about a run.
type AckKind uint8

// The kinds of ack.
const (
	// AckComplete finishes the job as Completed with Exit. It wins over a pending
	// cancel request.
	AckComplete AckKind = iota + 1
	// AckFail finishes the job as Failed with Exit. It wins over a pending cancel
	// request.
	AckFail
	// AckCancelled finishes the job as Cancelled, without exit: its handler ended
	// because of a cancel request.
	AckCancelled
	// AckRetry uses up an attempt and sends the job back, for now + Delay, with a
	// new seq. Exit goes into the ledger. Loses to a pending cancel.
	AckRetry
	// AckSnooze sends the job back for now + Delay, with a new seq, without using an
	// attempt and without a ledger entry. Loses to a pending cancel.
	AckSnooze
	// AckRelease puts the job back to Waiting in its old place, without using an
	// attempt and without a ledger entry. Loses to a pending cancel.
	AckRelease
	// AckFanOut ends a flow parent's first phase; see [FlowStore]. Loses to a
	// pending cancel.
	AckFanOut
)

var ackKindNames = [...]string{
	AckComplete: "complete", AckFail: "fail", AckCancelled: "cancelled", AckRetry: "retry",
	AckSnooze: "snooze", AckRelease: "release", AckFanOut: "fan-out",
}

// String returns the kind's name.
func (k AckKind) String() string {
	if k < AckComplete || k > AckFanOut {
		return "unknown ack"
	}
	return ackKindNames[k]
}

// Ack is one item of a batch of acks.
type Ack struct {
	ID    string
	Token string
	Kind  AckKind
	Exit  []byte // Complete, Fail and Retry; may be absent
	Delay Millis // Retry and Snooze; 0: Waiting at once
	// FanOut: the policy, and how many children were staged under Token.
	FailFast bool
	Children int64
}

// AckResult answers one ack.
type AckResult struct {
	// Err is nil, ErrNotFound, ErrLockLost, or an [*InvalidError]. Then nothing of
	// this item was applied.
	Err error
	// State is the state that the ack left the job in, if Err is nil. So Cancelled
	// after a Retry tells that a pending cancel won.
	State State
}

// Lock names one held lock.
type Lock struct {
	ID    string
	Token string
}

// HeartbeatResult tells what a worker must know of its locks.
type HeartbeatResult struct {
	Lost            []string // ids that are not active under their token any more
	CancelRequested []string // ids with a pending cancel; extended all the same
	// Contended are ids that are active under their token, but could not be extended now,
	// since somebody's open transaction has them locked. Most stores have none.
	Contended []string
}

// RecoverRequest bounds a stall recovery.
type RecoverRequest struct {
	// MaxStalled is how often a job may stall and run again; one more stall fails it.
	MaxStalled int32
	Limit      int // the most jobs to recover in this call; at least 1
}

// Recovered is one stalled job.
type Recovered struct {
	ID     string
	Failed bool // beyond MaxStalled
}

// RecoverResult is what a stall recovery did.
type RecoverResult struct {
	// Jobs are the stalled jobs in order of their lock's expiry, then id. Jobs whose
	// pending cancel was honoured are not among them.
	Jobs []Recovered
	More bool // whether Limit ended the call: there may be more
}

// Consumer gives jobs out to workers and takes their results.
type Consumer interface {
	// Claim atomically promotes the queue's due delayed jobs (RunAt ≤ now; earliest
	// RunAt first, then seq; up to a bound) to Waiting, and then, unless the queue is
	// paused, takes up to Limit of its waiting jobs whose name is in Names: higher
	// priority first, then lower seq. A promotion happens while paused too.
	//
	// A claimed job is Active, with LockedBy, LockExpiresAt = now + LockDuration and
	// ProcessedAt = now; seq, RunAt, AttemptsMade and ledger stay.
	//
	// Jobs of other names cost nothing, however many stand in front: O(names).
	Claim(ctx context.Context, now Time, req ClaimRequest) (ClaimResult, error)

	// Ack settles a batch of runs, answering position by position. Each item is
	// checked on its own and never fails its neighbours: ErrNotFound for an unknown
	// id; ErrLockLost unless the job is Active under Token, also when its lock has
	// run out but nobody recovered it: then the ack is good. Two acks of one job in
	// one batch act like two calls.
	//
	// Effects on the record and ledger are the table in docs/concepts/jobs.md. A
	// Retry with a pending cancel uses the attempt and leaves one ledger entry,
	// cancelled; where a cancel wins over Snooze, Release or FanOut no attempt is
	// used, and one ledger entry, cancelled, is left.
	//
	// Every terminal transition, here and anywhere: sets FinishedAt, clears the lock
	// and CancelRequested, frees the dedup key, applies Keep, and appends to the
	// outbox if the job has an envelope, all in the same atomic step. The runs that a
	// batch ends are counted; see [StatsKeeper].
	Ack(ctx context.Context, now Time, batch []Ack) ([]AckResult, error)

	// Heartbeat extends every lock of the batch that is still held to now + duration,
	// also one that has run out but was not recovered yet.
	Heartbeat(ctx context.Context, now Time, locks []Lock, duration Millis) (HeartbeatResult, error)

	// RecoverStalled works off active jobs with LockExpiresAt ≤ now, in order of
	// LockExpiresAt, then id, whatever their names: one with a pending cancel becomes
	// Cancelled; another goes back to Waiting in its old place, StalledCount + 1; one
	// beyond MaxStalled becomes Failed, StalledCount + 1, with the FailedReason
	// [StalledReason], without exit. The old token no longer acks.
	RecoverStalled(ctx context.Context, now Time, req RecoverRequest) (RecoverResult, error)
}

// StalledReason is the FailedReason of a job that stalled too often.
const StalledReason = "job stalled more than the allowed number of times"

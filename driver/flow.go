package driver

import "context"

// ChildStatus is where a flow's dependency row stands.
type ChildStatus uint8

// The statuses of a dependency row.
const (
	ChildPending ChildStatus = iota + 1
	ChildCompleted
	ChildFailed
	ChildCancelled
)

var childStatusNames = [...]string{
	ChildPending: "pending", ChildCompleted: "completed", ChildFailed: "failed", ChildCancelled: "cancelled",
}

// String returns the status's name.
func (s ChildStatus) String() string {
	if s < ChildPending || s > ChildCancelled {
		return "unknown child status"
	}
	return childStatusNames[s]
}

// ParseChildStatus returns the status of that name, or an [*InvalidError].
func ParseChildStatus(name string) (ChildStatus, error) {
	for s := ChildPending; s <= ChildCancelled; s++ {
		if childStatusNames[s] == name {
			return s, nil
		}
	}
	return 0, &InvalidError{Field: "child status", Value: name, Reason: "use pending, completed, failed or cancelled"}
}

// MarshalText encodes the status's name.
func (s ChildStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a status's name.
func (s *ChildStatus) UnmarshalText(text []byte) (err error) {
	*s, err = ParseChildStatus(string(text))
	return err
}

// StagedChild is one child that a flow parent fans out.
type StagedChild struct {
	ChildKey string
	StoreKey string // the name of the store that the child lives in
	// Request is the child's job, with ID and Parent set.
	Request EnqueueRequest
}

// Child is the dependency row of one child.
type Child struct {
	FlowID       string
	ChildKey     string
	Name         string
	StoreKey     string
	ChildJobID   string
	Request      *EnqueueRequest // nil where the method leaves it out
	Status       ChildStatus
	Exit         []byte // as reported; empty: absent
	FailedReason string // as reported; empty: absent
	// Cascaded is false for a row that was cancelled by an early settle until the
	// child was cancelled in its own store; true for every other settled row.
	Cascaded bool
}

// ChildRef names one dependency row.
type ChildRef struct {
	FlowID   string
	ChildKey string
}

// ChildReport tells a parent how a child ended.
type ChildReport struct {
	FlowID       string
	ChildKey     string
	Outcome      ChildStatus // ChildCompleted, ChildFailed or ChildCancelled
	Exit         []byte      // empty: absent
	FailedReason string      // empty: absent
	ChildJobID   string      // empty: not checked; it tells the flow's runs apart
}

// RecordResult answers one report.
type RecordResult struct {
	Applied       bool
	ParentSettled bool // this report settled its parent
}

// OutboxEntry is a child's outcome on its way to its parent's store.
type OutboxEntry struct {
	ID             string // orders the outbox of one store in byte order
	At             Time   // when the child ended
	FlowName       string
	ParentStoreKey string
	Report         ChildReport
}

// PeekRequest asks for a page of the outbox.
type PeekRequest struct {
	StoreKeys []string // of the parents; nil: any
	Limit     int
	After     string // go on behind this entry's ID, whether it still exists or not
	// Hold hides the returned entries from other peeks that hold, until now + Hold.
	// 0: neither hides nor minds what others hide.
	Hold Millis
}

// OutboxBacklog is how far the relay is behind.
type OutboxBacklog struct {
	Entries int64
	Oldest  Opt[Time] // when the first entry's child ended
}

// FlowWork is what a flow sweep has to do. Rows are grouped by flow, in the order
// of their child keys within it.
type FlowWork struct {
	Reconcile []Child // pending for long: look the child up; with Request
	Cascade   []Child // cancelled early: cancel the child, then mark; without Request
}

// ChildPage is a page of a flow's dependency rows.
type ChildPage struct {
	Children []Child // without Request
	Cursor   string  // empty: nothing is left
}

// FlowStore keeps flows: parents, their dependency rows, and the outbox of
// children's outcomes. Parent and children may live in different stores; nothing
// here spans two.
//
// Fan-out. The parent's run stages its children page by page, then acks with
// [AckFanOut]: in one step the rows staged under the ack's token become the
// flow's, the manifest is written, and the parent parks in WaitingChildren (no
// children: Waiting at once, RunAt now, queue woken). A ledger entry fanned-out,
// no attempt used, no outbox entry. A manifest that exists already is left: the
// newly staged rows are ignored, and the state follows its pending count. A
// pending cancel wins: Cancelled, the rows settled early. Ack answers an
// [*InvalidError] with the field "children" if fewer or more rows are staged than
// it says.
//
// Staged rows are keyed by the run's token. Rows of another run than the
// manifest's, or of a parent that is gone, are invisible at once; SweepFlows
// deletes them.
//
// Early settle (fail-fast, a cancel of a parked parent, a cancel that raced the
// fan-out). In the same step, at O(1): the remaining pending rows read as
// ChildCancelled and not cascaded, the counters move, the parent is terminal.
type FlowStore interface {
	// StageChildren stores a page of children under the parent's current run. The
	// job must be Active under token (ErrNotFound, ErrLockLost otherwise); every
	// request needs an ID ([*InvalidError], checked before anything is written). A
	// key that was staged before under this token is overwritten.
	StageChildren(ctx context.Context, flowID, token string, page []StagedChild) error

	// RecordChildResults applies reports, in atomic steps of at most [ChunkReports],
	// and answers position by position. A report applies only while the parent is
	// WaitingChildren, to a pending row, with the reported job id if that is
	// given; anything else is not applied: duplicates, late and unknown ones.
	//
	// An applied report moves one from pending to its counter, and the row is
	// cascaded. First all rows of the step, then at most one settle per flow: with
	// FailFast the first applied ChildFailed, in the order of the batch, makes the
	// parent Failed with [FailFastReason], without exit, and settles the rest early;
	// otherwise, at pending == 0, the parent becomes Waiting at its old place (seq
	// kept, RunAt now) and its queue wakes. ParentSettled is set on the flow's last
	// applied report of the step.
	RecordChildResults(ctx context.Context, now Time, reports []ChildReport) ([]RecordResult, error)

	// FlowSweepWork returns up to limit rows of each kind. Reconcile: rows pending for
	// at least pendingAge, of parents in WaitingChildren; a returned row is not
	// returned again before another pendingAge has passed. Cascade: rows cancelled
	// and not cascaded, whatever the parent's state; returned rows go behind all
	// others. Flows take turns: no flow's rows keep another's from being returned.
	FlowSweepWork(ctx context.Context, now Time, pendingAge Millis, limit int) (FlowWork, error)

	// MarkChildrenCascaded marks rows as cascaded; idempotent, unknown ones are
	// ignored. The mark that pays a terminal parent's last debt lets retention have
	// the parent, from its FinishedAt, and applies its Keep.
	MarkChildrenCascaded(ctx context.Context, now Time, refs []ChildRef) error

	// Children returns the rows of some keys, position by position, without Request;
	// nil for unknown ones.
	Children(ctx context.Context, flowID string, childKeys []string) ([]*Child, error)

	// ListChildResults returns a page of a flow's rows in byte order of their child
	// keys, without Request. limit 0 is 1,000. A bad cursor is an [*InvalidError].
	ListChildResults(ctx context.Context, flowID, cursor string, limit int) (ChildPage, error)

	// PeekOutbox returns a page of the outbox, in order, and removes nothing.
	PeekOutbox(ctx context.Context, now Time, req PeekRequest) ([]OutboxEntry, error)

	// DeleteOutbox removes entries that the parents' stores have recorded;
	// idempotent.
	DeleteOutbox(ctx context.Context, ids []string) error

	// OutboxBacklog tells the outbox's length and age, at a constant cost.
	OutboxBacklog(ctx context.Context) (OutboxBacklog, error)
}

// FailFastReason is the FailedReason of a parent that a failed child settled.
func FailFastReason(childKey string) string { return `flow child "` + childKey + `" failed` }

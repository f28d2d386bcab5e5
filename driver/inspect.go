package driver

import "context"

// OrderBy is the time that a list is ordered by.
type OrderBy uint8

// The orders of a list.
const (
	ByEnqueuedAt OrderBy = iota // the default
	ByRunAt
	ByFinishedAt
)

// String returns the order's name as the API spells it.
func (o OrderBy) String() string {
	switch o {
	case ByEnqueuedAt:
		return "enqueuedAt"
	case ByRunAt:
		return "runAt"
	case ByFinishedAt:
		return "finishedAt"
	}
	return "unknown order"
}

// DefaultListLimit is the page size of a list request without one.
const DefaultListLimit = 50

// ListRequest asks for a page of jobs. Filters narrow each other.
type ListRequest struct {
	Queue string // empty: any
	Name  string // empty: any
	// States: nil is any; empty but not nil matches nothing.
	States []State
	// Metadata must all be there with exactly these values.
	Metadata map[string]string
	OrderBy  OrderBy
	// Ascending is oldest first; the default is newest first. Ties are ordered by
	// the bytes of the id, in the same direction.
	Ascending bool
	Cursor    string // of the page before; empty: the first page
	Limit     int    // 0: DefaultListLimit
}

// ListResult is a page of jobs.
type ListResult struct {
	Jobs []*Job
	// Cursor is set only if more jobs are left, or may be left: a page may be short,
	// even empty, and carry a cursor.
	Cursor string
}

// Inspector reads, and changes nothing.
type Inspector interface {
	// Jobs returns the records of ids, position by position; nil for unknown ones.
	Jobs(ctx context.Context, ids []string) ([]*Job, error)

	// Attempts returns a job's run ledger, oldest first; empty for an unknown job.
	Attempts(ctx context.Context, id string) ([]Attempt, error)

	// List returns a page. Its cursor is a keyset: pages lose nothing and repeat
	// nothing of what stays in place, while others insert and delete; the two
	// directions are exact mirrors. Records are complete, as Jobs returns them.
	// Filters that no index covers are applied to at most [ListLookups] entries per
	// call.
	//
	// Every store serves ByEnqueuedAt with any filters, ByRunAt for States
	// {Delayed} within a queue, ByFinishedAt for terminal States with or without Name
	// and Queue. For others, ErrListOrderUnsupported is allowed. A job that lacks the
	// time of the order is not listed. A cursor that is no cursor, or of another
	// order or direction, is an [*InvalidError] with the field "cursor".
	List(ctx context.Context, req ListRequest) (ListResult, error)

	// Counts returns the exact number of jobs per state, of one queue, or of all with
	// the empty string, without a scan.
	Counts(ctx context.Context, queue string) (Counts, error)

	// Queues returns the names of the queues that hold a job in any state, or are
	// paused, in byte order.
	Queues(ctx context.Context) ([]string, error)

	// Position returns how many waiting jobs of its queue a waiting job has ahead,
	// of whatever name, counted to [PositionLimit]; absent if the job is not Waiting;
	// ErrNotFound if it is unknown.
	Position(ctx context.Context, id string) (Opt[int], error)
}

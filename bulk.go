package braid

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// BulkAction is what [Client.Bulk] does to the jobs that it selects.
type BulkAction string

// The actions of a bulk operation.
const (
	BulkCancel  BulkAction = "cancel"
	BulkPromote BulkAction = "promote"
	BulkRemove  BulkAction = "remove"
	BulkRetry   BulkAction = "retry"
)

// BulkRequest selects jobs and says what to do to them.
type BulkRequest struct {
	Action BulkAction
	// Queue, Name, States and Metadata select, as in [ListFilter]; at least one of
	// them must be given. Nil States are those that the action applies to: failed for
	// retry, delayed for promote, everything unfinished for cancel, everything finished
	// for remove. Empty but not nil States select nothing.
	Queue    string
	Name     string
	States   []State
	Metadata map[string]string
	// DryRun counts what the action would meet, and changes nothing.
	DryRun bool
	Cursor string // of the call before; empty: from the beginning
	// Limit is how many jobs one call acts on; 0: 1,000; at most 10,000.
	Limit int
}

// BulkResult is what one call did.
type BulkResult struct {
	Matched int // jobs that the filter selected, in this call
	Changed int // of those, the ones that changed, or would
	// Refused are up to 100 of the jobs that were selected and could not be changed,
	// such as those that finished meanwhile.
	Refused []OperateResult
	// Cursor is set if more are left, or may be left: repeat the request with it.
	Cursor string
}

// Bulk does one thing to all jobs that a filter selects, oldest first. A call is
// bounded; its cursor resumes it, also after a failure, since a job that was changed
// already is refused, or selected no more. Jobs that are enqueued meanwhile may be
// among those selected.
func (c *Client) Bulk(ctx context.Context, req BulkRequest) (BulkResult, error) {
	limit, err := req.check()
	if err != nil {
		return BulkResult{}, err
	}
	result := BulkResult{Cursor: req.Cursor}
	filter := ListFilter{
		Queue: req.Queue, Name: req.Name, States: req.States, Metadata: req.Metadata, Ascending: true,
	}
	if filter.States == nil {
		filter.States = bulkStates[req.Action]
	}
	for pages := 0; result.Matched < limit && pages < bulkPages; pages++ {
		filter.Cursor, filter.Limit = result.Cursor, min(bulkPage, limit-result.Matched)
		page, err := c.List(ctx, filter)
		if err != nil {
			return result, err
		}
		if err := c.bulkPage(ctx, req, page.Jobs, &result); err != nil {
			return result, err
		}
		result.Cursor = page.Cursor
		if page.Cursor == "" {
			break
		}
	}
	return result, nil
}

const (
	bulkPage    = driver.ChunkJobs
	bulkPages   = 100 // pages that one call reads: a filter may select few of what it looks at
	bulkRefused = 100
	defaultBulk = 1000
	largestBulk = 10_000
)

// bulkStates are the states that the actions apply to.
var bulkStates = map[BulkAction][]State{
	BulkCancel:  {Waiting, Delayed, Active, WaitingChildren},
	BulkPromote: {Delayed},
	BulkRemove:  {Completed, Failed, Cancelled},
	BulkRetry:   {Failed},
}

func (req *BulkRequest) check() (limit int, err error) {
	if bulkStates[req.Action] == nil {
		return 0, &driver.InvalidError{Field: "action", Value: string(req.Action), Reason: "use cancel, promote, remove or retry"}
	}
	if req.Queue == "" && req.Name == "" && req.States == nil && len(req.Metadata) == 0 {
		return 0, &driver.InvalidError{Field: "filter", Reason: "is empty; select by queue, name, states or metadata"}
	}
	switch {
	case req.Limit == 0:
		return defaultBulk, nil
	case req.Limit < 0 || req.Limit > largestBulk:
		return 0, &driver.InvalidError{Field: "limit", Value: strconv.Itoa(req.Limit),
			Reason: "use 1 to " + strconv.Itoa(largestBulk) + ", or 0 for " + strconv.Itoa(defaultBulk)}
	}
	return req.Limit, nil
}

// bulkPage acts on one page, or counts what the action applies to.
func (c *Client) bulkPage(ctx context.Context, req BulkRequest, jobs []*JobInfo, into *BulkResult) error {
	ids := make([]string, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID
	}
	var results []OperateResult
	var err error
	switch {
	case len(ids) == 0:
		return nil
	case req.DryRun:
		results = foresee(req.Action, jobs)
	case req.Action == BulkCancel:
		results, err = c.CancelMany(ctx, ids...)
	case req.Action == BulkPromote:
		results, err = c.PromoteMany(ctx, ids...)
	case req.Action == BulkRetry:
		results, err = c.RetryMany(ctx, ids...)
	case req.Action == BulkRemove:
		results, err = c.bulkRemove(ctx, jobs, ids)
	}
	if err != nil {
		return err
	}
	into.Matched += len(jobs)
	for _, result := range results {
		if result.Err == nil {
			into.Changed++
		} else if len(into.Refused) < bulkRefused {
			into.Refused = append(into.Refused, result)
		}
	}
	return nil
}

var errNotRemovable = errors.New("braid: not removable: the job runs, waits for its children, or is gone")

func (c *Client) bulkRemove(ctx context.Context, jobs []*JobInfo, ids []string) ([]OperateResult, error) {
	removed, err := c.RemoveMany(ctx, ids...)
	results := make([]OperateResult, len(removed))
	for i, done := range removed {
		results[i] = OperateResult{ID: ids[i], State: jobs[i].State}
		if !done {
			results[i].Err = errNotRemovable
		}
	}
	return results, err
}

// foresee tells what the action would do to jobs in their present states.
func foresee(action BulkAction, jobs []*JobInfo) []OperateResult {
	refusal := map[BulkAction]error{
		BulkCancel: driver.ErrNotCancellable, BulkPromote: driver.ErrNotPromotable, BulkRetry: driver.ErrNotRetryable,
	}
	results := make([]OperateResult, len(jobs))
	for i, job := range jobs {
		results[i] = OperateResult{ID: job.ID, State: job.State}
		removable := action == BulkRemove && job.State != Active && job.State != WaitingChildren
		switch {
		case removable || action != BulkRemove && slices.Contains(bulkStates[action], job.State):
		case action == BulkRemove:
			results[i].Err = errNotRemovable
		default:
			results[i].Err = &driver.StateError{Err: refusal[action], ID: job.ID, State: job.State}
		}
	}
	return results
}

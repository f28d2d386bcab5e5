package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// Results are what became of a flow's children, for its collect function. Counts
// cost nothing; the rest is read from the store, page by page.
type Results struct {
	Counts ResultCounts

	client *Client
	flowID string
}

// ResultCounts are numbers of children.
type ResultCounts struct {
	Completed int64
	Failed    int64
	Cancelled int64
}

// Total returns the number of all children.
func (c ResultCounts) Total() int64 { return c.Completed + c.Failed + c.Cancelled }

// ChildResult is what became of one child, typed by its result.
type ChildResult[R any] struct {
	Key     string // as the fan-out named it
	JobID   string
	Outcome ChildStatus
	Value   R     // of a completed child
	Err     error // of another: a [*JobError], or ErrCancelled
}

func newResults(client *Client, parent *driver.Job) *Results {
	m := parent.Flow
	return &Results{
		Counts: ResultCounts{Completed: m.Completed, Failed: m.Failed, Cancelled: m.Cancelled},
		client: client, flowID: parent.ID,
	}
}

// Results iterates over the children of this job among a flow's, in the byte order
// of their keys. They are read in pages, so that memory stays flat whatever their
// number. An error of reading ends it.
func (j *Job[P, R]) Results(ctx context.Context, results *Results) iter.Seq2[ChildResult[R], error] {
	return func(yield func(ChildResult[R], error) bool) {
		for child, err := range results.All(ctx) {
			if err != nil {
				yield(ChildResult[R]{}, err)
				return
			}
			if child.Name != j.Name() {
				continue
			}
			if !yield(childResult[R](child), nil) {
				return
			}
		}
	}
}

// ResultsByKey reads the children of this job among a flow's into memory.
func (j *Job[P, R]) ResultsByKey(ctx context.Context, results *Results) (map[string]ChildResult[R], error) {
	byKey := make(map[string]ChildResult[R])
	for child, err := range j.Results(ctx, results) {
		if err != nil {
			return nil, err
		}
		byKey[child.Key] = child
	}
	return byKey, nil
}

// All iterates over all children, of whatever job, in the byte order of their keys.
func (r *Results) All(ctx context.Context) iter.Seq2[ChildInfo, error] {
	if r == nil || r.client == nil {
		return func(yield func(ChildInfo, error) bool) {
			yield(ChildInfo{}, &driver.InvalidError{Field: "results", Reason: "are nil or empty; use those that the collect function gets"})
		}
	}
	return r.client.AllChildren(ctx, r.flowID)
}

func childResult[R any](child ChildInfo) ChildResult[R] {
	result := ChildResult[R]{Key: child.Key, JobID: child.JobID, Outcome: child.Status}
	switch child.Status {
	case ChildCompleted:
		value, err := decode[R](child.Exit)
		result.Value = value
		if err != nil {
			result.Err = within(err, "result of child %q", child.Key)
		}
	default:
		result.Err = child.Err()
	}
	return result
}

// ChildStatus is where a child of a flow stands, as its parent knows it.
type ChildStatus = driver.ChildStatus

// The statuses of a child.
const (
	ChildPending   = driver.ChildPending // not ended yet
	ChildCompleted = driver.ChildCompleted
	ChildFailed    = driver.ChildFailed
	ChildCancelled = driver.ChildCancelled
)

// ChildInfo is a child of a flow, as its parent knows it.
type ChildInfo struct {
	Key          string          `json:"key"`
	Name         string          `json:"name"`  // of its job
	Store        string          `json:"store"` // where it lives
	JobID        string          `json:"jobId"`
	Status       ChildStatus     `json:"status"`
	Exit         json.RawMessage `json:"exit,omitempty"`
	FailedReason string          `json:"failedReason,omitempty"`
}

// Err returns how a failed or cancelled child ended, or nil for any other.
func (c ChildInfo) Err() error {
	switch c.Status {
	case ChildFailed:
		return jobError(c.JobID, c.Exit, c.FailedReason, 0)
	case ChildCancelled:
		return fmt.Errorf("%w: child %q", ErrCancelled, c.Key)
	}
	return nil
}

// ChildPage is a page of a flow's children. Cursor is empty on the last page.
type ChildPage struct {
	Children []ChildInfo `json:"children"`
	Cursor   string      `json:"cursor,omitempty"`
}

// Children returns a page of up to 1,000 children of a flow, in the byte order of
// their keys. A job that is no flow has none.
func (c *Client) Children(ctx context.Context, flowID, cursor string) (ChildPage, error) {
	return c.ListChildren(ctx, flowID, cursor, mostChildren)
}

const mostChildren = 1000

// ListChildren is [Client.Children] with a page of up to limit children, at most 1,000.
func (c *Client) ListChildren(ctx context.Context, flowID, cursor string, limit int) (ChildPage, error) {
	if limit < 1 || limit > mostChildren {
		return ChildPage{}, &driver.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Reason: "use 1 to " + strconv.Itoa(mostChildren)}
	}
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return ChildPage{}, err
	}
	defer cancel()
	if !canBeID(flowID) {
		return ChildPage{Children: []ChildInfo{}}, nil
	}
	page, err := c.store.driver.ListChildResults(ctx, flowID, cursor, limit)
	if err != nil {
		return ChildPage{}, err
	}
	infos := make([]ChildInfo, len(page.Children))
	for i, child := range page.Children {
		infos[i] = ChildInfo{
			Key: child.ChildKey, Name: child.Name, Store: child.StoreKey, JobID: child.ChildJobID,
			Status: child.Status, Exit: bytes.Clone(child.Exit), FailedReason: child.FailedReason,
		}
	}
	return ChildPage{Children: infos, Cursor: page.Cursor}, nil
}

// AllChildren iterates over the children of a flow, page by page. An error ends it.
func (c *Client) AllChildren(ctx context.Context, flowID string) iter.Seq2[ChildInfo, error] {
	return func(yield func(ChildInfo, error) bool) {
		cursor := ""
		for {
			page, err := c.Children(ctx, flowID, cursor)
			if err != nil {
				yield(ChildInfo{}, err)
				return
			}
			for _, child := range page.Children {
				if !yield(child, nil) {
					return
				}
			}
			if cursor = page.Cursor; cursor == "" {
				return
			}
		}
	}
}

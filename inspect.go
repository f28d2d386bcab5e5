package braid

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/braidmq/braid/driver"
)

// Get returns a job as it is now, or ErrNotFound.
func (c *Client) Get(ctx context.Context, id string) (*JobInfo, error) {
	jobs, err := c.GetMany(ctx, id)
	if err != nil {
		return nil, err
	}
	if jobs[0] == nil {
		return nil, fmt.Errorf("%w: job %q", ErrNotFound, id)
	}
	return jobs[0], nil
}

// GetMany returns jobs as they are now, aligned with ids; nil for unknown ones.
func (c *Client) GetMany(ctx context.Context, ids ...string) ([]*JobInfo, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	records, err := c.records(ctx, ids)
	if err != nil {
		return nil, err
	}
	jobs := make([]*JobInfo, len(records))
	for i, record := range records {
		if record != nil {
			jobs[i] = newJobInfo(record)
		}
	}
	return jobs, nil
}

// records returns the records of jobs, position by position; nil for unknown ones.
func (c *Client) records(ctx context.Context, ids []string) ([]*driver.Job, error) {
	return answerIDs(ids, nil, func(ids []string) ([]*driver.Job, error) { return c.store.driver.Jobs(ctx, ids) })
}

// Attempts returns the runs of a job so far, oldest first. An unknown job has none.
func (c *Client) Attempts(ctx context.Context, id string) ([]AttemptInfo, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if !canBeID(id) {
		return []AttemptInfo{}, nil
	}
	records, err := c.store.driver.Attempts(ctx, id)
	if err != nil {
		return nil, err
	}
	attempts := make([]AttemptInfo, len(records))
	for i, record := range records {
		attempts[i] = newAttemptInfo(id, record)
	}
	return attempts, nil
}

// ListFilter selects and orders jobs. Its zero value is all jobs, newest first. The
// filters narrow each other.
type ListFilter struct {
	Queue    string            // empty: any
	Name     string            // empty: any
	States   []State           // nil: any; empty but not nil: none
	Metadata map[string]string // all of it, exactly
	OrderBy  ListOrder         // the zero value is ByEnqueuedAt
	// Ascending lists the oldest first.
	Ascending bool
	Cursor    string // of the page before; empty: the first page
	Limit     int    // of a page; 0: 50, at most 1,000
}

// ListOrder is the time by which a list is ordered. Every store lists ByEnqueuedAt,
// ByRunAt for the delayed jobs of one queue, and ByFinishedAt for finished states.
type ListOrder = driver.OrderBy

// The orders of a list.
const (
	ByEnqueuedAt = driver.ByEnqueuedAt
	ByRunAt      = driver.ByRunAt
	ByFinishedAt = driver.ByFinishedAt
)

// JobPage is one page of a list. Cursor is set if more are left, or may be left: a
// page may be short, or empty, and have one.
type JobPage struct {
	Jobs   []*JobInfo `json:"jobs"`
	Cursor string     `json:"cursor,omitempty"`
}

// List returns one page of jobs.
func (c *Client) List(ctx context.Context, filter ListFilter) (JobPage, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return JobPage{}, err
	}
	defer cancel()
	if filter.Limit < 0 || filter.Limit > maxListLimit {
		return JobPage{}, &driver.InvalidError{Field: "limit", Value: fmt.Sprint(filter.Limit),
			Reason: fmt.Sprintf("use 1 to %d, or 0 for %d", maxListLimit, driver.DefaultListLimit)}
	}
	for _, state := range filter.States {
		if !state.Valid() {
			return JobPage{}, &driver.InvalidError{Field: "states", Value: state.String(), Reason: "is no state of a job"}
		}
	}
	if err := checkFilters([2]string{"queue", filter.Queue}, [2]string{"name", filter.Name}); err != nil {
		return JobPage{}, err
	}
	if err := driver.CheckMetadata(filter.Metadata); err != nil {
		return JobPage{}, err
	}
	result, err := c.store.driver.List(ctx, driver.ListRequest{
		Queue: filter.Queue, Name: filter.Name, States: filter.States, Metadata: filter.Metadata,
		OrderBy: filter.OrderBy, Ascending: filter.Ascending, Cursor: filter.Cursor, Limit: filter.Limit,
	})
	if err != nil {
		return JobPage{}, err
	}
	page := JobPage{Jobs: make([]*JobInfo, len(result.Jobs)), Cursor: result.Cursor}
	for i, record := range result.Jobs {
		page.Jobs[i] = newJobInfo(record)
	}
	return page, nil
}

const maxListLimit = 1000

// All iterates over every job that the filter selects, page by page, from the
// filter's cursor on. An error ends it.
func (c *Client) All(ctx context.Context, filter ListFilter) iter.Seq2[*JobInfo, error] {
	return func(yield func(*JobInfo, error) bool) {
		for {
			page, err := c.List(ctx, filter)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, job := range page.Jobs {
				if !yield(job, nil) {
					return
				}
			}
			if page.Cursor == "" {
				return
			}
			filter.Cursor = page.Cursor
		}
	}
}

// Counts returns how many jobs are in each state: of one queue, or of all with the
// empty string. It costs the same however many there are.
func (c *Client) Counts(ctx context.Context, queue string) (Counts, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return Counts{}, err
	}
	defer cancel()
	if err := checkFilter("queue", queue); err != nil {
		return Counts{}, err
	}
	return c.store.driver.Counts(ctx, queue)
}

// Queues returns the names of the queues that hold jobs or are paused, sorted.
func (c *Client) Queues(ctx context.Context) ([]string, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return c.store.driver.Queues(ctx)
}

// Position returns how many jobs a waiting job has ahead of it in its queue,
// counted to 1,000; ok is false if the job is not waiting.
func (c *Client) Position(ctx context.Context, id string) (ahead int, ok bool, err error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return 0, false, err
	}
	defer cancel()
	if !canBeID(id) {
		return 0, false, fmt.Errorf("%w: job %q", ErrNotFound, id)
	}
	position, err := c.store.driver.Position(ctx, id)
	if err != nil {
		return 0, false, err
	}
	return position.Value, position.Set, nil
}

// Now returns the time that the store's jobs go by: this machine's, or the store's
// server's.
func (c *Client) Now() (time.Time, error) {
	if err := c.ready(); err != nil {
		return time.Time{}, err
	}
	return c.now().Std(), nil
}

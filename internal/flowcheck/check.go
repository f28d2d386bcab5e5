package flowcheck

import (
	"context"
	"maps"
	"slices"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flow"
)

const (
	jobPage    = 1000
	rowPage    = 1000
	outboxPage = 1000
)

// Check reads the stores and returns what it found. An error means that a store
// could not be read, and the report tells only what came before.
func Check(ctx context.Context, stores flow.Stores) (Report, error) {
	c := checker{stores: stores, outbox: make(map[string]map[string]bool, len(stores))}
	keys := slices.Sorted(maps.Keys(stores))
	for _, key := range keys {
		if err := c.readOutbox(ctx, stores[key]); err != nil {
			return c.report, err
		}
	}
	for _, key := range keys {
		if err := c.checkStore(ctx, stores[key]); err != nil {
			return c.report, err
		}
	}
	return c.report, nil
}

// checker is one Check.
type checker struct {
	stores flow.Stores
	outbox map[string]map[string]bool // by store: the child jobs whose outcome is on its way
	report Report
}

func (c *checker) readOutbox(ctx context.Context, s flow.Store) error {
	onItsWay := make(map[string]bool)
	c.outbox[s.Key] = onItsWay
	var entries int64
	for after := ""; ; {
		page, err := s.Driver.PeekOutbox(ctx, s.Now(), driver.PeekRequest{Limit: outboxPage, After: after})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, entry := range page {
			onItsWay[entry.Report.ChildJobID] = true
			if _, known := c.stores[entry.ParentStoreKey]; !known {
				c.report.add(RuleStore, s.Key, entry.Report.ChildJobID, "its outcome is on the way to store %q, which was not given", entry.ParentStoreKey)
			}
		}
		entries += int64(len(page))
		after = page[len(page)-1].ID
	}
	c.report.Outbox += entries
	backlog, err := s.Driver.OutboxBacklog(ctx)
	if err == nil && backlog.Entries != entries {
		c.report.add(RuleBacklog, s.Key, "", "it says %d, and there are %d", backlog.Entries, entries)
	}
	return err
}

// checkStore looks at every job of a store.
func (c *checker) checkStore(ctx context.Context, s flow.Store) error {
	seen := make(map[string]*driver.Counts) // by queue
	for cursor := ""; ; {
		page, err := s.Driver.List(ctx, driver.ListRequest{Ascending: true, Limit: jobPage, Cursor: cursor})
		if err != nil {
			return err
		}
		c.report.Jobs += int64(len(page.Jobs))
		for _, job := range page.Jobs {
			if seen[job.Queue] == nil {
				seen[job.Queue] = new(driver.Counts)
			}
			*seen[job.Queue].Of(job.State)++
			if job.Flow != nil {
				if err := c.checkFlow(ctx, s, job); err != nil {
					return err
				}
			}
		}
		if err := c.checkChildren(ctx, s, page.Jobs); err != nil {
			return err
		}
		if cursor = page.Cursor; cursor == "" {
			return c.checkCounts(ctx, s, seen)
		}
	}
}

func (c *checker) checkCounts(ctx context.Context, s flow.Store, seen map[string]*driver.Counts) error {
	queues, err := s.Driver.Queues(ctx)
	if err != nil {
		return err
	}
	var all driver.Counts
	for queue, counts := range seen {
		if !slices.Contains(queues, queue) {
			c.report.add(RuleQueues, s.Key, "", "queue %q is not", queue)
		}
		for _, state := range driver.States {
			*all.Of(state) += *counts.Of(state)
		}
	}
	compare := func(queue string, want driver.Counts) error {
		got, err := s.Driver.Counts(ctx, queue)
		if err == nil && got != want {
			c.report.add(RuleCounts, s.Key, "", "queue %q: counts %+v, lists %+v", queue, got, want)
		}
		return err
	}
	if err := compare("", all); err != nil {
		return err
	}
	for _, queue := range queues {
		var want driver.Counts
		if seen[queue] != nil {
			want = *seen[queue]
		}
		if err := compare(queue, want); err != nil {
			return err
		}
	}
	return nil
}

// lookUp returns the jobs of some ids, by id; unknown ones are not in it.
func lookUp(ctx context.Context, s flow.Store, ids []string) (map[string]*driver.Job, error) {
	found := make(map[string]*driver.Job, len(ids))
	for page := range slices.Chunk(ids, driver.ChunkJobs) {
		jobs, err := s.Driver.Jobs(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, job := range jobs {
			if job != nil {
				found[job.ID] = job
			}
		}
	}
	return found, nil
}

package flowcheck

import (
	"bytes"
	"context"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flow"
	"github.com/braidmq/braid/internal/plural"
)

// checkFlow looks at a parent and its rows.
func (c *checker) checkFlow(ctx context.Context, s flow.Store, parent *driver.Job) error {
	c.report.Flows++
	var rows driver.Manifest
	latest := ""
	for cursor := ""; ; {
		page, err := s.Driver.ListChildResults(ctx, parent.ID, cursor, rowPage)
		if err != nil {
			return err
		}
		for i := range page.Children {
			row := &page.Children[i]
			c.report.Children++
			if row.ChildKey <= latest {
				c.report.add(RuleManifest, s.Key, parent.ID, "row %q comes behind row %q", row.ChildKey, latest)
			}
			latest = row.ChildKey
			c.countRow(s, parent, row, &rows)
		}
		if err := c.checkRows(ctx, s, parent, page.Children); err != nil {
			return err
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	rows.FailFast = parent.Flow.FailFast
	if rows != *parent.Flow {
		c.report.add(RuleManifest, s.Key, parent.ID, "manifest %+v, rows %+v", *parent.Flow, rows)
	}
	if parked := parent.State == driver.WaitingChildren; parked != (rows.Pending > 0) {
		c.report.add(RuleParked, s.Key, parent.ID, "it is %v, with %d pending", parent.State, rows.Pending)
	}
	return nil
}

func (c *checker) countRow(s flow.Store, parent *driver.Job, row *driver.Child, rows *driver.Manifest) {
	owes := false
	switch row.Status {
	case driver.ChildPending:
		rows.Pending++
		c.report.Pending++
		return
	case driver.ChildCompleted:
		rows.Completed++
		owes = !row.Cascaded
	case driver.ChildFailed:
		rows.Failed++
		owes = !row.Cascaded
	case driver.ChildCancelled:
		rows.Cancelled++
		if !row.Cascaded {
			c.report.Owed++
		}
	}
	if owes {
		c.report.add(RuleCascaded, s.Key, parent.ID, "row %q is %v and not cascaded", row.ChildKey, row.Status)
	}
}

// checkRows compares a page of rows with the children's jobs.
func (c *checker) checkRows(ctx context.Context, s flow.Store, parent *driver.Job, rows []driver.Child) error {
	byStore := make(map[string][]*driver.Child)
	for i := range rows {
		byStore[rows[i].StoreKey] = append(byStore[rows[i].StoreKey], &rows[i])
	}
	for key, rows := range byStore {
		store, known := c.stores[key]
		if !known {
			c.checkUnseen(s, parent, key, rows)
			continue
		}
		ids := make([]string, len(rows))
		for i, row := range rows {
			ids[i] = row.ChildJobID
		}
		jobs, err := lookUp(ctx, store, ids)
		if err != nil {
			return err
		}
		for _, row := range rows {
			c.checkRow(s, parent, row, jobs[row.ChildJobID])
		}
	}
	return nil
}

// checkUnseen looks at rows whose jobs are in a store that was not given. Those that
// are settled, and owe nothing, are as good without it.
func (c *checker) checkUnseen(s flow.Store, parent *driver.Job, key string, rows []*driver.Child) {
	open := 0
	for _, row := range rows {
		if row.Status == driver.ChildPending || !row.Cascaded {
			open++
		}
	}
	if open > 0 {
		c.report.add(RuleStore, s.Key, parent.ID, "%s not settled yet, or not told of it, in store %q, which was not given",
			plural.Of(open, "child is", "children are"), key)
	}
	if settled := len(rows) - open; settled > 0 {
		c.report.unseen(key).Children += int64(settled)
	}
}

// checkRow compares a row with the child's job, nil if that is not there.
func (c *checker) checkRow(s flow.Store, parent *driver.Job, row *driver.Child, job *driver.Job) {
	switch {
	case row.Status == driver.ChildPending:
		if c.outbox[row.StoreKey][row.ChildJobID] {
			return
		}
		if job == nil {
			c.report.add(RuleWaits, s.Key, parent.ID, "child %q, job %q, is in no store and in no outbox", row.ChildKey, row.ChildJobID)
		} else if job.State.Terminal() {
			c.report.add(RuleWaits, s.Key, parent.ID, "child %q, job %q, is %v", row.ChildKey, row.ChildJobID, job.State)
		}
	case row.Status == driver.ChildCompleted && job != nil:
		// Only failed jobs can run again, so a completed one is what was reported.
		if job.State != driver.Completed || !bytes.Equal(job.Exit, row.Exit) {
			c.report.add(RuleResult, s.Key, parent.ID, "child %q is recorded as completed with %q; its job is %v with %q",
				row.ChildKey, clip(row.Exit), job.State, clip(job.Exit))
		}
	}
}

// clip shortens an exit for a message.
func clip(exit []byte) []byte {
	const most = 100
	return exit[:min(len(exit), most)]
}

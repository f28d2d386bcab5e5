package flowcheck

import (
	"context"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flow"
)

// checkChildren looks at those of a page of jobs that are children, from the side
// of their parents.
func (c *checker) checkChildren(ctx context.Context, s flow.Store, page []*driver.Job) error {
	type parentRef struct{ store, id string }
	families := make(map[parentRef][]*driver.Job)
	parents := make(map[string][]string) // ids by store
	for _, job := range page {
		if job.Parent == nil {
			continue
		}
		ref := parentRef{job.Parent.ParentStoreKey, job.Parent.FlowID}
		if len(families[ref]) == 0 {
			parents[ref.store] = append(parents[ref.store], ref.id)
		}
		families[ref] = append(families[ref], job)
	}
	for key, ids := range parents {
		store, known := c.stores[key]
		if !known {
			for _, id := range ids {
				c.checkOrphans(s, key, families[parentRef{key, id}])
			}
			continue
		}
		found, err := lookUp(ctx, store, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := c.checkFamily(ctx, store, s, id, found[id], families[parentRef{key, id}]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOrphans looks at children's jobs whose parent is in a store that was not given.
// One that has ended and has reported needs it no more.
func (c *checker) checkOrphans(s flow.Store, key string, jobs []*driver.Job) {
	for _, job := range jobs {
		switch {
		case !job.State.Terminal():
			c.report.add(RuleStore, s.Key, job.ID, "it is %v; its parent %q is in store %q, which was not given", job.State, job.Parent.FlowID, key)
		case !c.outbox[s.Key][job.ID]: // else the outbox tells
			c.report.unseen(key).Parents++
		}
	}
}

// checkFamily compares children's jobs in one store with the rows of their parent,
// nil if that is gone.
func (c *checker) checkFamily(ctx context.Context, parents, children flow.Store, flowID string, parent *driver.Job, jobs []*driver.Job) error {
	first, err := parents.Driver.ListChildResults(ctx, flowID, "", 1)
	if err != nil {
		return err
	}
	if parent == nil || parent.Flow == nil {
		if len(first.Children) > 0 {
			c.report.add(RuleRowWithoutFlow, parents.Key, flowID, "row %q is visible", first.Children[0].ChildKey)
		}
		return nil
	}
	if parent.State != driver.WaitingChildren || len(first.Children) == 0 {
		return nil
	}
	keys := make([]string, len(jobs))
	for i, job := range jobs {
		keys[i] = job.Parent.ChildKey
	}
	rows, err := parents.Driver.Children(ctx, flowID, keys)
	if err != nil {
		return err
	}
	for i, job := range jobs {
		if !sameRun(job.Parent, &first.Children[0]) {
			continue // of a parent that was removed, and enqueued again under its id
		}
		row := rows[i]
		switch {
		case row == nil || row.ChildJobID != job.ID:
			c.report.add(RuleChildWithoutRow, children.Key, job.ID, "parent %q has no row %q for it", flowID, job.Parent.ChildKey)
		case job.State.Terminal() && row.Status == driver.ChildPending && !c.outbox[children.Key][job.ID]:
			c.report.add(RuleReported, children.Key, job.ID, "it is %v; its row %q of parent %q is pending", job.State, row.ChildKey, flowID)
		}
	}
	return nil
}

// sameRun reports whether a child and a row of its parent are of the same run: a
// child's id tells it.
func sameRun(child *driver.Envelope, row *driver.Child) bool {
	return flow.ChildID(child.ParentStoreKey, child.FlowID, child.Run, row.ChildKey) == row.ChildJobID
}

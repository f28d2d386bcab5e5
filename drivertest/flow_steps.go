package drivertest

import "github.com/braidmq/braid/driver"

// The steps that flow cases are made of.

// flowStore is the name of the store that children of the cases live in, and of
// their parents' store.
const flowStore = "main"

// childJobID is the id of a flow child's job, told apart by the parent's run.
func childJobID(flowID, run, key string) string {
	return driver.FlowIDPrefix + flowID + "/" + run + "/" + key
}

// staged returns a child of a run, as the run would stage it.
func staged(r run, key string, edits ...edit) driver.StagedChild {
	return stagedUnder(r.ID, r.token, key, edits...)
}

func stagedUnder(flowID, token, key string, edits ...edit) driver.StagedChild {
	req := request(childJobID(flowID, token, key), child(driver.Envelope{
		FlowName: "digest", FlowID: flowID, Run: token, ChildKey: key, ParentStoreKey: flowStore, Depth: 1,
	}))
	for _, e := range edits {
		e(&req)
	}
	return driver.StagedChild{ChildKey: key, StoreKey: flowStore, Request: req}
}

// stage stages plain children of a run, as one page.
func (t *T) stage(r run, keys ...string) {
	t.Helper()
	page := make([]driver.StagedChild, len(keys))
	for i, key := range keys {
		page[i] = staged(r, key)
	}
	t.must("StageChildren", t.Store.StageChildren(t.ctx, r.ID, r.token, page))
}

// fanOut acks the first phase of a run, which must leave the parent in that state.
func (t *T) fanOut(now driver.Time, r run, failFast bool, children int, state driver.State) {
	t.Helper()
	a := r.ack(driver.AckFanOut)
	a.FailFast, a.Children = failFast, int64(children)
	t.settle(now, a, state)
}

// park starts a parent and fans it out into plain children. It returns the run
// that fanned out.
func (t *T) park(now driver.Time, parent driver.EnqueueRequest, failFast bool, keys ...string) run {
	t.Helper()
	r := t.start(now, parent)
	for page := keys; len(page) > 0; {
		n := min(len(page), driver.ChunkJobs)
		t.stage(r, page[:n]...)
		page = page[n:]
	}
	t.fanOut(now, r, failFast, len(keys), driver.WaitingChildren)
	return r
}

// report returns the report of a child of a run.
func report(r run, key string, outcome driver.ChildStatus) driver.ChildReport {
	return driver.ChildReport{FlowID: r.ID, ChildKey: key, Outcome: outcome, ChildJobID: childJobID(r.ID, r.token, key)}
}

// record sends one batch of reports.
func (t *T) record(now driver.Time, reports ...driver.ChildReport) []driver.RecordResult {
	t.Helper()
	results, err := t.Store.RecordChildResults(t.ctx, now, reports)
	if err != nil {
		t.Fatalf("RecordChildResults of %d: %v", len(reports), err)
	}
	if len(results) != len(reports) {
		t.Fatalf("RecordChildResults answered %d results for %d reports", len(results), len(reports))
	}
	return results
}

// Answers to a report.
var (
	notApplied = driver.RecordResult{}
	applied    = driver.RecordResult{Applied: true}
	settled    = driver.RecordResult{Applied: true, ParentSettled: true}
)

// recorded sends one batch of reports and compares the answers.
func (t *T) recorded(now driver.Time, reports []driver.ChildReport, want ...driver.RecordResult) {
	t.Helper()
	t.equal("RecordChildResults", t.record(now, reports...), want)
}

// applies sends one report and compares the answer.
func (t *T) applies(now driver.Time, r driver.ChildReport, want driver.RecordResult) {
	t.Helper()
	t.recorded(now, []driver.ChildReport{r}, want)
}

// manifest fails unless a job has that manifest.
func (t *T) manifest(id string, want driver.Manifest) {
	t.Helper()
	t.equal("the manifest of "+id, t.job(id).Flow, &want)
}

// rows returns the dependency rows of a flow, of every page.
func (t *T) rows(flowID string) []driver.Child { t.Helper(); return t.rowPages(flowID, 0) }

// rowPages reads the dependency rows of a flow in pages of limit.
func (t *T) rowPages(flowID string, limit int) []driver.Child {
	t.Helper()
	var rows []driver.Child
	cursor := ""
	for range 20_000 {
		page, err := t.Store.ListChildResults(t.ctx, flowID, cursor, limit)
		if err != nil {
			t.Fatalf("ListChildResults(%q, %q, %d): %v", flowID, cursor, limit, err)
		}
		if limit > 0 && len(page.Children) > limit {
			t.Fatalf("ListChildResults returned %d rows; the limit was %d", len(page.Children), limit)
		}
		rows = append(rows, page.Children...)
		if page.Cursor == "" {
			return rows
		}
		cursor = page.Cursor
	}
	t.Fatalf("the pages of ListChildResults(%q) do not end", flowID)
	return nil
}

// children returns some rows of a flow by their keys.
func (t *T) children(flowID string, keys ...string) []*driver.Child {
	t.Helper()
	rows, err := t.Store.Children(t.ctx, flowID, keys)
	if err != nil {
		t.Fatalf("Children(%q, %q): %v", flowID, keys, err)
	}
	if len(rows) != len(keys) {
		t.Fatalf("Children answered %d rows for %d keys", len(rows), len(keys))
	}
	return rows
}

// row returns the row that a run's plain child has, edited.
func row(r run, key string, edit func(c *driver.Child)) driver.Child {
	c := driver.Child{
		FlowID: r.ID, ChildKey: key, Name: someName, StoreKey: flowStore,
		ChildJobID: childJobID(r.ID, r.token, key), Status: driver.ChildPending,
	}
	if edit != nil {
		edit(&c)
	}
	return c
}

// ended describes a row that a report settled.
func endedRow(status driver.ChildStatus) func(c *driver.Child) {
	return func(c *driver.Child) { c.Status, c.Cascaded = status, true }
}

// owed describes a row that was cancelled by an early settle and is not cascaded.
func owed(c *driver.Child) { c.Status, c.Cascaded = driver.ChildCancelled, false }

// sweepAge is how long the cases let rows be pending before they are reconciled.
const sweepAge = driver.Millis(1000)

// flowWork asks for what a flow sweep has to do.
func (t *T) flowWork(now driver.Time, limit int) driver.FlowWork {
	t.Helper()
	work, err := t.Store.FlowSweepWork(t.ctx, now, sweepAge, limit)
	if err != nil {
		t.Fatalf("FlowSweepWork: %v", err)
	}
	if len(work.Reconcile) > limit || len(work.Cascade) > limit {
		t.Fatalf("FlowSweepWork returned %d rows to reconcile and %d to cascade; the limit of each was %d",
			len(work.Reconcile), len(work.Cascade), limit)
	}
	return work
}

// refs names rows as "flow/key".
func refs(rows []driver.Child) []string {
	names := make([]string, len(rows))
	for i, c := range rows {
		names[i] = c.FlowID + "/" + c.ChildKey
	}
	return names
}

// cascaded marks children of a flow as cascaded.
func (t *T) cascaded(now driver.Time, flowID string, keys ...string) {
	t.Helper()
	marks := make([]driver.ChildRef, len(keys))
	for i, key := range keys {
		marks[i] = driver.ChildRef{FlowID: flowID, ChildKey: key}
	}
	t.must("MarkChildrenCascaded", t.Store.MarkChildrenCascaded(t.ctx, now, marks))
}

// sweepFlows sweeps in pages of limit until nothing is left.
func (t *T) sweepFlows(now driver.Time, limit int) {
	t.Helper()
	for range 10_000 {
		result, err := t.Store.SweepFlows(t.ctx, now, limit)
		if err != nil {
			t.Fatalf("SweepFlows: %v", err)
		}
		if result.Deleted > limit {
			t.Fatalf("SweepFlows deleted %d rows; the limit was %d", result.Deleted, limit)
		}
		if !result.More {
			return
		}
	}
	t.Fatalf("SweepFlows always says that there is more")
}

// outbox returns the whole outbox.
func (t *T) outbox() []driver.OutboxEntry {
	t.Helper()
	return t.peek(0, driver.PeekRequest{Limit: 1000})
}

// peek returns a page of the outbox.
func (t *T) peek(now driver.Time, req driver.PeekRequest) []driver.OutboxEntry {
	t.Helper()
	entries, err := t.Store.PeekOutbox(t.ctx, now, req)
	if err != nil {
		t.Fatalf("PeekOutbox(%+v): %v", req, err)
	}
	if len(entries) > req.Limit {
		t.Fatalf("PeekOutbox returned %d entries; the limit was %d", len(entries), req.Limit)
	}
	return entries
}

// reportedIDs returns the children's job ids of outbox entries.
func reportedIDs(entries []driver.OutboxEntry) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Report.ChildJobID
	}
	return ids
}

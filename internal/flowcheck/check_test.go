package flowcheck_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flow"
	"github.com/braidmq/braid/internal/flowcheck"
	"github.com/braidmq/braid/memstore"
)

const now driver.Time = 1000

// fixture is a store with flow "p" of the children "done" (reported) and "open"
// (waiting), a plain job, and flow "q", whose only child has ended and not reported.
func fixture(t *testing.T) *memstore.Store {
	t.Helper()
	s := memstore.New()
	t.Cleanup(func() { _ = s.Close() })
	fanOut(t, s, "p", "done", "open")
	fanOut(t, s, "q", "ended")
	must(s.Enqueue(t.Context(), now, []driver.EnqueueRequest{request("plain", nil)}))(t)
	finish(t, s, "p", "done")
	finish(t, s, "q", "ended")
	entries := must(s.PeekOutbox(t.Context(), now, driver.PeekRequest{Limit: 1}))(t)
	must(s.RecordChildResults(t.Context(), now, []driver.ChildReport{entries[0].Report}))(t)
	if err := s.DeleteOutbox(t.Context(), []string{entries[0].ID}); err != nil {
		t.Fatal(err)
	}
	return s
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func request(id string, parent *driver.Envelope) driver.EnqueueRequest {
	return driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: "n", Queue: "queue of " + id, AttemptsMax: 1, Parent: parent}}
}

func claim(t *testing.T, s driver.Store, id, token string) {
	t.Helper()
	got := must(s.Claim(t.Context(), now, driver.ClaimRequest{
		Queue: "queue of " + id, Names: []string{"n"}, Worker: "w", Token: token, Limit: 1, LockDuration: 1000,
	}))(t)
	if len(got.Jobs) != 1 || got.Jobs[0].ID != id {
		t.Fatalf("claimed %v, want %q", got.Jobs, id)
	}
}

func childID(parent, key string) string { return flow.ChildID("s", parent, "run of "+parent, key) }

func fanOut(t *testing.T, s driver.Store, parent string, keys ...string) {
	t.Helper()
	must(s.Enqueue(t.Context(), now, []driver.EnqueueRequest{request(parent, nil)}))(t)
	token := "run of " + parent
	claim(t, s, parent, token)
	var children []driver.StagedChild
	var requests []driver.EnqueueRequest
	for _, key := range keys {
		req := request(childID(parent, key), &driver.Envelope{
			FlowName: "f", FlowID: parent, Run: token, ChildKey: key, ParentStoreKey: "s", Depth: 1,
		})
		children = append(children, driver.StagedChild{ChildKey: key, StoreKey: "s", Request: req})
		requests = append(requests, req)
	}
	if err := s.StageChildren(t.Context(), parent, token, children); err != nil {
		t.Fatal(err)
	}
	acked := must(s.Ack(t.Context(), now, []driver.Ack{{ID: parent, Token: token, Kind: driver.AckFanOut, Children: int64(len(keys))}}))(t)
	if acked[0].Err != nil {
		t.Fatal(acked[0].Err)
	}
	must(s.Enqueue(t.Context(), now, requests))(t)
}

func finish(t *testing.T, s driver.Store, parent, key string) {
	t.Helper()
	id := childID(parent, key)
	claim(t, s, id, "token of "+id)
	acked := must(s.Ack(t.Context(), now, []driver.Ack{{ID: id, Token: "token of " + id, Kind: driver.AckComplete, Exit: []byte("1")}}))(t)
	if acked[0].Err != nil {
		t.Fatal(acked[0].Err)
	}
}

func check(t *testing.T, stores map[string]driver.Store) flowcheck.Report {
	t.Helper()
	known := flow.Stores{}
	for key, s := range stores {
		known[key] = flow.Store{Key: key, Driver: s, Now: func() driver.Time { return now }}
	}
	return must(flowcheck.Check(t.Context(), known))(t)
}

func TestASoundStoreIsClean(t *testing.T) {
	report := check(t, map[string]driver.Store{"s": fixture(t)})
	if !report.Clean() || report.Idle() {
		t.Errorf("%v", &report)
	}
	want := flowcheck.Report{Jobs: 6, Flows: 2, Children: 3, Pending: 2, Outbox: 1}
	if report.Problems = nil; report.Jobs != want.Jobs || report.Flows != want.Flows || report.Children != want.Children ||
		report.Pending != want.Pending || report.Owed != want.Owed || report.Outbox != want.Outbox {
		t.Errorf("got %v\nwant %v", &report, &want)
	}
}

// liar changes what a store tells.
type liar struct {
	driver.Store
	job      func(*driver.Job) *driver.Job
	children func([]driver.Child) []driver.Child
	counts   func(*driver.Counts)
	outbox   func([]driver.OutboxEntry) []driver.OutboxEntry
	backlog  int64
	queues   func([]string) []string
}

func (l *liar) change(jobs []*driver.Job) []*driver.Job {
	changed := slices.Clone(jobs)
	for i, job := range changed {
		if job != nil && l.job != nil {
			clone := *job
			changed[i] = l.job(&clone)
		}
	}
	return changed
}

func (l *liar) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	jobs, err := l.Store.Jobs(ctx, ids)
	return l.change(jobs), err
}

func (l *liar) List(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
	page, err := l.Store.List(ctx, req)
	page.Jobs = slices.DeleteFunc(l.change(page.Jobs), func(job *driver.Job) bool { return job == nil })
	return page, err
}

func (l *liar) ListChildResults(ctx context.Context, id, cursor string, limit int) (driver.ChildPage, error) {
	page, err := l.Store.ListChildResults(ctx, id, cursor, limit)
	if l.children != nil {
		page.Children = l.children(slices.Clone(page.Children))
	}
	return page, err
}

func (l *liar) Children(ctx context.Context, id string, keys []string) ([]*driver.Child, error) {
	rows, err := l.Store.Children(ctx, id, keys)
	for i, row := range rows {
		if row != nil && l.children != nil {
			if changed := l.children([]driver.Child{*row}); len(changed) == 0 {
				rows[i] = nil
			} else {
				rows[i] = &changed[0]
			}
		}
	}
	return rows, err
}

func (l *liar) Counts(ctx context.Context, queue string) (driver.Counts, error) {
	counts, err := l.Store.Counts(ctx, queue)
	if l.counts != nil {
		l.counts(&counts)
	}
	return counts, err
}

func (l *liar) Queues(ctx context.Context) ([]string, error) {
	queues, err := l.Store.Queues(ctx)
	if l.queues != nil {
		queues = l.queues(queues)
	}
	return queues, err
}

func (l *liar) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	entries, err := l.Store.PeekOutbox(ctx, now, req)
	if l.outbox != nil {
		entries = l.outbox(entries)
	}
	return entries, err
}

func (l *liar) OutboxBacklog(ctx context.Context) (driver.OutboxBacklog, error) {
	backlog, err := l.Store.OutboxBacklog(ctx)
	backlog.Entries += l.backlog
	return backlog, err
}

func TestEveryRuleIsHeld(t *testing.T) {
	// change returns a lie about the rows of one key.
	change := func(key string, lie func(*driver.Child)) func([]driver.Child) []driver.Child {
		return func(rows []driver.Child) []driver.Child {
			for i := range rows {
				if rows[i].ChildKey == key {
					lie(&rows[i])
				}
			}
			return rows
		}
	}
	for rule, lie := range map[string]liar{
		flowcheck.RuleCounts:  {counts: func(c *driver.Counts) { c.Completed++ }},
		flowcheck.RuleQueues:  {queues: func(queues []string) []string { return queues[1:] }},
		flowcheck.RuleBacklog: {backlog: 1},
		flowcheck.RuleManifest: {job: func(job *driver.Job) *driver.Job {
			if job.Flow != nil {
				job.Flow = &driver.Manifest{Pending: job.Flow.Pending, Completed: job.Flow.Completed + 1}
			}
			return job
		}},
		flowcheck.RuleParked: {job: func(job *driver.Job) *driver.Job {
			if job.ID == "p" {
				job.State = driver.Waiting
			}
			return job
		}},
		flowcheck.RuleCascaded: {children: change("done", func(row *driver.Child) { row.Cascaded = false })},
		flowcheck.RuleResult:   {children: change("done", func(row *driver.Child) { row.Exit = []byte("2") })},
		flowcheck.RuleStore:    {children: change("open", func(row *driver.Child) { row.StoreKey = "elsewhere" })},
		flowcheck.RuleRowWithoutFlow: {job: func(job *driver.Job) *driver.Job {
			job.Flow = nil
			return job
		}},
		flowcheck.RuleWaits: {job: func(job *driver.Job) *driver.Job {
			if job.ID == childID("p", "open") {
				return nil
			}
			return job
		}},
		flowcheck.RuleReported: {backlog: -1, outbox: func([]driver.OutboxEntry) []driver.OutboxEntry { return nil }},
		flowcheck.RuleChildWithoutRow: {children: func(rows []driver.Child) []driver.Child {
			return slices.DeleteFunc(rows, func(row driver.Child) bool { return row.ChildKey == "open" })
		}},
	} {
		lie.Store = fixture(t)
		report := check(t, map[string]driver.Store{"s": &lie})
		if !slices.ContainsFunc(report.Problems, func(p flowcheck.Problem) bool { return p.Rule == rule }) {
			t.Errorf("%s: a store that breaks it is found to be %v", rule, &report)
		}
	}
}

func TestAReportNamesRuleStoreAndJob(t *testing.T) {
	lie := liar{Store: fixture(t), job: func(job *driver.Job) *driver.Job {
		if job.ID == "p" {
			job.State = driver.Completed
		}
		return job
	}}
	report := check(t, map[string]driver.Store{"s": &lie})
	for _, part := range []string{flowcheck.RuleParked, "store s", `job "p"`, "completed, with 1 pending"} {
		if !strings.Contains(report.String(), part) {
			t.Errorf("%q is not in %v", part, &report)
		}
	}
}

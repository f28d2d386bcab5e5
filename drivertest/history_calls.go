package drivertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/braidmq/braid/driver"
)

// The calls that a history is made of. Each is literal, so that a history can be
// written down, replayed and cut.

// historyCall is one call of the seam, or a few that belong together.
type historyCall interface {
	on(s *side, now driver.Time) answer
}

// answer is what a call came back with, as text.
type answer struct {
	text  string
	next  driver.Opt[driver.Time] // of a claim: NextRunAt, which may be earlier than true
	claim bool
}

// texts makes an answer of values and, last, an error.
func texts(values ...any) answer {
	parts := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case error:
			parts[i] = errorText(v)
		case nil:
			parts[i] = "ok"
		default:
			parts[i] = render(v)
		}
	}
	return answer{text: strings.Join(parts, " ")}
}

type enqueueCall struct {
	Tag   int // names the assigned ids: #tag.position
	Batch []driver.EnqueueRequest
}

func (c enqueueCall) on(s *side, now driver.Time) answer {
	results, err := s.store.Enqueue(s.ctx, now, c.Batch)
	s.assigned = nil
	for i, r := range results {
		if c.Batch[i].ID == "" && !r.Duplicate {
			name := fmt.Sprintf("#%d.%d", c.Tag, i)
			s.ids[name], s.names[r.ID] = r.ID, name
			s.assigned = append(s.assigned, name)
		}
	}
	answers := slices.Clone(results)
	for i := range answers {
		answers[i].ID = s.name(answers[i].ID)
	}
	return texts(answers, err)
}

type cancelByDedupeCall struct{ Name, Key string }

func (c cancelByDedupeCall) on(s *side, now driver.Time) answer {
	done, err := s.store.CancelByDedupe(s.ctx, now, c.Name, c.Key)
	return texts(done, err)
}

type claimCall struct{ driver.ClaimRequest }

func (c claimCall) on(s *side, now driver.Time) answer {
	result, err := s.store.Claim(s.ctx, now, c.ClaimRequest)
	s.claimed = nil
	for _, j := range result.Jobs {
		s.claimed = append(s.claimed, s.name(j.ID))
	}
	jobs := s.jobs(result.Jobs)
	if c.Resume {
		slices.Sort(jobs) // what was resumed comes back in any order
	}
	a := texts(jobs, err)
	a.claim, a.next = err == nil && len(jobs) < c.Limit, result.NextRunAt
	return a
}

type ackCall struct{ Batch []driver.Ack }

func (c ackCall) on(s *side, now driver.Time) answer {
	batch := slices.Clone(c.Batch)
	for i := range batch {
		batch[i].ID = s.id(batch[i].ID)
	}
	results, err := s.store.Ack(s.ctx, now, batch)
	s.acked = results
	return texts(results, err)
}

type stageCall struct {
	ID, Token string
	Page      []driver.StagedChild
}

func (c stageCall) on(s *side, _ driver.Time) answer {
	return texts(s.store.StageChildren(s.ctx, s.id(c.ID), c.Token, c.Page))
}

type heartbeatCall struct {
	Locks    []driver.Lock
	Duration driver.Millis
}

func (c heartbeatCall) on(s *side, now driver.Time) answer {
	locks := slices.Clone(c.Locks)
	for i := range locks {
		locks[i].ID = s.id(locks[i].ID)
	}
	result, err := s.store.Heartbeat(s.ctx, now, locks, c.Duration)
	sorted := func(ids []string) []string {
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = s.name(id)
		}
		slices.Sort(names)
		return names
	}
	return texts(sorted(result.Lost), sorted(result.CancelRequested), err)
}

type recoverCall struct{ driver.RecoverRequest }

func (c recoverCall) on(s *side, now driver.Time) answer {
	var all []driver.Recovered
	for range 1000 {
		result, err := s.store.RecoverStalled(s.ctx, now, c.RecoverRequest)
		if err != nil {
			return texts(err)
		}
		for _, r := range result.Jobs {
			r.ID = s.name(r.ID)
			all = append(all, r)
		}
		if !result.More {
			return texts(all, nil)
		}
	}
	return texts(fmt.Errorf("RecoverStalled always says that there is more"))
}

type operateCall struct {
	Op  string // cancel, promote or retry
	IDs []string
}

func (c operateCall) on(s *side, now driver.Time) answer {
	op := map[string]operation{"cancel": s.store.Cancel, "promote": s.store.Promote, "retry": s.store.Retry}[c.Op]
	results, err := op(s.ctx, now, s.idsOf(c.IDs))
	return texts(results, err)
}

type removeCall struct{ IDs []string }

func (c removeCall) on(s *side, now driver.Time) answer {
	removed, err := s.store.Remove(s.ctx, now, s.idsOf(c.IDs))
	return texts(removed, err)
}

type pauseCall struct {
	Queue  string
	Resume bool
}

func (c pauseCall) on(s *side, _ driver.Time) answer {
	if c.Resume {
		return texts(s.store.Resume(s.ctx, c.Queue))
	}
	return texts(s.store.Pause(s.ctx, c.Queue))
}

type listCall struct{ driver.ListRequest }

func (c listCall) on(s *side, _ driver.Time) answer {
	jobs, err := s.listAll(c.ListRequest)
	return texts(s.jobs(jobs), err)
}

type lookCall struct {
	Queue string
	IDs   []string
}

func (c lookCall) on(s *side, _ driver.Time) answer {
	counts, err := s.store.Counts(s.ctx, c.Queue)
	if err != nil {
		return texts(err)
	}
	ids := s.idsOf(c.IDs)
	jobs, err := s.store.Jobs(s.ctx, ids)
	if err != nil {
		return texts(err)
	}
	values := []any{counts, s.jobs(jobs)}
	for _, id := range ids {
		ledger, err := s.store.Attempts(s.ctx, id)
		values = append(values, ledger, err)
		position, err := s.store.Position(s.ctx, id)
		values = append(values, position, err)
	}
	return texts(values...)
}

type reportCall struct{ Reports []driver.ChildReport }

func (c reportCall) on(s *side, now driver.Time) answer {
	results, err := s.store.RecordChildResults(s.ctx, now, c.Reports)
	return texts(results, err)
}

// relayCall does what a relay does: peek, record in the parents' store, which is
// this one, delete. A relay may crash before it deletes.
type relayCall struct {
	driver.PeekRequest
	Behind  int // pages on behind the entry that was seen as this, from 1
	Record  bool
	Deletes bool
}

func (c relayCall) on(s *side, now driver.Time) answer {
	req := c.PeekRequest
	if c.Behind > 0 && c.Behind <= len(s.entries) {
		req.After = s.entries[c.Behind-1]
	}
	entries, err := s.store.PeekOutbox(s.ctx, now, req)
	if err != nil {
		return texts(err)
	}
	texted := make([]string, len(entries))
	ids := make([]string, len(entries))
	reports := make([]driver.ChildReport, len(entries))
	for i, e := range entries {
		texted[i], ids[i], reports[i] = s.entry(e), e.ID, e.Report
	}
	values := []any{texted}
	if c.Record {
		results, err := s.store.RecordChildResults(s.ctx, now, reports)
		values = append(values, results, err)
	}
	if c.Deletes {
		values = append(values, s.store.DeleteOutbox(s.ctx, ids))
	}
	return texts(values...)
}

type flowWorkCall struct {
	Mark int // marks so many of the rows to cascade
}

// flowWorkLimit is more than the rows that a history makes: in which turn flows
// come is each store's own affair.
const flowWorkLimit = 10_000

func (c flowWorkCall) on(s *side, now driver.Time) answer {
	work, err := s.store.FlowSweepWork(s.ctx, now, sweepAge, flowWorkLimit)
	if err != nil {
		return texts(err)
	}
	reconcile, cascade := inOrder(work.Reconcile), inOrder(work.Cascade)
	var marks []driver.ChildRef
	for _, row := range cascade[:min(c.Mark, len(cascade))] {
		marks = append(marks, driver.ChildRef{FlowID: row.FlowID, ChildKey: row.ChildKey})
	}
	return texts(reconcile, cascade, s.store.MarkChildrenCascaded(s.ctx, now, marks))
}

func inOrder(rows []driver.Child) []driver.Child {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b driver.Child) int {
		return cmp.Or(cmp.Compare(a.FlowID, b.FlowID), cmp.Compare(a.ChildKey, b.ChildKey))
	})
}

type markCall struct{ Refs []driver.ChildRef }

func (c markCall) on(s *side, now driver.Time) answer {
	return texts(s.store.MarkChildrenCascaded(s.ctx, now, c.Refs))
}

type childrenCall struct {
	FlowID string
	Keys   []string
	Limit  int
}

func (c childrenCall) on(s *side, _ driver.Time) answer {
	some, err := s.store.Children(s.ctx, s.id(c.FlowID), c.Keys)
	if err != nil {
		return texts(err)
	}
	all, err := s.rows(c.FlowID, c.Limit)
	return texts(some, all, err)
}

// workersCall lets a worker beat, or forgets it, and looks who is alive.
type workersCall struct {
	ID     string
	Lives  driver.Millis
	Forget bool
	Page   int
}

func (c workersCall) on(s *side, now driver.Time) answer {
	err := s.store.ForgetWorker(s.ctx, c.ID)
	if !c.Forget {
		err = s.store.BeatWorker(s.ctx, now, driver.WorkerRecord{
			ID: c.ID, Names: historyNames, Since: now, ExpiresAt: now.Add(c.Lives),
			Queues: []driver.WorkerQueue{{Name: "q1", Slots: c.Page, InFlight: 1}}})
	}
	values := []any{err}
	for after, more := "", true; more; {
		page, err := s.store.Workers(s.ctx, now, after, c.Page)
		if err != nil {
			return texts(err)
		}
		values = append(values, page)
		if more = page.More; more {
			after = page.Workers[len(page.Workers)-1].ID
		}
	}
	return texts(append(values, nil)...)
}

// sweptStats is how old the stats are that a history sweeps: it is over too soon to
// wait for a day.
const sweptStats driver.Millis = 20_000

type sweepCall struct {
	Kind  string // history, dedupe, flows or stats
	Limit int
}

func (c sweepCall) on(s *side, now driver.Time) answer {
	sweep := map[string]func() (driver.SweepResult, error){
		"history": func() (driver.SweepResult, error) { return s.store.SweepHistory(s.ctx, now, c.Limit) },
		"dedupe":  func() (driver.SweepResult, error) { return s.store.SweepDedupe(s.ctx, now, c.Limit) },
		"flows":   func() (driver.SweepResult, error) { return s.store.SweepFlows(s.ctx, now, c.Limit) },
		"stats": func() (driver.SweepResult, error) {
			if err := s.store.SampleDepth(s.ctx, now); err != nil {
				return driver.SweepResult{}, err
			}
			return s.store.SweepStats(s.ctx, now.Add(driver.StatsKept-sweptStats), c.Limit)
		},
	}[c.Kind]
	deleted := 0
	for range 1000 {
		result, err := sweep()
		if err != nil {
			return texts(err)
		}
		deleted += result.Deleted
		if !result.More {
			if c.Kind == "dedupe" || c.Kind == "flows" {
				deleted = 0 // when they delete what nobody sees is each store's own affair
			}
			return texts(deleted, nil)
		}
	}
	return texts(fmt.Errorf("the %s sweep always says that there is more", c.Kind))
}

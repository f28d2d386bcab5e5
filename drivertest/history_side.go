package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/braidmq/braid/driver"
)

// side is one of the two stores that a history runs on. What may differ between
// them is translated on the way in and out: ids that the store assigned, and
// outbox ids. What may differ and means nothing is left out: seq values.
type side struct {
	ctx     context.Context
	store   driver.Store
	ids     map[string]string // the name of an assigned id in the history → the id
	names   map[string]string // and back
	entries []string          // outbox ids, in the order in which they were first seen

	// What the latest call found, for the generator.
	claimed  []string
	assigned []string
	acked    []driver.AckResult
}

func newSide(ctx context.Context, s driver.Store) *side {
	return &side{ctx: ctx, store: s, ids: make(map[string]string), names: make(map[string]string)}
}

// id returns the store's id for a name in the history.
func (s *side) id(name string) string {
	if id, ok := s.ids[name]; ok {
		return id
	}
	return name
}

// name returns the history's name for an id of the store.
func (s *side) name(id string) string {
	if name, ok := s.names[id]; ok {
		return name
	}
	return id
}

func (s *side) idsOf(names []string) []string {
	ids := make([]string, len(names))
	for i, n := range names {
		ids[i] = s.id(n)
	}
	return ids
}

// job writes a record without its seq.
func (s *side) job(j *driver.Job) string {
	if j == nil {
		return "none"
	}
	c := *j
	c.ID, c.Seq = s.name(c.ID), 0
	return render(c)
}

func (s *side) jobs(jobs []*driver.Job) []string {
	texts := make([]string, len(jobs))
	for i, j := range jobs {
		texts[i] = s.job(j)
	}
	return texts
}

// entry writes an outbox entry without its id, and remembers that.
func (s *side) entry(e driver.OutboxEntry) string {
	if !slices.Contains(s.entries, e.ID) {
		s.entries = append(s.entries, e.ID)
	}
	e.ID = ""
	e.Report.ChildJobID = s.name(e.Report.ChildJobID)
	return render(e)
}

// listAll reads every page of a list.
func (s *side) listAll(req driver.ListRequest) ([]*driver.Job, error) {
	var jobs []*driver.Job
	for range 2000 {
		page, err := s.store.List(s.ctx, req)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, page.Jobs...)
		if page.Cursor == "" {
			return jobs, nil
		}
		req.Cursor = page.Cursor
	}
	return nil, fmt.Errorf("the pages of List(%s) do not end", render(req))
}

// rows reads every page of a flow's rows.
func (s *side) rows(flowID string, limit int) ([]driver.Child, error) {
	var rows []driver.Child
	cursor := ""
	for range 2000 {
		page, err := s.store.ListChildResults(s.ctx, s.id(flowID), cursor, limit)
		if err != nil {
			return nil, err
		}
		rows = append(rows, page.Children...)
		if page.Cursor == "" {
			return rows, nil
		}
		cursor = page.Cursor
	}
	return nil, fmt.Errorf("the pages of ListChildResults(%q) do not end", flowID)
}

// stats reads every page of the stats.
func (s *side) stats() ([]driver.Stat, error) {
	var stats []driver.Stat
	req := driver.StatsRequest{To: driver.Time(driver.StatsKept), Limit: 3}
	for range 2000 {
		page, err := s.store.Stats(s.ctx, req)
		if err != nil {
			return nil, err
		}
		stats = append(stats, page.Stats...)
		next, more := page.Next.Get()
		if !more {
			return stats, nil
		}
		req.From = next
	}
	return nil, fmt.Errorf("the pages of Stats do not end")
}

// dump is all that the seam shows of a store.
type dump struct {
	jobs  []*driver.Job // in order of enqueuedAt
	rows  map[string][]driver.Child
	lines []string
}

// dump reads the store, and writes it as lines that two equal stores share.
func (s *side) dump(flowIDs []string) (*dump, error) {
	d := &dump{rows: make(map[string][]driver.Child)}
	line := func(format string, args ...any) { d.lines = append(d.lines, fmt.Sprintf(format, args...)) }
	var err error
	if d.jobs, err = s.listAll(driver.ListRequest{Ascending: true, Limit: 200}); err != nil {
		return nil, err
	}
	for _, j := range d.jobs {
		line("job %s", s.job(j))
		ledger, err := s.store.Attempts(s.ctx, j.ID)
		if err != nil {
			return nil, err
		}
		for _, a := range ledger {
			line("attempt of %s: %s", s.name(j.ID), render(a))
		}
	}
	line("in order of seq: %s", strings.Join(s.bySeq(d.jobs), " "))
	for _, id := range flowIDs {
		if d.rows[id], err = s.rows(id, 0); err != nil {
			return nil, err
		}
		for _, row := range d.rows[id] {
			line("row %s", render(row))
		}
	}
	if err := s.dumpRest(line); err != nil {
		return nil, err
	}
	return d, nil
}

func (s *side) bySeq(jobs []*driver.Job) []string {
	sorted := slices.Clone(jobs)
	slices.SortFunc(sorted, func(a, b *driver.Job) int {
		return int(max(-1, min(1, a.Seq-b.Seq)))
	})
	names := make([]string, len(sorted))
	for i, j := range sorted {
		names[i] = s.name(j.ID)
	}
	return names
}

func (s *side) dumpRest(line func(format string, args ...any)) error {
	counts, err := s.store.Counts(s.ctx, "")
	if err != nil {
		return err
	}
	line("counts %s", render(counts))
	queues, err := s.store.Queues(s.ctx)
	if err != nil {
		return err
	}
	line("queues %q", queues)
	paused, err := s.store.PausedQueues(s.ctx)
	if err != nil {
		return err
	}
	line("paused %q", paused)
	schedules, err := s.store.Schedules(s.ctx, driver.ScheduleFilter{})
	if err != nil {
		return err
	}
	for _, schedule := range schedules {
		line("schedule %s", render(schedule))
	}
	entries, err := s.store.PeekOutbox(s.ctx, 0, driver.PeekRequest{Limit: 10_000})
	if err != nil {
		return err
	}
	for _, e := range entries {
		line("outbox %s", s.entry(e))
	}
	stats, err := s.stats()
	if err != nil {
		return err
	}
	for _, stat := range stats {
		line("stat %s", render(stat))
	}
	depths, err := s.store.Depths(s.ctx, 0, driver.Time(driver.StatsKept))
	if err != nil {
		return err
	}
	line("depths %s", render(depths))
	backlog, err := s.store.OutboxBacklog(s.ctx)
	line("backlog %s", render(backlog))
	return err
}

// broken says what does not hold in a store by itself, whatever its answers
// should have been.
func (s *side) broken(d *dump) []string {
	var found []string
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	listed := make(map[string]driver.Counts)
	seen := make(map[string]bool)
	for _, j := range d.jobs {
		name := s.name(j.ID)
		if seen[j.ID] {
			say("a list returned job %s twice", name)
		}
		seen[j.ID] = true
		for _, queue := range []string{"", j.Queue} {
			c := listed[queue]
			*c.Of(j.State)++
			listed[queue] = c
		}
		active := j.State == driver.Active
		if (j.LockedBy != "") != active || j.LockExpiresAt.Set != active || j.CancelRequested && !active {
			say("job %s is %v with the lock of %q until %v, cancel requested: %v", name, j.State, j.LockedBy, j.LockExpiresAt, j.CancelRequested)
		}
		if j.FinishedAt.Set != j.State.Terminal() {
			say("job %s is %v with finishedAt %v", name, j.State, j.FinishedAt)
		}
		if rows, ok := d.rows[name]; ok || j.Flow != nil {
			s.brokenFlow(j, rows, say)
		}
	}
	for queue, want := range listed {
		if got, err := s.store.Counts(s.ctx, queue); err != nil || got != want {
			say("the counts of queue %q are %s, %v; a list finds %s", queue, render(got), err, render(want))
		}
	}
	return found
}

func (s *side) brokenFlow(j *driver.Job, rows []driver.Child, say func(string, ...any)) {
	if j.Flow == nil {
		if len(rows) > 0 {
			say("job %s has %d dependency rows and no manifest", s.name(j.ID), len(rows))
		}
		return
	}
	var m driver.Manifest
	for _, row := range rows {
		switch row.Status {
		case driver.ChildPending:
			m.Pending++
		case driver.ChildCompleted:
			m.Completed++
		case driver.ChildFailed:
			m.Failed++
		case driver.ChildCancelled:
			m.Cancelled++
		}
	}
	m.FailFast = j.Flow.FailFast
	if m != *j.Flow {
		say("the manifest of %s is %s; its rows make %s", s.name(j.ID), render(*j.Flow), render(m))
	}
	if (j.Flow.Pending > 0) != (j.State == driver.WaitingChildren) {
		say("parent %s is %v with %d pending children", s.name(j.ID), j.State, j.Flow.Pending)
	}
}

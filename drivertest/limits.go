package drivertest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/braidmq/braid/driver"
)

// impossibleTexts are texts that no job, queue, name or key has: what is above the seam
// refuses them.
var impossibleTexts = []string{"a\x00", "\x00", "a\xff", "\xed\xa0\x80", strings.Repeat("x", 5000), ""}

// unknownOr fails if a lookup of what cannot be ended in another way than with nothing
// found, which is said by err or found, or with an InvalidError.
func (t *T) unknownOr(what string, found bool, err error) {
	t.Helper()
	switch {
	case errors.Is(err, driver.ErrInvalid), errors.Is(err, driver.ErrNotFound), errors.Is(err, driver.ErrLockLost):
	case err != nil:
		t.Errorf("%s: error %v; want nothing found, or an InvalidError", what, err)
	case found:
		t.Errorf("%s found something", what)
	}
}

// lookUp looks for a text in every place where one can be given.
func (t *T) lookUp(text string) {
	t.Helper()
	shown := fmt.Sprintf("%.20q", text)
	s, ctx := t.Store, t.ctx

	jobs, err := s.Jobs(ctx, []string{"a", text})
	t.unknownOr("Jobs of "+shown, err == nil && (len(jobs) != 2 || jobs[0] == nil || jobs[1] != nil), err)
	attempts, err := s.Attempts(ctx, text)
	t.unknownOr("Attempts of "+shown, len(attempts) > 0, err)
	position, err := s.Position(ctx, text)
	t.unknownOr("Position of "+shown, position.Set, err)
	for name, operate := range map[string]operation{"Cancel": s.Cancel, "Promote": s.Promote, "Retry": s.Retry} {
		results, err := operate(ctx, 100, []string{text})
		t.unknownOr(name+" of "+shown, err == nil && (len(results) != 1 || results[0].Err == nil), err)
		for _, r := range results {
			t.unknownOr(name+" of "+shown, r.Err == nil, r.Err)
		}
	}
	removed, err := s.Remove(ctx, 100, []string{text})
	t.unknownOr("Remove of "+shown, err == nil && (len(removed) != 1 || removed[0]), err)
	acks, err := s.Ack(ctx, 100, []driver.Ack{{ID: text, Token: "x", Kind: driver.AckComplete}, {ID: "a", Token: text, Kind: driver.AckComplete}})
	t.unknownOr("Ack of "+shown, err == nil && len(acks) != 2, err)
	for _, r := range acks {
		t.unknownOr("Ack of "+shown, r.Err == nil, r.Err)
	}
	beats, err := s.Heartbeat(ctx, 100, []driver.Lock{{ID: text, Token: "x"}}, 1000)
	t.unknownOr("Heartbeat of "+shown, err == nil && len(beats.Lost) != 1, err)
	if text != "" { // stands for any
		counts, err := s.Counts(ctx, text)
		t.unknownOr("Counts of "+shown, counts != driver.Counts{}, err)
		for by, req := range map[string]driver.ListRequest{
			"queue": {Queue: text}, "name": {Name: text},
			"metadata key": {Metadata: map[string]string{text: ""}}, "metadata value": {Metadata: map[string]string{"k": text}},
		} {
			if !t.served(req) {
				continue
			}
			page, err := s.List(ctx, req)
			if errors.Is(err, driver.ErrListIndexDisabled) && (by == "name" && t.Harness.NameIndexOff || by == "queue" && t.Harness.QueueIndexOff) {
				continue
			}
			t.unknownOr("List by "+by+" "+shown, len(page.Jobs) > 0, err)
		}
		for by, f := range map[string]driver.ScheduleFilter{
			"name": {JobName: text}, "queue": {Queue: text}, "group": {Group: driver.Some(text)},
		} {
			found, err := s.Schedules(ctx, f)
			t.unknownOr("Schedules by "+by+" "+shown, len(found) > 0, err)
		}
	}
	cancelled, err := s.CancelByDedupe(ctx, 100, text, "k")
	t.unknownOr("CancelByDedupe by name "+shown, cancelled, err)
	cancelled, err = s.CancelByDedupe(ctx, 100, someName, text)
	t.unknownOr("CancelByDedupe by key "+shown, cancelled, err)
	_, err = s.Schedule(ctx, text)
	t.unknownOr("Schedule of "+shown, err == nil, err)
	advanced, err := s.Advance(ctx, text, 1000, 2000)
	t.unknownOr("Advance of "+shown, advanced, err)
	gone, err := s.RemoveSchedule(ctx, text)
	t.unknownOr("RemoveSchedule of "+shown, gone, err)
	children, err := s.Children(ctx, text, []string{text})
	t.unknownOr("Children of "+shown, err == nil && (len(children) != 1 || children[0] != nil), err)
	page, err := s.ListChildResults(ctx, text, "", 10)
	t.unknownOr("ListChildResults of "+shown, len(page.Children) > 0, err)
}

// manyPairs returns n entries of metadata.
func manyPairs(n int) map[string]string {
	pairs := make(map[string]string, n)
	for i := range n {
		pairs[fmt.Sprint("k", i)] = "v"
	}
	return pairs
}

func init() {
	register("Limits/LookupsOfWhatCannotBe",
		"A text that nothing can be called is unknown or an InvalidError, wherever it is looked up, and changes nothing.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k"), metadata("k", "v")))
			t.upsert(schedule("nightly"))
			before := t.snapshot("a")
			for _, text := range impossibleTexts {
				t.lookUp(text)
			}
			t.unchanged(before)
			t.equal("schedules", t.keysOf(driver.ScheduleFilter{}), []string{"nightly"})
		})

	register("Limits/CursorsOfWhatCannotBe",
		"A cursor that holds an id that cannot be is an InvalidError.",
		func(t *T) {
			t.insert(0, request("a"))
			for _, text := range impossibleTexts {
				cursor := driver.ListPosition{Time: 1000, ID: text}.Cursor()
				_, err := t.Store.List(t.ctx, driver.ListRequest{Cursor: cursor})
				t.failsWith(fmt.Sprintf("List behind %.20q", text), err, driver.ErrInvalid)
			}
		})

	register("Limits/AJobIsKeptOrRefused",
		"A job beyond the limits is kept exactly, or refused with an InvalidError; nothing of it is altered.",
		func(t *T) {
			long := func(n int) string { return strings.Repeat("n", n) }
			for what, beyond := range map[string]edit{
				"a name of 256 bytes":           named(long(256)),
				"a name of 300 bytes":           named(long(300)),
				"a queue of 257 bytes":          inQueue(long(257)),
				"a dedup key of 256 bytes":      dedupe(long(256)),
				"a metadata key of 257 bytes":   metadata(long(257), "v"),
				"a metadata value of 70,000":    metadata("k", long(70_000)),
				"65,536 entries of metadata":    func(r *driver.EnqueueRequest) { r.Metadata = manyPairs(1 << 16) },
				"65,537 entries of metadata":    func(r *driver.EnqueueRequest) { r.Metadata = manyPairs(1<<16 + 1) },
				"a parent's id of 70,000 bytes": child(driver.Envelope{FlowName: "f", FlowID: long(70_000), Run: "r", ChildKey: "c", ParentStoreKey: "s", Depth: 1}),
			} {
				r := request("a", beyond)
				_, err := t.Store.Enqueue(t.ctx, 0, []driver.EnqueueRequest{r})
				if err != nil {
					t.failsWith(what, err, driver.ErrInvalid)
					t.equal("jobs after the refusal of "+what, t.counts(""), driver.Counts{})
					continue
				}
				if j := t.job("a"); r.Dedupe != nil && j.DedupeKey != r.Dedupe.Key || !same(j.Spec, r.Spec) {
					t.Errorf("a job with %s was altered", what)
				}
				t.equal("removal", t.remove(0, "a"), []bool{true})
			}
		})

	register("Limits/AScheduleIsKeptOrRefused",
		"A schedule beyond the limits is kept exactly, or refused with an InvalidError, and others stay readable and due.",
		func(t *T) {
			t.upsert(schedule("sound"))
			text := strings.Repeat("0,", 35_000)
			for what, beyond := range map[string]func(s *driver.Schedule){
				"a cron of 70,000 bytes":     func(s *driver.Schedule) { s.Cron, s.Every = text, 0 },
				"a zone of 70,000 bytes":     func(s *driver.Schedule) { s.Cron, s.TZ, s.Every = "@daily", text, 0 },
				"a group of 70,000 bytes":    func(s *driver.Schedule) { s.Group = text },
				"a name of 70,000 bytes":     func(s *driver.Schedule) { s.JobName = text },
				"65,536 entries of metadata": func(s *driver.Schedule) { s.Metadata = manyPairs(1 << 16) },
			} {
				s := schedule("odd")
				beyond(&s)
				stored, err := t.Store.UpsertSchedule(t.ctx, s)
				want := []string{"sound"}
				switch {
				case err != nil:
					t.failsWith(what, err, driver.ErrInvalid)
				case !same(stored, s) || !same(t.schedule("odd"), s):
					t.Errorf("a schedule with %s was altered", what)
				}
				if err == nil {
					want = []string{"odd", "sound"}
				}
				t.equal("schedules beside "+what, t.keysOf(driver.ScheduleFilter{}), want)
				due, err := t.Store.DueSchedules(t.ctx, 1000, driver.Opt[driver.ScheduleCursor]{}, 10)
				t.must("DueSchedules", err)
				t.equal("due beside "+what, keysIn(due), want)
				_, err = t.Store.RemoveSchedule(t.ctx, "odd")
				t.must("RemoveSchedule", err)
			}
		})
}

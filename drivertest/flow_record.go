package drivertest

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

// Recording the reports of children, and how the last one settles a parent.

func init() {
	register("Flow/ReportsMoveCountersAndRows",
		"An applied report moves one from pending to its bucket and keeps exit and failed reason on the row, which counts as cascaded.",
		reportsMoveCounters)
	register("Flow/ReportsKeepValuesExactly",
		"What went in comes back exactly: null is a value, absent is something else.",
		reportsKeepValues)
	register("Flow/FirstReportStands",
		"Duplicates, late and unknown reports are not applied; the first applied report stands.",
		firstReportStands)
	register("Flow/ReportsAreCheckedAgainstTheRow",
		"A report applies only to a pending row whose childJobId it matches; an absent one is not checked.",
		reportsAreChecked)
	register("Flow/ReportsApplyOnlyWhileParked",
		"A report applies only while the parent is waiting-children.",
		reportsOnlyWhileParked)
	register("Flow/LastReportResumesTheParent",
		"pending == 0: the parent becomes waiting at its old place, seq kept, runAt now, without a ledger entry.",
		lastReportResumes)
	register("Flow/ParentResumesAtItsOldPlace",
		"The parent resumes at its old place, so that finishing open flows comes before starting new ones.",
		resumesAtOldPlace)
	registerIf(func(h Harness) bool { return !h.NoWaker }, "Flow/SettleWakesTheParentsQueue",
		"A flow that settles wakes the parent's queue, and only that.",
		settleWakes)
	register("Flow/CollectKeepsTheManifest",
		"The manifest stays on the parent through retries and stalls of collect, and on the finished record.",
		collectKeepsManifest)
	register("Flow/EveryOutcomeWithoutFailFast",
		"Without failFast a failed child is counted, and the parent collects when all have settled.",
		everyOutcome)
	register("Flow/BatchIsPositional",
		"A batch of reports is answered position by position, and settles once: on the flow's last applied report.",
		batchIsPositional)
	register("Flow/BatchSpansFlows",
		"A batch may span flows: at most one settle per flow, reported on the flow's last applied report.",
		batchSpansFlows)
	register("Flow/BatchBeyondOneStep",
		"Reports are recorded in atomic steps of at most 500; a longer batch is answered position by position all the same.",
		batchBeyondOneStep)
	register("Flow/EmptyBatch",
		"An empty batch is answered with nothing.",
		func(t *T) { t.equal("RecordChildResults", len(t.record(0)), 0) })
}

func reportsMoveCounters(t *T) {
	r := t.park(0, request("p"), false, "a", "b", "c", "d")
	done, failed := report(r, "a", driver.ChildCompleted), report(r, "b", driver.ChildFailed)
	done.Exit = []byte(`{"n":9007199254740993}`)
	failed.Exit, failed.FailedReason = []byte(`"broken"`), driver.StalledReason
	before := t.snapshot("p")
	t.applies(1000, done, applied)
	t.applies(1000, failed, applied)
	t.applies(1000, report(r, "c", driver.ChildCancelled), applied)

	t.changed(before, func(s *snapshot) {
		s.Job.Flow = &driver.Manifest{Pending: 1, Completed: 1, Failed: 1, Cancelled: 1}
	})
	t.equal("the rows", t.rows("p"), []driver.Child{
		row(r, "a", func(c *driver.Child) { c.Status, c.Cascaded, c.Exit = driver.ChildCompleted, true, done.Exit }),
		row(r, "b", func(c *driver.Child) {
			c.Status, c.Cascaded, c.Exit, c.FailedReason = driver.ChildFailed, true, failed.Exit, failed.FailedReason
		}),
		row(r, "c", endedRow(driver.ChildCancelled)),
		row(r, "d", nil),
	})
}

func reportsKeepValues(t *T) {
	exits := []string{"", "null", "[]", "{}", `""`, "0", "9007199254740993", "1e400", `"\u0000"`, `"\ud800"`, `{"a":1,"a":2}`, ` {"b" : 1} `}
	keys := make([]string, len(exits)+1)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%02d", i)
	}
	r := t.park(0, request("p"), false, keys...)
	for i, exit := range exits {
		done := report(r, keys[i], driver.ChildCompleted)
		done.Exit = []byte(exit)
		t.applies(0, done, applied)
	}
	rows := t.rows("p")
	for i, exit := range exits {
		if got := string(rows[i].Exit); got != exit {
			t.Errorf("the exit %q came back as %q", exit, got)
		}
	}
}

func firstReportStands(t *T) {
	r := t.park(0, request("p"), false, "a", "b")
	first := report(r, "a", driver.ChildCompleted)
	first.Exit = []byte("1")
	t.applies(0, first, applied)
	other := report(r, "a", driver.ChildFailed)
	other.Exit, other.FailedReason = []byte("2"), "late"
	t.applies(0, first, notApplied)
	t.applies(0, other, notApplied)

	t.manifest("p", driver.Manifest{Pending: 1, Completed: 1})
	t.equal("the row", t.children("p", "a")[0], ptr(row(r, "a", func(c *driver.Child) {
		c.Status, c.Cascaded, c.Exit = driver.ChildCompleted, true, first.Exit
	})))
}

func ptr[V any](v V) *V { return &v }

func reportsAreChecked(t *T) {
	r := t.park(0, request("p"), false, "a", "b")
	wrongJob, wrongKey, wrongFlow := report(r, "a", driver.ChildCompleted), report(r, "a", driver.ChildCompleted), report(r, "a", driver.ChildCompleted)
	wrongJob.ChildJobID = childJobID("p", "another run", "a")
	wrongKey.ChildKey = "unknown"
	wrongKey.ChildJobID = ""
	wrongFlow.FlowID = "unknown"
	t.recorded(0, []driver.ChildReport{wrongJob, wrongKey, wrongFlow}, notApplied, notApplied, notApplied)
	t.manifest("p", driver.Manifest{Pending: 2})
	if ids := t.present("unknown"); len(ids) != 0 {
		t.Errorf("a report made up the job %q", ids)
	}

	unchecked := report(r, "a", driver.ChildCompleted)
	unchecked.ChildJobID = ""
	t.applies(0, unchecked, applied)
	t.equal("the row", t.rows("p")[0], row(r, "a", endedRow(driver.ChildCompleted)))
}

func reportsOnlyWhileParked(t *T) {
	r := t.park(0, request("p"), false, "a", "b")
	t.cancel(0, "p")
	t.applies(0, report(r, "a", driver.ChildCompleted), notApplied)
	t.manifest("p", driver.Manifest{Cancelled: 2})

	q := t.park(0, request("q"), true, "a", "b")
	t.applies(0, report(q, "a", driver.ChildFailed), settled)
	t.applies(0, report(q, "b", driver.ChildCompleted), notApplied)
	t.retry(0, "q")
	t.applies(0, report(q, "b", driver.ChildCompleted), notApplied)
	collect := t.claimOne(0)
	t.applies(0, report(q, "b", driver.ChildCompleted), notApplied)
	t.complete(0, collect, "1")
	t.applies(0, report(q, "b", driver.ChildCompleted), notApplied)
	t.manifest("q", driver.Manifest{FailFast: true, Failed: 1, Cancelled: 1})
}

func lastReportResumes(t *T) {
	r := t.park(0, request("p", priority(3)), false, "a", "b")
	before := t.snapshot("p")
	t.applies(1000, report(r, "a", driver.ChildCompleted), applied)
	t.applies(2000, report(r, "b", driver.ChildCompleted), settled)
	t.changed(before, func(s *snapshot) {
		s.Job.State = driver.Waiting
		s.Job.RunAt = 2000
		s.Job.Flow = &driver.Manifest{Completed: 2}
	})
	t.equal("Counts", t.counts(someQueue), driver.Counts{Waiting: 1})
}

func resumesAtOldPlace(t *T) {
	r := t.park(0, request("p"), false, "a")
	t.insert(0, request("next"), request("first", priority(1)))
	t.applies(5000, report(r, "a", driver.ChildCompleted), settled)
	runs := t.claim(5000, 3)
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	t.equal("the claimed jobs", ids, []string{"first", "p", "next"})
	t.equal("the manifest of the claimed record", runs[1].Flow, &driver.Manifest{Completed: 1})
}

func settleWakes(t *T) {
	r := t.park(0, request("p", inQueue("parents")), false, "a", "b")
	cursor := t.claimWith(0, driver.ClaimRequest{Queue: "parents"}).Cursor
	other := t.claimWith(0, driver.ClaimRequest{Queue: "others"}).Cursor
	t.applies(0, report(r, "a", driver.ChildCompleted), applied)
	t.notWokenSince(cursor, "parents")
	t.applies(0, report(r, "b", driver.ChildCompleted), settled)
	t.wokenSince(cursor, "parents")
	t.notWokenSince(other, "others")
}

func collectKeepsManifest(t *T) {
	r := t.park(0, request("p"), false, "a")
	t.applies(0, report(r, "a", driver.ChildFailed), settled)
	want := driver.Manifest{Failed: 1}

	collect := t.claimOne(0)
	t.settle(0, collect.ack(driver.AckRetry), driver.Waiting)
	t.manifest("p", want)
	collect = t.claimOne(0)
	t.settle(0, collect.ack(driver.AckSnooze), driver.Waiting)
	collect = t.claimOne(0)
	t.settle(0, collect.ack(driver.AckRelease), driver.Waiting)
	t.manifest("p", want)
	t.claimOne(0)
	t.recover(driver.Time(lockFor), 3)
	t.manifest("p", want)
	collect = t.claimOne(driver.Time(lockFor))
	t.equal("the manifest of the claimed record", collect.Flow, &want)
	t.complete(driver.Time(lockFor), collect, "1")
	t.manifest("p", want)
	t.equal("the rows", t.rows("p"), []driver.Child{row(r, "a", endedRow(driver.ChildFailed))})
}

func everyOutcome(t *T) {
	r := t.park(0, request("p"), false, "a", "b", "c")
	t.applies(0, report(r, "a", driver.ChildFailed), applied)
	t.applies(0, report(r, "b", driver.ChildCancelled), applied)
	t.applies(0, report(r, "c", driver.ChildFailed), settled)
	t.inState("p", driver.Waiting)
	t.manifest("p", driver.Manifest{Failed: 2, Cancelled: 1})
}

func batchIsPositional(t *T) {
	r := t.park(0, request("p"), false, "a", "b", "c")
	a, b, c := report(r, "a", driver.ChildCompleted), report(r, "b", driver.ChildCancelled), report(r, "c", driver.ChildFailed)
	unknown := report(r, "unknown", driver.ChildCompleted)
	t.recorded(0, []driver.ChildReport{a, unknown, b, a, c, b}, applied, notApplied, applied, notApplied, settled, notApplied)
	t.manifest("p", driver.Manifest{Completed: 1, Failed: 1, Cancelled: 1})
	t.inState("p", driver.Waiting)
}

func batchSpansFlows(t *T) {
	p := t.park(0, request("p"), false, "a", "b")
	q := t.park(0, request("q"), true, "a", "b")
	s := t.park(0, request("s"), false, "a", "b")
	t.recorded(0, []driver.ChildReport{
		report(q, "a", driver.ChildFailed),
		report(p, "a", driver.ChildFailed),
		report(s, "a", driver.ChildCompleted),
		report(p, "b", driver.ChildCompleted),
		report(q, "b", driver.ChildCompleted),
	}, applied, applied, applied, settled, settled)
	t.inState("p", driver.Waiting)
	t.inState("q", driver.Failed)
	t.inState("s", driver.WaitingChildren)
	t.manifest("p", driver.Manifest{Completed: 1, Failed: 1})
	t.manifest("q", driver.Manifest{FailFast: true, Completed: 1, Failed: 1})
	t.manifest("s", driver.Manifest{Pending: 1, Completed: 1})
}

func batchBeyondOneStep(t *T) {
	const children = driver.ChunkReports + 100
	keys := make([]string, children)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%04d", i)
	}
	r := t.park(0, request("p"), false, keys...)
	reports := make([]driver.ChildReport, children)
	for i, key := range keys {
		reports[i] = report(r, key, driver.ChildCompleted)
	}
	for i, result := range t.record(0, reports...) {
		if want := (driver.RecordResult{Applied: true, ParentSettled: i == children-1}); result != want {
			t.Fatalf("report %d of %d was answered %+v; want %+v", i, children, result, want)
		}
	}
	t.inState("p", driver.Waiting)
	t.manifest("p", driver.Manifest{Completed: children})
	t.equal("the number of rows", len(t.rows("p")), children)
}

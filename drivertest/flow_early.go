package drivertest

import (
	"errors"

	"github.com/braidmq/braid/driver"
)

// Flows that settle before their children have: fail-fast, and cancels.

func init() {
	register("Flow/FailFast",
		"Under failFast the first applied failure settles the parent failed, with failedReason and no exit; "+
			"remaining pending rows become cancelled, not cascaded, counters moved, in the same step.",
		failFast)
	register("Flow/FailFastAsTheLastPending",
		"Under failFast an applied failure wins over pending == 0.",
		failFastLast)
	register("Flow/FailFastInsideABatch",
		"All rows of the batch first, then the settle: the first applied failure, in batch order, names the reason, "+
			"and mates of the batch behind it apply too.",
		failFastInBatch)
	register("Flow/FailFastIgnoresWhatDidNotApply",
		"Only an applied failure settles a flow: not a duplicate, an unknown or a cancelled one.",
		failFastIgnores)
	register("Flow/FailFastReasonNamesAnyKey",
		`failedReason of a parent that failed fast: flow child "<childKey>" failed.`,
		failFastReason)
	register("Flow/CancelOfAParkedParent",
		"Cancel of a waiting-children parent settles it early: cancelled, one ledger entry, the pending rows cancelled and not cascaded.",
		cancelParked)
	register("Flow/CancelRacingAFanOut",
		"A pending cancel wins over FanOut: cancelled, one ledger entry, no attempt used, the rows settled early.",
		cancelRacingFanOut)
	register("Flow/LateReportsNeverMakeACounterNegative",
		"A report that races an early settle is not applied, and never makes a counter negative.",
		lateReports)
	register("Flow/EarlySettleIsWorkedOffInPages",
		"The sweep works early settles off in pages; what is read meanwhile does not change.",
		workedOff)
	register("Flow/OperationsRefuseAParkedParent",
		"Promote: only delayed; Retry: only failed; Remove: false for waiting-children. The refusal changes nothing.",
		operationsRefuseParked)
	register("Flow/RetryReentersCollect",
		"Retry of a fail-fast-failed parent re-enters collect with what was recorded: ledger, manifest and rows kept.",
		retryReentersCollect)
	register("Flow/FailedFirstPhaseRetriesIntoIt",
		"A failed last attempt of fan-out fails the parent as any job; its staged rows are invisible, and a retry fans out afresh.",
		failedFirstPhase)
	register("Flow/RemoveAndTheSameIDAgain",
		"A parent that was removed and enqueued again under its id never adopts old children or their late reports.",
		removeSameIDAgain)
	register("Flow/PrunedAndTheSameIDAgain",
		"Rows of a parent that retention removed are invisible at once, also for a new parent of its id.",
		prunedSameIDAgain)
	register("Flow/RemoveDoesNotMindOwedCascades",
		"Automatic retention leaves a parent that owes cascades alone; Remove does not.",
		removeWithDebt)
}

func failFast(t *T) {
	r := t.park(1000, request("p", dedupe("k")), true, "a", "b", "c", "d")
	before := t.snapshot("p")
	t.applies(2000, report(r, "a", driver.ChildCompleted), applied)
	t.applies(3000, report(r, "c", driver.ChildFailed), settled)

	t.changed(before, func(s *snapshot) {
		s.ended(3000, driver.Failed)
		s.Job.FailedReason = driver.FailFastReason("c")
		s.Job.Flow = &driver.Manifest{FailFast: true, Completed: 1, Failed: 1, Cancelled: 2}
		s.entry(driver.Attempt{FinishedAt: 3000, Outcome: driver.OutcomeFailed})
	})
	t.equal("the rows", t.rows("p"), []driver.Child{
		row(r, "a", endedRow(driver.ChildCompleted)),
		row(r, "b", owed),
		row(r, "c", endedRow(driver.ChildFailed)),
		row(r, "d", owed),
	})
	t.equal("Children", t.children("p", "d"), []*driver.Child{ptr(row(r, "d", owed))})
	t.equal("Counts", t.counts(someQueue), driver.Counts{Failed: 1})
	t.insert(3000, request("the key is free", dedupe("k")))
}

func failFastLast(t *T) {
	r := t.park(0, request("p"), true, "a", "b")
	t.applies(0, report(r, "a", driver.ChildCompleted), applied)
	t.applies(1000, report(r, "b", driver.ChildFailed), settled)
	t.inState("p", driver.Failed)
	t.manifest("p", driver.Manifest{FailFast: true, Completed: 1, Failed: 1})
	t.equal("failedReason", t.job("p").FailedReason, driver.FailFastReason("b"))
	work := t.flowWork(1_000_000, 10)
	t.equal("the sweep's work", len(work.Reconcile)+len(work.Cascade), 0)
}

func failFastInBatch(t *T) {
	r := t.park(0, request("p"), true, "a", "b", "c", "d", "e")
	t.recorded(0, []driver.ChildReport{
		report(r, "a", driver.ChildCompleted),
		report(r, "d", driver.ChildFailed),
		report(r, "c", driver.ChildCompleted),
		report(r, "b", driver.ChildFailed),
		report(r, "a", driver.ChildFailed),
	}, applied, applied, applied, settled, notApplied)
	t.equal("failedReason", t.job("p").FailedReason, driver.FailFastReason("d"))
	t.manifest("p", driver.Manifest{FailFast: true, Completed: 2, Failed: 2, Cancelled: 1})
	t.equal("the rows", t.rows("p"), []driver.Child{
		row(r, "a", endedRow(driver.ChildCompleted)),
		row(r, "b", endedRow(driver.ChildFailed)),
		row(r, "c", endedRow(driver.ChildCompleted)),
		row(r, "d", endedRow(driver.ChildFailed)),
		row(r, "e", owed),
	})
}

func failFastIgnores(t *T) {
	r := t.park(0, request("p"), true, "a", "b", "c")
	otherRun := report(r, "b", driver.ChildFailed)
	otherRun.ChildJobID = "another"
	t.recorded(0, []driver.ChildReport{
		report(r, "a", driver.ChildCancelled),
		report(r, "a", driver.ChildFailed),
		otherRun,
		report(r, "unknown", driver.ChildFailed),
	}, applied, notApplied, notApplied, notApplied)
	t.inState("p", driver.WaitingChildren)
	t.manifest("p", driver.Manifest{FailFast: true, Pending: 2, Cancelled: 1})
}

func failFastReason(t *T) {
	for i, key := range []string{`say "hi"`, `a\b`, "ключ/🔑", `flow child "x" failed`, `{"a":1}`, "%s%d"} {
		id := "p" + string(rune('0'+i))
		r := t.park(0, request(id), true, key)
		t.applies(0, report(r, key, driver.ChildFailed), settled)
		t.equal("failedReason", t.job(id).FailedReason, `flow child "`+key+`" failed`)
	}
}

func cancelParked(t *T) {
	r := t.park(1000, request("p", dedupe("k")), false, "a", "b", "c")
	t.applies(1000, report(r, "b", driver.ChildFailed), applied)
	before := t.snapshot("p")
	if state := t.cancel(2000, "p"); state != driver.Cancelled {
		t.Errorf("Cancel answered the state %v; want cancelled", state)
	}
	t.changed(before, func(s *snapshot) {
		s.ended(2000, driver.Cancelled)
		s.Job.Flow = &driver.Manifest{Failed: 1, Cancelled: 2}
		s.entry(driver.Attempt{FinishedAt: 2000, Outcome: driver.OutcomeCancelled})
	})
	t.equal("the rows", t.rows("p"), []driver.Child{
		row(r, "a", owed), row(r, "b", endedRow(driver.ChildFailed)), row(r, "c", owed),
	})
	again := t.operate(t.Store.Cancel, 3000, "p")[0]
	t.failsWith("a second Cancel", again.Err, driver.ErrNotCancellable)
	t.insert(3000, request("the key is free", dedupe("k")))
}

func cancelRacingFanOut(t *T) {
	r := t.start(1000, request("p"))
	before := t.snapshot("p")
	t.stage(r, "a", "b")
	if state := t.cancel(1500, "p"); state != driver.Active {
		t.Fatalf("Cancel of an active parent answered %v; want active", state)
	}
	t.fanOut(2000, r, false, 2, driver.Cancelled)
	t.changed(before, func(s *snapshot) {
		s.ended(2000, driver.Cancelled)
		s.Job.Flow = &driver.Manifest{Cancelled: 2}
		s.entry(driver.Attempt{StartedAt: driver.Some(driver.Time(1000)), FinishedAt: 2000,
			Outcome: driver.OutcomeCancelled, Worker: "worker-1"})
	})
	t.equal("the rows", t.rows("p"), []driver.Child{row(r, "a", owed), row(r, "b", owed)})
	t.equal("the cascades", refs(t.flowWork(2000, 10).Cascade), []string{"p/a", "p/b"})
	t.applies(3000, report(r, "a", driver.ChildCompleted), notApplied)
}

func lateReports(t *T) {
	r := t.park(0, request("p"), true, "a", "b", "c")
	t.applies(0, report(r, "b", driver.ChildFailed), settled)
	want := driver.Manifest{FailFast: true, Failed: 1, Cancelled: 2}
	for _, outcome := range []driver.ChildStatus{driver.ChildCompleted, driver.ChildFailed, driver.ChildCancelled} {
		t.recorded(1000, []driver.ChildReport{report(r, "a", outcome), report(r, "b", outcome), report(r, "c", outcome)},
			notApplied, notApplied, notApplied)
		t.manifest("p", want)
	}
	t.sweepFlows(1000, 1)
	t.recorded(2000, []driver.ChildReport{report(r, "a", driver.ChildCancelled)}, notApplied)
	t.manifest("p", want)
	t.equal("the rows", t.rows("p"), []driver.Child{
		row(r, "a", owed), row(r, "b", endedRow(driver.ChildFailed)), row(r, "c", owed),
	})
}

func workedOff(t *T) {
	keys := []string{"a", "b", "c", "d", "e"}
	r := t.park(0, request("p"), false, keys...)
	t.applies(0, report(r, "c", driver.ChildCompleted), applied)
	t.cancel(0, "p")
	want := []driver.Child{
		row(r, "a", owed), row(r, "b", owed), row(r, "c", endedRow(driver.ChildCompleted)), row(r, "d", owed), row(r, "e", owed),
	}
	for range 6 {
		if _, err := t.Store.SweepFlows(t.ctx, 0, 1); err != nil {
			t.Fatalf("SweepFlows: %v", err)
		}
		t.equal("the rows", t.rows("p"), want)
		t.manifest("p", driver.Manifest{Completed: 1, Cancelled: 4})
	}
	t.cascaded(0, "p", "a", "e")
	want[0].Cascaded, want[4].Cascaded = true, true
	t.sweepFlows(0, 2)
	t.equal("the rows after two marks", t.rows("p"), want)
	t.equal("the cascades", refs(t.flowWork(0, 10).Cascade), []string{"p/b", "p/d"})
}

func operationsRefuseParked(t *T) {
	t.park(0, request("p"), false, "a")
	before := t.snapshot("p")
	refused := func(op string, r driver.OperateResult, sentinel error) {
		var state *driver.StateError
		if !errors.Is(r.Err, sentinel) || !errors.As(r.Err, &state) || state.State != driver.WaitingChildren || state.ID != "p" {
			t.Errorf("%s of a parked parent: %v; want %v with its state", op, r.Err, sentinel)
		}
	}
	refused("Promote", t.operate(t.Store.Promote, 1000, "p")[0], driver.ErrNotPromotable)
	refused("Retry", t.operate(t.Store.Retry, 1000, "p")[0], driver.ErrNotRetryable)
	t.equal("Remove", t.remove(1000, "p"), []bool{false})
	t.unchanged(before)
	t.equal("the rows", refs(t.rows("p")), []string{"p/a"})
}

func retryReentersCollect(t *T) {
	r := t.park(1000, request("p"), true, "a", "b")
	t.applies(2000, report(r, "a", driver.ChildFailed), settled)
	before := t.snapshot("p")
	if state := t.retry(3000, "p"); state != driver.Waiting {
		t.Fatalf("Retry answered %v; want waiting", state)
	}
	t.changed(before, func(s *snapshot) {
		s.Job.State = driver.Waiting
		s.Job.Seq, s.Job.RunAt = newSeq, 3000
		s.Job.FailedReason = ""
		s.Job.FinishedAt, s.Job.ProcessedAt = driver.Opt[driver.Time]{}, driver.Opt[driver.Time]{}
	})
	t.equal("the rows", t.rows("p"), []driver.Child{row(r, "a", endedRow(driver.ChildFailed)), row(r, "b", owed)})
	t.equal("the cascades", refs(t.flowWork(3000, 10).Cascade), []string{"p/b"})

	collect := t.claimOne(3000)
	t.equal("the manifest of the claimed record", collect.Flow, &driver.Manifest{FailFast: true, Failed: 1, Cancelled: 1})
	t.equal("the cascades while it runs", refs(t.flowWork(3000, 10).Cascade), []string{"p/b"})
	t.cascaded(3000, "p", "b")
	t.complete(4000, collect, "1")
	t.inState("p", driver.Completed)
	t.equal("the rows at the end", len(t.rows("p")), 2)
}

func failedFirstPhase(t *T) {
	r := t.start(0, request("p"))
	t.stage(r, "a", "b")
	t.fail(0, r, `"broken"`)
	t.equal("the rows", len(t.rows("p")), 0)
	t.sweepFlows(0, 1)
	t.retry(0, "p")
	again := t.claimOne(0)
	t.equal("the manifest", again.Flow == nil, true)
	t.stage(again, "c")
	t.fanOut(0, again, false, 1, driver.WaitingChildren)
	t.equal("the rows", t.rows("p"), []driver.Child{row(again, "c", nil)})
}

func removeSameIDAgain(t *T) {
	old := t.park(0, request("p"), false, "a", "b", "c")
	t.applies(0, report(old, "a", driver.ChildCompleted), applied)
	t.cancel(0, "p")
	t.equal("Remove", t.remove(0, "p"), []bool{true})
	t.equal("the rows", len(t.rows("p")), 0)
	t.equal("Children", t.children("p", "a", "b"), []*driver.Child{nil, nil})
	t.equal("the cascades", len(t.flowWork(0, 10).Cascade), 0)

	r := t.start(0, request("p"))
	t.equal("the manifest of the new parent", r.Flow == nil, true)
	t.equal("the rows of the new parent", len(t.rows("p")), 0)
	t.applies(0, report(old, "b", driver.ChildCompleted), notApplied)
	t.stage(r, "b", "d")
	t.fanOut(0, r, false, 2, driver.WaitingChildren)
	t.applies(0, report(old, "b", driver.ChildFailed), notApplied)
	t.applies(0, report(old, "c", driver.ChildFailed), notApplied)
	t.sweepFlows(0, 1)
	t.equal("the rows of the new parent", t.rows("p"), []driver.Child{row(r, "b", nil), row(r, "d", nil)})
	t.applies(0, report(r, "b", driver.ChildCompleted), applied)
	t.applies(0, report(r, "d", driver.ChildCompleted), settled)
	t.manifest("p", driver.Manifest{Completed: 2})
}

func prunedSameIDAgain(t *T) {
	none := keep(driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}})
	r := t.park(0, request("p", none), false, "a")
	t.applies(0, report(r, "a", driver.ChildCompleted), settled)
	t.complete(0, t.claimOne(0), "1")
	if found := t.present("p"); len(found) != 0 {
		t.Fatalf("the parent is kept; its policy keeps none")
	}
	t.equal("the rows", len(t.rows("p")), 0)
	again := t.park(0, request("p"), false, "a", "b")
	t.sweepFlows(0, 1)
	t.equal("the rows of the new parent", t.rows("p"), []driver.Child{row(again, "a", nil), row(again, "b", nil)})
}

func removeWithDebt(t *T) {
	t.park(0, request("p"), false, "a", "b")
	t.cancel(0, "p")
	t.equal("Remove", t.remove(0, "p"), []bool{true})
	t.equal("the cascades", len(t.flowWork(0, 10).Cascade), 0)
	t.cascaded(0, "p", "a")
	t.sweepFlows(0, 1)
	t.equal("the rows", len(t.rows("p")), 0)
}

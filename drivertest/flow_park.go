package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/braidmq/braid/driver"
)

// Staging, the fan-out ack, and where it leaves the parent.

func init() {
	register("Flow/ParkWithManifestRowsAndLedger",
		"The FanOut ack writes the manifest, makes the staged rows the flow's, parks the parent in waiting-children, "+
			"leaves a ledger entry fanned-out, and uses no attempt.",
		parkWithManifest)
	register("Flow/ParkedParentIsNotClaimable",
		"waiting-children: a flow parent, parked until its children settle; never claimable.",
		parkedNotClaimable)
	register("Flow/ParkedParentIsListedAndCounted",
		"List returns complete records, the same as Jobs, and counts know the parked state.",
		parkedListed)
	register("Flow/StagingChecksTheToken",
		"StageChildren: the job must be active under token: not found, lock lost otherwise.",
		stagingChecksToken)
	register("Flow/StagingNeedsIDs",
		"Every child request needs an id: invalid request otherwise, checked before anything is written.",
		stagingNeedsIDs)
	register("Flow/RestagedPageOverwrites",
		"A child key that was staged before under this token is overwritten.",
		restagedOverwrites)
	register("Flow/StagedRowsAreInvisible",
		"A crash before the ack leaves an active job whose staged rows nobody sees.",
		stagedInvisible)
	register("Flow/FanOutChecksTheNumberOfChildren",
		`FanOut answers an invalid request with the field "children" if fewer or more rows are staged than it says; nothing is applied.`,
		fanOutChecksChildren)
	register("Flow/FanOutChecksTokenAndID",
		"Each ack is checked on its own: not found; lock lost unless active with that token; it never fails its neighbours.",
		fanOutChecksToken)
	register("Flow/FanOutAfterLockRanOut",
		"An ack under a lock that has run out but that nobody recovered is good, and so is staging.",
		fanOutAfterLock)
	register("Flow/EmptyFanOut",
		"A fan-out without children: waiting at once, runAt now, seq kept, with a manifest and the ledger entry fanned-out.",
		emptyFanOut)
	registerIf(func(h Harness) bool { return !h.NoWaker }, "Flow/EmptyFanOutWakes",
		"Every transition to waiting wakes the queue: an empty fan-out too.",
		emptyFanOutWakes)
	register("Flow/SecondFanOutConverges",
		"A manifest that already exists is left untouched: new children are ignored, the state follows its pending count.",
		secondFanOut)
	register("Flow/CrashedAttemptsRowsAreNotAdopted",
		"Staged rows are keyed by the run's token: rows of another run than the manifest's are invisible, and SweepFlows deletes only them.",
		crashedAttempt)
	register("Flow/SweepSparesWhatIsBeingStaged",
		"SweepFlows deletes only rows that no flow can see: not those of an active run that is still staging.",
		sweepSparesStaging)
	register("Flow/ParentsTakeTheirDedupKeyAlong",
		"A key without ttl holds while its job is not terminal: a parked parent holds it too.",
		parkedHoldsKey)
}

func parkWithManifest(t *T) {
	r := t.start(1000, request("p", after(0), priority(2)))
	before := t.snapshot("p")
	t.stage(r, "a", "b")
	t.stage(r, "c")
	t.fanOut(2000, r, true, 3, driver.WaitingChildren)

	t.changed(before, func(s *snapshot) {
		s.Job.State = driver.WaitingChildren
		s.Job.Flow = &driver.Manifest{FailFast: true, Pending: 3}
		s.unlocked()
		s.entry(driver.Attempt{StartedAt: driver.Some(driver.Time(1000)), FinishedAt: 2000,
			Outcome: driver.OutcomeFannedOut, Worker: "worker-1"})
	})
	t.equal("the rows", t.rows("p"), []driver.Child{row(r, "a", nil), row(r, "b", nil), row(r, "c", nil)})
}

func parkedNotClaimable(t *T) {
	t.park(0, request("p"), false, "a")
	if runs := t.claim(1_000_000, 5); len(runs) != 0 {
		t.Errorf("a claim found the parked parent %q", runs[0].ID)
	}
	if recovered := t.recover(1_000_000, 1); len(recovered) != 0 {
		t.Errorf("stall recovery found %v; a parked parent has no lock", recovered)
	}
	t.inState("p", driver.WaitingChildren)
}

func parkedListed(t *T) {
	t.park(0, request("p"), false, "a")
	jobs := t.list(driver.ListRequest{States: []driver.State{driver.WaitingChildren}}).Jobs
	if len(jobs) != 1 {
		t.Fatalf("the list of parked jobs holds %q; want p", idsOf(jobs))
	}
	t.equal("the listed record", jobs[0], t.job("p"))
	t.equal("Counts", t.counts(someQueue), driver.Counts{WaitingChildren: 1})
	t.equal("Counts of all", t.counts(""), driver.Counts{WaitingChildren: 1})
}

func stagingChecksToken(t *T) {
	stage := func(id, token string) error {
		return t.Store.StageChildren(t.ctx, id, token, []driver.StagedChild{stagedUnder(id, token, "a")})
	}
	t.failsWith("staging under an unknown job", stage("unknown", "x"), driver.ErrNotFound)

	t.insert(0, request("w"))
	t.failsWith("staging under a waiting job", stage("w", "x"), driver.ErrLockLost)
	r := t.claimOne(0)
	t.failsWith("staging with another token", stage("w", "x"), driver.ErrLockLost)
	t.must("staging with the token", stage("w", r.token))
	t.fanOut(0, r, false, 1, driver.WaitingChildren)
	t.failsWith("staging under a parked parent", stage("w", r.token), driver.ErrLockLost)
	t.cancel(0, "w")
	t.failsWith("staging under a terminal job", stage("w", r.token), driver.ErrLockLost)
	t.equal("the rows", refs(t.rows("w")), []string{"w/a"})
}

func stagingNeedsIDs(t *T) {
	r := t.start(0, request("p"))
	page := []driver.StagedChild{staged(r, "a"), staged(r, "b", func(q *driver.EnqueueRequest) { q.ID = "" })}
	t.invalid("staging a child without id", t.Store.StageChildren(t.ctx, r.ID, r.token, page), "")
	t.fanOut(0, r, false, 0, driver.Waiting)
	t.equal("the rows", len(t.rows("p")), 0)
}

func restagedOverwrites(t *T) {
	r := t.start(0, request("p"))
	t.stage(r, "a", "b")
	again := staged(r, "a", named("other"), payload(`{"second":true}`), func(q *driver.EnqueueRequest) { q.ID = "flow/other" })
	again.StoreKey = "elsewhere"
	t.must("StageChildren", t.Store.StageChildren(t.ctx, r.ID, r.token, []driver.StagedChild{again}))
	t.fanOut(0, r, false, 2, driver.WaitingChildren)

	want := row(r, "a", func(c *driver.Child) { c.Name, c.StoreKey, c.ChildJobID = "other", "elsewhere", "flow/other" })
	t.equal("the rows", t.rows("p"), []driver.Child{want, row(r, "b", nil)})
	want.Request = &again.Request
	t.equal("the request to reconcile", t.flowWork(sweepTime, 10).Reconcile[0], want)
}

// sweepTime is late enough for every row that parked at 0 to be reconciled.
const sweepTime = driver.Time(sweepAge)

func stagedInvisible(t *T) {
	r := t.start(0, request("p"))
	t.stage(r, "a", "b")
	t.equal("the rows", len(t.rows("p")), 0)
	t.equal("Children", t.children("p", "a"), []*driver.Child{nil})
	t.equal("the manifest", t.job("p").Flow == nil, true)
	t.equal("a report of a staged row", t.record(0, report(r, "a", driver.ChildCompleted)), []driver.RecordResult{notApplied})
	work := t.flowWork(1_000_000, 10)
	t.equal("the sweep's work", len(work.Reconcile)+len(work.Cascade), 0)
}

func fanOutChecksChildren(t *T) {
	r := t.start(0, request("p"))
	t.stage(r, "a", "b")
	before := t.snapshot("p")
	for _, children := range []int64{0, 1, 3} {
		a := r.ack(driver.AckFanOut)
		a.Children = children
		t.invalid("FanOut of another number of children", t.ackAll(0, a)[0].Err, "children")
		t.unchanged(before)
	}
	t.fanOut(0, r, false, 2, driver.WaitingChildren)
	t.manifest("p", driver.Manifest{Pending: 2})
}

func fanOutChecksToken(t *T) {
	r := t.start(0, request("p"))
	t.stage(r, "a")
	good := r.ack(driver.AckFanOut)
	good.Children = 1
	stale, unknown := good, good
	stale.Token = "x"
	unknown.ID = "unknown"
	results := t.ackAll(0, stale, unknown, good, good)
	t.failsWith("FanOut with another token", results[0].Err, driver.ErrLockLost)
	t.failsWith("FanOut of an unknown job", results[1].Err, driver.ErrNotFound)
	t.must("FanOut between bad neighbours", results[2].Err)
	t.failsWith("FanOut of a parent that has parked", results[3].Err, driver.ErrLockLost)
	t.manifest("p", driver.Manifest{Pending: 1})
}

func fanOutAfterLock(t *T) {
	r := t.start(0, request("p"))
	t.stage(r, "a")
	t.fanOut(driver.Time(lockFor)*2, r, false, 1, driver.WaitingChildren)
}

func emptyFanOut(t *T) {
	r := t.start(0, request("p"))
	before := t.snapshot("p")
	t.fanOut(2000, r, true, 0, driver.Waiting)
	t.changed(before, func(s *snapshot) {
		s.Job.State = driver.Waiting
		s.Job.RunAt = 2000
		s.Job.Flow = &driver.Manifest{FailFast: true}
		s.unlocked()
		s.entry(driver.Attempt{StartedAt: driver.Some(driver.Time(0)), FinishedAt: 2000,
			Outcome: driver.OutcomeFannedOut, Worker: "worker-1"})
	})
	collect := t.claimOne(2000)
	t.equal("the manifest of the claimed record", collect.Flow, &driver.Manifest{FailFast: true})
}

func emptyFanOutWakes(t *T) {
	r := t.start(0, request("p"))
	cursor := t.claimWith(0, driver.ClaimRequest{}).Cursor
	t.fanOut(0, r, false, 0, driver.Waiting)
	t.wokenSince(cursor, someQueue)
}

// wokenSince fails unless there was a wake for a queue since the cursor.
func (t *T) wokenSince(since driver.WakeCursor, queue string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, 10*time.Second)
	defer cancel()
	if err := t.Store.(driver.Waker).AwaitWake(ctx, []string{queue}, since); err != nil {
		t.Errorf("no wake for %q: %v", queue, err)
	}
}

// notWokenSince fails if there was a wake for a queue since the cursor.
func (t *T) notWokenSince(since driver.WakeCursor, queue string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, 50*time.Millisecond)
	defer cancel()
	if err := t.Store.(driver.Waker).AwaitWake(ctx, []string{queue}, since); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a wake of %q, which nobody made, returned %v; want the context's error", queue, err)
	}
}

func secondFanOut(t *T) {
	first := t.park(0, request("p"), false, "a")
	t.applies(1000, report(first, "a", driver.ChildCompleted), settled)
	second := t.claimOne(2000)
	t.stage(second, "a", "b")
	before := t.snapshot("p")
	t.fanOut(3000, second, true, 2, driver.Waiting)

	t.changed(before, func(s *snapshot) {
		s.Job.State = driver.Waiting
		s.Job.RunAt = 3000
		s.unlocked()
		s.entry(driver.Attempt{StartedAt: driver.Some(driver.Time(2000)), FinishedAt: 3000,
			Outcome: driver.OutcomeFannedOut, Worker: "worker-1"})
	})
	t.equal("the rows", t.rows("p"), []driver.Child{row(first, "a", endedRow(driver.ChildCompleted))})
	t.sweepFlows(4000, 1)
	t.equal("the rows after a sweep", refs(t.rows("p")), []string{"p/a"})
}

func crashedAttempt(t *T) {
	crashed := t.start(0, request("p"))
	t.stage(crashed, "a", "b", "c")
	t.equal("the recovered jobs", t.recover(driver.Time(lockFor), 3), []driver.Recovered{{ID: "p"}})
	r := t.claimOne(driver.Time(lockFor))
	t.stage(r, "b", "d")
	t.fanOut(driver.Time(lockFor), r, false, 2, driver.WaitingChildren)

	want := []driver.Child{row(r, "b", nil), row(r, "d", nil)}
	t.equal("the rows", t.rows("p"), want)
	t.equal("a report of the crashed attempt's child", t.record(driver.Time(lockFor), report(crashed, "b", driver.ChildFailed)),
		[]driver.RecordResult{notApplied})
	t.sweepFlows(driver.Time(lockFor), 2)
	t.equal("the rows after a sweep", t.rows("p"), want)
	t.manifest("p", driver.Manifest{Pending: 2})
	if result, err := t.Store.SweepFlows(t.ctx, driver.Time(lockFor), 2); err != nil || result.Deleted != 0 || result.More {
		t.Errorf("a sweep after the sweep: %+v, %v; want nothing left to do", result, err)
	}
}

func sweepSparesStaging(t *T) {
	r := t.start(0, request("p"))
	t.stage(r, "a", "b")
	t.sweepFlows(1_000_000, 10)
	t.fanOut(1_000_000, r, false, 2, driver.WaitingChildren)
	t.sweepFlows(2_000_000, 10)
	t.equal("the rows", refs(t.rows("p")), []string{"p/a", "p/b"})
}

func parkedHoldsKey(t *T) {
	t.park(0, request("p", dedupe("k")), false, "a")
	t.duplicate(0, request("", dedupe("k")), "p")
	t.duplicate(0, request("", dedupe("k"), replacing), "p")
	if cancelled, err := t.Store.CancelByDedupe(t.ctx, 1000, someName, "k"); err != nil || !cancelled {
		t.Fatalf("CancelByDedupe of a parked parent: %v, %v; want true", cancelled, err)
	}
	t.inState("p", driver.Cancelled)
	t.manifest("p", driver.Manifest{Cancelled: 1})
	t.insert(1000, request("next", dedupe("k")))
}

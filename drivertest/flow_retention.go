package drivertest

import "github.com/braidmq/braid/driver"

// Retention of flow parents: one that still owes cascades is kept, and enters
// retention with the mark that pays its last debt.

func init() {
	register("Flow/KeepSparesOwedCascades",
		"A settled parent that still owes cascades stands outside keep; the mark that pays its last debt applies keep.",
		keepSparesDebt)
	register("Flow/PaidParentEntersByItsFinishedAt",
		"The mark that pays the last debt enters the parent by its finishedAt: older ones of its group go first.",
		paidEntersByFinish)
	register("Flow/OwingParentsAreNotCounted",
		"A parent that owes cascades is outside keep: it neither goes nor pushes others out.",
		owingNotCounted)
	registerWith(func() StoreOptions { return StoreOptions{HistoryCeiling: driver.Some(driver.CeilingForAll(1000))} },
		"Flow/HistorySparesOwedCascades",
		"SweepHistory leaves flow parents that owe cascades; paid, they go by their finishedAt.",
		historySparesDebt)
	register("Flow/OwnAgeSparesOwedCascades",
		"A parent's own keep age is counted from its finishedAt, once it is paid.",
		ownAgeSparesDebt)
	register("Flow/SettledParentWithoutDebtIsPrunedAtOnce",
		"A parent whose children have all reported owes nothing: keep applies when it settles.",
		noDebtNoDelay)
	register("Flow/RetriedParentKeepsItsDebt",
		"A parent that was retried with owed cascades finishes outside retention until they are paid.",
		retriedKeepsDebt)
}

// keepNewest keeps the newest n of each terminal state.
func keepNewest(n int64) edit {
	r := driver.Retention{Count: driver.Some(n)}
	return keep(driver.Keep{Completed: r, Failed: r, Cancelled: r})
}

func keepSparesDebt(t *T) {
	r := t.park(0, request("p", keepNewest(0)), true, "a", "b", "c")
	t.applies(0, report(r, "a", driver.ChildFailed), settled)
	t.inState("p", driver.Failed)
	t.equal("the cascades", refs(t.flowWork(0, 10).Cascade), []string{"p/b", "p/c"})
	t.cascaded(0, "p", "b")
	t.inState("p", driver.Failed)
	t.cascaded(0, "p", "b", "unknown", "a")
	t.inState("p", driver.Failed)
	t.equal("the rows", len(t.rows("p")), 3)

	t.cascaded(0, "p", "c")
	t.equal("the parent after its last mark", t.present("p"), []string(nil))
	t.equal("its rows", len(t.rows("p")), 0)
	t.equal("Counts", t.counts(""), driver.Counts{})
	t.cascaded(0, "p", "c")
}

func paidEntersByFinish(t *T) {
	t.park(0, request("old", keepNewest(1)), false, "a")
	t.cancel(1000, "old")
	t.insert(0, request("newer", keepNewest(1)))
	t.cancel(2000, "newer")
	t.equal("before the mark", t.present("old", "newer"), []string{"old", "newer"})
	t.cascaded(3000, "old", "a")
	t.equal("after the mark", t.present("old", "newer"), []string{"newer"})

	t.park(0, request("young", keepNewest(1)), false, "a")
	t.cancel(4000, "young")
	t.equal("before the mark", t.present("newer", "young"), []string{"newer", "young"})
	t.cascaded(5000, "young", "a")
	t.equal("after the mark", t.present("newer", "young"), []string{"young"})
}

func owingNotCounted(t *T) {
	t.insert(0, request("a", keepNewest(1)))
	t.cancel(1000, "a")
	t.park(0, request("p", keepNewest(1)), false, "x")
	t.cancel(2000, "p")
	t.equal("after the parent", t.present("a", "p"), []string{"a", "p"})
	t.insert(0, request("b", keepNewest(1)))
	t.cancel(3000, "b")
	t.equal("after another", t.present("a", "b", "p"), []string{"b", "p"})
}

func historySparesDebt(t *T) {
	t.park(0, request("p"), false, "a")
	t.cancel(0, "p")
	sweep := func(now driver.Time) driver.SweepResult {
		t.Helper()
		result, err := t.Store.SweepHistory(t.ctx, now, 100)
		t.must("SweepHistory", err)
		return result
	}
	t.equal("a sweep while it owes", sweep(1_000_000), driver.SweepResult{})
	t.inState("p", driver.Cancelled)
	t.cascaded(500, "p", "a")
	t.equal("a sweep before the ceiling", sweep(999), driver.SweepResult{})
	t.inState("p", driver.Cancelled)
	t.equal("a sweep at the ceiling", sweep(1000), driver.SweepResult{Deleted: 1})
	t.equal("the parent", t.present("p"), []string(nil))
	t.equal("its rows", len(t.rows("p")), 0)
}

func ownAgeSparesDebt(t *T) {
	age := keep(driver.Keep{Cancelled: driver.Retention{Age: driver.Some(driver.Millis(1000))}})
	t.park(0, request("p", age), false, "a")
	t.cancel(0, "p")
	if _, err := t.Store.SweepHistory(t.ctx, 5000, 100); err != nil {
		t.Fatalf("SweepHistory: %v", err)
	}
	t.inState("p", driver.Cancelled)
	t.cascaded(5000, "p", "a")
	if _, err := t.Store.SweepHistory(t.ctx, 5000, 100); err != nil {
		t.Fatalf("SweepHistory: %v", err)
	}
	t.equal("the parent", t.present("p"), []string(nil))
}

func noDebtNoDelay(t *T) {
	r := t.park(0, request("p", keepNewest(0)), true, "a")
	t.applies(0, report(r, "a", driver.ChildFailed), settled)
	t.equal("a parent that owes nothing", t.present("p"), []string(nil))
	t.equal("its rows", len(t.rows("p")), 0)
}

func retriedKeepsDebt(t *T) {
	r := t.park(0, request("p", keepNewest(0)), true, "a", "b")
	t.applies(0, report(r, "a", driver.ChildFailed), settled)
	t.retry(0, "p")
	t.complete(0, t.claimOne(0), "1")
	t.inState("p", driver.Completed)
	t.equal("the cascades", refs(t.flowWork(0, 10).Cascade), []string{"p/b"})
	t.cascaded(0, "p", "b")
	t.equal("the parent after its last mark", t.present("p"), []string(nil))
}

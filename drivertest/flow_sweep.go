package drivertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/braidmq/braid/driver"
)

// What a flow sweep is told to do, in which turns, and how rows are read.

func init() {
	register("Flow/SweepReconcilesWhatIsPendingForLong",
		"Reconcile: rows pending for at least pendingAge whose parent is still waiting-children, with the full request, in order of their keys.",
		reconcilePending)
	register("Flow/SweepRearms",
		"A returned row is re-armed: it is not returned again before another pendingAge has passed.",
		sweepRearms)
	register("Flow/SweepScope",
		"Reconcile and cascade leave alone what was reported, what has not landed, and flows that have settled.",
		sweepScope)
	register("Flow/CascadeUntilMarked",
		"Cancelled rows are returned, without request, until they are marked; a mark is idempotent, unknown ones are ignored.",
		cascadeUntilMarked)
	register("Flow/ReconcilePagesRotate",
		"Pages of the sweep rotate: nothing at the head starves the rest.",
		func(t *T) { pagesRotate(t, reconcileRows) })
	register("Flow/CascadePagesRotate",
		"Returned rows go behind all others: pages of the sweep rotate, and nothing at the head starves the rest.",
		func(t *T) { pagesRotate(t, cascadeRows); comesAgain(t) })
	register("Flow/ReconcileTakesTurns",
		"Flows take turns: no flow's rows keep another's from being returned.",
		func(t *T) { flowsTakeTurns(t, reconcileRows) })
	register("Flow/CascadeTakesTurns",
		"Flows take turns: no flow's rows keep another's from being returned.",
		func(t *T) { flowsTakeTurns(t, cascadeRows) })
	register("Flow/NewCascadesComeBeforeReturnedOnes",
		"Returned rows go behind all others.",
		newCascadesFirst)
	register("Flow/ChildrenInByteOrder",
		"ListChildResults pages by childKey in byte order, without requests; nothing is lost or repeated.",
		childrenInByteOrder)
	register("Flow/ChildrenPagingDefaultsAndCursors",
		"ListChildResults: limit 0 is 1,000; a cursor that is not ours is an invalid request.",
		childrenPaging)
	register("Flow/ChildrenByKey",
		"Children returns rows position by position; nil for unknown ones.",
		childrenByKey)
	register("Flow/SettleCostDoesNotGrow",
		"Settling early is O(1): a flow of 10,000 children settles as quickly as one of 10.",
		settleCost)
}

func reconcilePending(t *T) {
	everythingChild := func(r run, key string) driver.StagedChild {
		return staged(r, key, func(q *driver.EnqueueRequest) {
			envelope := q.Parent
			everything(q)
			q.Parent = envelope
		})
	}
	r := t.start(0, request("p"))
	page := []driver.StagedChild{everythingChild(r, "c"), everythingChild(r, "a"), everythingChild(r, "b")}
	t.must("StageChildren", t.Store.StageChildren(t.ctx, r.ID, r.token, page))
	t.fanOut(500, r, false, 3, driver.WaitingChildren)

	t.equal("too early", len(t.flowWork(500+driver.Time(sweepAge)-1, 10).Reconcile), 0)
	want := make([]driver.Child, 3)
	for i, staged := range []driver.StagedChild{page[1], page[2], page[0]} {
		want[i] = row(r, staged.ChildKey, func(c *driver.Child) { c.Request = &staged.Request })
	}
	t.equal("the rows to reconcile", t.flowWork(500+driver.Time(sweepAge), 10).Reconcile, want)
}

func sweepRearms(t *T) {
	t.park(0, request("p"), false, "a", "b")
	t.equal("the first call", refs(t.flowWork(1000, 10).Reconcile), []string{"p/a", "p/b"})
	t.equal("at once again", len(t.flowWork(1000, 10).Reconcile), 0)
	t.equal("just before", len(t.flowWork(1999, 10).Reconcile), 0)
	t.equal("after another age", refs(t.flowWork(2000, 10).Reconcile), []string{"p/a", "p/b"})
}

func sweepScope(t *T) {
	p := t.park(0, request("p"), false, "a", "b")
	t.applies(0, report(p, "a", driver.ChildCompleted), applied)
	staging := t.start(0, request("staging"))
	t.stage(staging, "a")
	done := t.park(0, request("done"), false, "a")
	t.applies(0, report(done, "a", driver.ChildCancelled), settled)
	t.complete(0, t.claimOne(0), "1")
	gone := t.park(0, request("gone"), true, "a", "b")
	t.applies(0, report(gone, "a", driver.ChildFailed), settled)

	work := t.flowWork(1_000_000, 10)
	t.equal("the rows to reconcile", refs(work.Reconcile), []string{"p/b"})
	t.equal("the rows to cascade", refs(work.Cascade), []string{"gone/b"})
}

func cascadeUntilMarked(t *T) {
	r := t.park(0, request("p"), false, "a", "b", "c")
	t.cancel(0, "p")
	for range 3 {
		t.equal("the rows to cascade", t.flowWork(0, 10).Cascade, []driver.Child{row(r, "a", owed), row(r, "b", owed), row(r, "c", owed)})
	}
	t.cascaded(0, "p", "b", "unknown")
	t.cascaded(0, "unknown", "a")
	t.cascaded(0, "p", "b")
	t.equal("the rows to cascade", refs(t.flowWork(0, 10).Cascade), []string{"p/a", "p/c"})
	t.equal("the marked row", t.rows("p")[1], row(r, "b", endedRow(driver.ChildCancelled)))
	t.cascaded(0, "p", "a", "c")
	t.equal("the rows to cascade", len(t.flowWork(0, 10).Cascade), 0)
	t.manifest("p", driver.Manifest{Cancelled: 3})
}

// sweptRows makes the rows of flows ones of a kind that a sweep has to work on,
// and returns a function that takes the next page of them.
type sweptRows func(t *T, flows map[string]int) (next func(limit int) []string)

func reconcileRows(t *T, flows map[string]int) func(int) []string {
	parkAll(t, flows)
	return func(limit int) []string { return refs(t.flowWork(sweepTime, limit).Reconcile) }
}

func cascadeRows(t *T, flows map[string]int) func(int) []string {
	for _, id := range parkAll(t, flows) {
		t.cancel(0, id)
	}
	return func(limit int) []string { return refs(t.flowWork(0, limit).Cascade) }
}

func parkAll(t *T, flows map[string]int) (ids []string) {
	for id := range flows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		keys := make([]string, flows[id])
		for i := range keys {
			keys[i] = fmt.Sprintf("k%02d", i)
		}
		t.park(0, request(id), false, keys...)
	}
	return ids
}

func pagesRotate(t *T, rows sweptRows) {
	next := rows(t, map[string]int{"p": 6})
	seen := make(map[string]bool)
	for range 3 {
		page := next(2)
		if len(page) != 2 {
			t.Fatalf("a page of 2 holds %q while 6 rows rotate", page)
		}
		for _, ref := range page {
			seen[ref] = true
		}
	}
	t.equal("the different rows in three pages of 2", len(seen), 6)
}

// comesAgain goes on behind pagesRotate: rows that are not marked come again.
func comesAgain(t *T) {
	seen := make(map[string]bool)
	for range 3 {
		for _, c := range t.flowWork(0, 2).Cascade {
			seen[c.ChildKey] = true
		}
	}
	t.equal("the different rows in the next three pages of 2", len(seen), 6)
}

func flowsTakeTurns(t *T, rows sweptRows) {
	next := rows(t, map[string]int{"a": 12, "b": 12, "c": 1, "d": 2})
	flows, seen := make(map[string]bool), make(map[string]bool)
	for n := range 19 {
		for _, ref := range next(2) {
			flows[ref[:1]], seen[ref] = true, true
		}
		if n == 3 {
			t.equal("the different flows in four pages of 2", len(flows), 4)
		}
	}
	t.equal("the different rows in nineteen pages of 2", len(seen), 12+12+1+2)
}

func newCascadesFirst(t *T) {
	t.park(0, request("p"), false, "a", "b")
	t.cancel(0, "p")
	t.equal("the first page", refs(t.flowWork(0, 2).Cascade), []string{"p/a", "p/b"})
	t.park(0, request("q"), false, "a", "b")
	t.cancel(0, "q")
	t.equal("the next page", refs(t.flowWork(0, 2).Cascade), []string{"q/a", "q/b"})
}

func childrenInByteOrder(t *T) {
	sorted := []string{" ", "!", "10", "9", "A", "Z", "a", "a ", "a/b", "aa", "b", "{x}", "~", "ä", "ключ", "\uffee", "😀"}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	r := t.park(0, request("p"), false, shuffled...)
	want := make([]driver.Child, len(sorted))
	for i, key := range sorted {
		want[i] = row(r, key, nil)
	}
	for _, limit := range []int{1, 2, 5, len(sorted), len(sorted) + 1, 0} {
		t.equal(fmt.Sprintf("the rows in pages of %d", limit), t.rowPages("p", limit), want)
	}
}

func childrenPaging(t *T) {
	keys := make([]string, 1001)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%04d", i)
	}
	r := t.park(0, request("p"), false, keys...)
	page, err := t.Store.ListChildResults(t.ctx, "p", "", 0)
	t.must("ListChildResults", err)
	if len(page.Children) != 1000 || page.Cursor == "" {
		t.Fatalf("a page without limit holds %d rows, cursor %q; want 1000 and a cursor", len(page.Children), page.Cursor)
	}
	page, err = t.Store.ListChildResults(t.ctx, "p", page.Cursor, 0)
	t.must("ListChildResults", err)
	t.equal("the second page", page, driver.ChildPage{Children: []driver.Child{row(r, "k1000", nil)}})
	for _, id := range []string{"p", "unknown"} {
		page, err := t.Store.ListChildResults(t.ctx, id, "?no cursor?", 10)
		if err == nil {
			t.Errorf("a bad cursor of %q was answered with %d rows", id, len(page.Children))
		}
		t.invalid("a bad cursor", err, "cursor")
	}
	t.equal("the rows of an unknown flow", len(t.rows("unknown")), 0)
}

func childrenByKey(t *T) {
	r := t.park(0, request("p"), false, "a", "b")
	a, b := row(r, "a", nil), row(r, "b", nil)
	t.equal("Children", t.children("p", "b", "unknown", "a", "b"), []*driver.Child{&b, nil, &a, &b})
	t.equal("Children of an unknown flow", t.children("unknown", "a"), []*driver.Child{nil})
	t.equal("Children of no keys", len(t.children("p")), 0)
}

func settleCost(t *T) {
	const few, many, trials = 10, 10_000, 3
	keys := make([]string, many)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%05d", i)
	}
	n := 0
	fastest := func(children int) time.Duration {
		best := time.Hour
		for range trials {
			n++
			id := fmt.Sprintf("p%d", n)
			r := t.park(0, request(id), true, keys[:children]...)
			start := time.Now()
			if n%2 == 0 {
				t.cancel(0, id)
			} else {
				t.applies(0, report(r, keys[children/2], driver.ChildFailed), settled)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	small, large := fastest(few), fastest(many)
	if limit := 10*small + time.Millisecond; large > limit {
		// A machine that is busy with something else can do that to three trials in a
		// row; a store that touches every row does it to all of them.
		large = fastest(many)
		if large > limit {
			t.Errorf("settling %d children took %v at best, settling %d took %v", many, large, few, small)
		}
	}
}

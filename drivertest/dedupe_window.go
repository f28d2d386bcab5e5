package drivertest

import "github.com/braidmq/braid/driver"

func init() {
	register("Dedupe/WindowThrottlesPastCompletion",
		"A window throttles even past its job's completion.",
		func(t *T) {
			t.finished(100, request("a", window("k", 1000)), driver.Completed)
			before := t.snapshot("a")
			t.duplicate(500, request("b", window("k", 1000)), "a")
			t.duplicate(1099, request("b", dedupe("k")), "a")
			t.unchanged(before)
		})

	register("Dedupe/WindowOutlivesItsJob",
		"A window stays when its job is removed.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000)))
			t.remove(100, "a")
			t.duplicate(999, request("b", window("k", 1000)), "a")
			t.insert(1000, request("c", window("k", 1000)))
		})

	register("Dedupe/WindowEndsAtItsExpiry",
		"An entry at its expiry holds nothing, also while its job is not finished.",
		func(t *T) {
			t.insert(100, request("a", window("k", 1000)))
			t.duplicate(1099, request("b", window("k", 1000)), "a")
			t.insert(1100, request("b", window("k", 1000)))
			t.inState("a", driver.Waiting)
			t.duplicate(2099, request("c", window("k", 1000)), "b")
		})

	register("Dedupe/WindowFromTimeZero",
		"A window that opens at time 0 is a window like any other.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1)))
			t.duplicate(0, request("b", window("k", 1)), "a")
			t.insert(1, request("b", window("k", 1)))
		})

	register("Dedupe/WindowIsNotPushedOut",
		"A duplicate without extend does not push the window out.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000)))
			t.duplicate(900, request("b", window("k", 1000)), "a")
			t.insert(1000, request("b", window("k", 1000)))
		})

	register("Dedupe/ExtendRestartsTheWindow",
		"A duplicate with extend and a ttl restarts the window from now.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000)))
			t.duplicate(900, request("b", window("k", 500), extending), "a")
			t.duplicate(1399, request("b", window("k", 500)), "a")
			t.insert(1400, request("b", window("k", 500)))
		})

	register("Dedupe/ExtendWithoutTTLLeavesTheWindow",
		"A duplicate with extend but without a ttl does not push the window out.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000)))
			t.duplicate(900, request("b", dedupe("k"), extending), "a")
			t.insert(1000, request("b", window("k", 1000)))
		})

	register("Dedupe/ExtendOpensNoWindow",
		"Extend restarts a window; a key that was taken without a ttl gets none.",
		func(t *T) {
			run := t.start(0, request("a", dedupe("k")))
			t.duplicate(100, request("b", window("k", 9000), extending), "a")
			t.complete(200, run, `1`)
			t.insert(300, request("b", dedupe("k")))
		})

	register("Dedupe/ReplaceRewritesADelayedJob",
		"Replace rewrites the payload, metadata, priority, attemptsMax, backoff, keep, timeout, trace and RunAt of a delayed job in place; id, seq, ledger and queue stay.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k"), after(5000), metadata("old", "1")))
			before := t.snapshot("a")
			r := request("b", everything, inQueue("other"), dedupe("k"), replacing, after(2000))
			r.Parent = nil
			t.duplicate(1000, r, "a")
			t.changed(before, func(s *snapshot) {
				s.Job.Spec = r.Spec
				s.Job.Queue = someQueue
				s.Job.RunAt = 3000
			})
			t.equal("jobs that exist", t.present("a", "b"), []string{"a"})
			t.equal("counts", t.counts(someQueue), driver.Counts{Delayed: 1})
		})

	register("Dedupe/ReplaceClearsWhatTheRequestLeavesOut",
		"Replace rewrites the fields also where the new request leaves them out.",
		func(t *T) {
			first := request("a", everything, dedupe("k"), after(5000))
			first.Parent = nil
			t.insert(0, first)
			before := t.snapshot("a")
			r := request("a2", payload(""), dedupe("k"), replacing, after(1000))
			t.duplicate(100, r, "a")
			t.changed(before, func(s *snapshot) {
				s.Job.Spec = r.Spec
				s.Job.RunAt = 1100
			})
		})

	register("Dedupe/ReplaceReArms",
		"A replaced job runs at its new RunAt, not at the old one.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k"), after(1000)))
			t.duplicate(900, request("b", dedupe("k"), replacing, after(1000), payload(`2`)), "a")
			t.equal("claimed at the old RunAt", len(t.claim(1899, 1)), 0)
			run := t.claimOne(1900)
			t.equal("payload", run.Payload, []byte(`2`))
		})

	register("Dedupe/ReplaceToAnEarlierTime",
		"A replaced job may run earlier than it was going to; without a delay at once.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k"), after(9000)), request("b", dedupe("l"), after(9000)))
			t.duplicate(100, request("x", dedupe("k"), replacing, after(100)), "a")
			t.duplicate(100, request("x", dedupe("l"), replacing), "b")
			if got := t.job("b").RunAt; got != 100 {
				t.Errorf("RunAt is %d; want 100", got)
			}
			t.equal("claimed at once", idsOf(t.claimWith(100, driver.ClaimRequest{Limit: 5}).Jobs), []string{"b"})
			t.equal("claimed later", idsOf(t.claimWith(200, driver.ClaimRequest{Limit: 5}).Jobs), []string{"a"})
		})

	register("Dedupe/ReplaceChangesMetadataFilters",
		"After a replace a list finds the job by its new metadata, and no more by its old.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k"), after(9000), metadata("tenant", "old")))
			t.duplicate(100, request("x", dedupe("k"), replacing, after(100), metadata("tenant", "new")), "a")
			t.equal("old", t.listAll(driver.ListRequest{Metadata: map[string]string{"tenant": "old"}}), []string(nil))
			t.equal("new", t.listAll(driver.ListRequest{Metadata: map[string]string{"tenant": "new"}}), []string{"a"})
		})

	for _, state := range []driver.State{driver.Waiting, driver.Active} {
		register("Dedupe/ReplaceLeaves"+stateWord(state),
			"Replace rewrites a job only while it is delayed; else the request is a duplicate that changes nothing.",
			func(t *T) {
				t.bring("a", state, dedupe("k"))
				before := t.snapshot("a")
				t.duplicate(400, request("b", dedupe("k"), replacing, payload(`2`), after(100)), "a")
				t.unchanged(before)
			})
	}

	register("Dedupe/ReplaceLeavesAFinishedJobInItsWindow",
		"Within the window of a finished job a replace is a duplicate that changes nothing.",
		func(t *T) {
			t.finished(100, request("a", window("k", 1000)), driver.Completed)
			before := t.snapshot("a")
			t.duplicate(400, request("b", window("k", 1000), replacing, payload(`2`)), "a")
			t.unchanged(before)
			t.insert(1100, request("c", window("k", 1000), replacing))
		})

	register("Dedupe/ReplaceOfAFinishedJobInserts",
		"Without a window, a replace whose keyed job has finished inserts a new job.",
		func(t *T) {
			t.finished(100, request("a", dedupe("k")), driver.Completed)
			t.insert(400, request("b", dedupe("k"), replacing))
		})

	register("Dedupe/ReplaceRestartsTheWindow",
		"A replace with a ttl restarts the window from now.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000), after(5000)))
			t.duplicate(900, request("b", window("k", 1000), replacing, after(5000)), "a")
			t.duplicate(1899, request("b", window("k", 1000)), "a")
			t.insert(1900, request("b", window("k", 1000)))
		})

	register("Dedupe/ReplaceWithoutTTLLeavesTheWindow",
		"A replace without a ttl does not push the window out.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000), after(5000)))
			t.duplicate(900, request("b", dedupe("k"), replacing, after(5000)), "a")
			t.insert(1000, request("b", window("k", 1000)))
		})

	register("Dedupe/ReplaceAfterTheWindowInserts",
		"An entry past its expiry holds nothing for a replace either: a new job, and the delayed one stays as it was.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000), after(5000)))
			before := t.snapshot("a")
			t.insert(1000, request("b", window("k", 1000), replacing, after(5000)))
			t.unchanged(before)
		})

	register("Dedupe/ReplaceOfARetriedJob",
		"Replace also rewrites a job that is delayed because it was retried; its ledger and attempts stay.",
		func(t *T) {
			run := t.start(0, request("a", dedupe("k")))
			ack := run.ack(driver.AckRetry)
			ack.Delay = 5000
			t.settle(100, ack, driver.Delayed)
			before := t.snapshot("a")
			t.duplicate(200, request("b", dedupe("k"), replacing, payload(`2`), after(1000)), "a")
			t.changed(before, func(s *snapshot) {
				s.Job.Payload = []byte(`2`)
				s.Job.RunAt = 1200
			})
		})

	register("Dedupe/SweepDeletesExpiredEntries",
		"The sweep deletes entries that hold nothing any more, and no others.",
		func(t *T) {
			t.insert(0,
				request("a", window("k-1", 1000)), request("b", window("k-2", 1000)), request("c", window("k-3", 2000)),
				request("d", dedupe("k-4")))
			t.equal("deleted before the first expiry", t.sweepDedupe(999, 10), 0)
			t.equal("deleted at the first expiry", t.sweepDedupe(1000, 10), 2)
			t.equal("deleted again", t.sweepDedupe(1000, 10), 0)
			t.duplicate(1000, request("x", dedupe("k-3")), "c")
			t.duplicate(1000, request("x", dedupe("k-4")), "d")
			t.insert(1000, request("e", window("k-1", 1000)))
		})

	register("Dedupe/SweepIsPaged",
		"A sweep stops at its limit, says so, and goes on with the next call.",
		func(t *T) {
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				t.insert(0, request(id, window("k-"+id, 1000)))
			}
			first, err := t.Store.SweepDedupe(t.ctx, 5000, 2)
			t.must("SweepDedupe", err)
			t.equal("first page", first, driver.SweepResult{Deleted: 2, More: true})
			t.equal("deleted by the rest", t.sweepDedupe(5000, 2), 3)
		})

	register("Dedupe/SweepSparesAnExtendedWindow",
		"The sweep goes by the window's latest expiry.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000)))
			t.duplicate(500, request("b", window("k", 1000), extending), "a")
			t.equal("deleted at the first expiry", t.sweepDedupe(1000, 10), 0)
			t.duplicate(1499, request("b", dedupe("k")), "a")
			t.equal("deleted at the latest expiry", t.sweepDedupe(1500, 10), 1)
		})
}

// sweepDedupe sweeps dedup entries in pages until nothing is left, and returns
// how many were deleted.
func (t *T) sweepDedupe(now driver.Time, limit int) int {
	t.Helper()
	return t.sweep("SweepDedupe", t.Store.SweepDedupe, now, limit)
}

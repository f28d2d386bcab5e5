package drivertest

import "github.com/braidmq/braid/driver"

func init() {
	for _, state := range []driver.State{driver.Waiting, driver.Delayed, driver.Active} {
		register("Dedupe/HoldsWhile"+stateWord(state),
			"A key without ttl holds while its job is not terminal: a duplicate, with the keyed id, and nothing changes.",
			func(t *T) {
				t.bring("a", state, dedupe("k"))
				before := t.snapshot("a")
				t.duplicate(400, request("b", everything, dedupe("k")), "a")
				t.duplicate(400, request("", dedupe("k")), "a")
				t.unchanged(before)
				t.equal("jobs that exist", t.present("a", "b"), []string{"a"})
			})
	}

	for _, state := range []driver.State{driver.Completed, driver.Failed, driver.Cancelled} {
		register("Dedupe/FreedWhen"+stateWord(state),
			"A job that reaches a terminal state frees its key without ttl at once.",
			func(t *T) {
				t.bring("a", state, dedupe("k"))
				t.insert(400, request("b", dedupe("k")))
				t.duplicate(400, request("c", dedupe("k")), "b")
			})
	}

	register("Dedupe/FreedWhenRemoved",
		"A job that is removed frees its key without ttl at once.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k")))
			t.equal("Remove", t.remove(0, "a"), []bool{true})
			t.insert(0, request("b", dedupe("k")))
		})

	register("Dedupe/FreedWhenStalledForGood",
		"A job that the store fails frees its key without ttl at once.",
		func(t *T) {
			t.start(0, request("a", dedupe("k")))
			t.equal("recovered", t.recover(40_000, 0), []driver.Recovered{{ID: "a", Failed: true}})
			t.insert(40_000, request("b", dedupe("k")))
		})

	register("Dedupe/FreedWhenKeptByNobody",
		"A job that its keep removes at once frees its key without ttl.",
		func(t *T) {
			none := driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}}
			t.finished(0, request("a", dedupe("k"), keep(none)), driver.Completed)
			t.equal("jobs that exist", t.present("a"), []string(nil))
			t.insert(0, request("b", dedupe("k")))
		})

	for _, kind := range []driver.AckKind{driver.AckRetry, driver.AckSnooze, driver.AckRelease} {
		register("Dedupe/HoldsOver"+kindWord(kind),
			"A job that goes back for another run keeps its key.",
			func(t *T) {
				run := t.start(0, request("a", dedupe("k")))
				t.settle(100, run.ack(kind), driver.Waiting)
				t.duplicate(100, request("b", dedupe("k")), "a")
			})
	}

	register("Dedupe/RecordTellsTheKey",
		"The record has the key, and whether it was taken with a ttl.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k")), request("b", window("w", 100)), request("c"))
			for _, want := range []driver.Job{{ID: "a", DedupeKey: "k"}, {ID: "b", DedupeKey: "w", DedupeTTL: true}, {ID: "c"}} {
				got := t.job(want.ID)
				if got.DedupeKey != want.DedupeKey || got.DedupeTTL != want.DedupeTTL {
					t.Errorf("job %s has key %q, ttl %v; want %q, %v", want.ID, got.DedupeKey, got.DedupeTTL, want.DedupeKey, want.DedupeTTL)
				}
			}
		})

	register("Dedupe/IsPerName",
		"Dedup is scoped per job name.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k")), request("b", named("other"), dedupe("k")))
			t.duplicate(0, request("c", named("other"), dedupe("k")), "b")
		})

	register("Dedupe/NameAndKeyDoNotRunTogether",
		"A name and a key that together spell what another pair spells are another key.",
		func(t *T) {
			t.insert(0,
				request("1", named("a:b"), dedupe("c")), request("2", named("a"), dedupe("b:c")),
				request("3", named("a/b"), dedupe("c")), request("4", named("a"), dedupe("b/c")),
				request("5", named("a|b"), dedupe("c")), request("6", named("a"), dedupe("b|c")))
		})

	register("Dedupe/SpansQueues",
		"Dedup does not look at the queue.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k")))
			t.duplicate(0, request("b", inQueue("other"), dedupe("k")), "a")
			t.equal("counts of the other queue", t.counts("other"), driver.Counts{})
		})

	register("Dedupe/OldOwnerFreesNothing",
		"A finished or removed job frees its key only if it still owns it.",
		func(t *T) {
			run := t.start(0, request("a", window("k", 1000)))
			t.insert(2000, request("b", dedupe("k")))
			t.complete(2100, run, `1`)
			t.duplicate(2200, request("c", dedupe("k")), "b")
			t.remove(2300, "a")
			t.duplicate(2400, request("d", dedupe("k")), "b")
		})

	register("Dedupe/NewOwnerTakesOver",
		"Where the entry is dead, the new job takes the key over.",
		func(t *T) {
			t.bring("a", driver.Completed, dedupe("k"))
			t.insert(400, request("b", window("k", 1000)))
			t.duplicate(1399, request("c", dedupe("k")), "b")
			t.insert(1400, request("d", dedupe("k")))
		})

	register("Dedupe/CancelByKey",
		"CancelByDedupe cancels the pending job that holds the key and says whether there was one; idempotent.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k")), request("b", dedupe("late"), after(5000)))
			for _, want := range []struct{ id, key string }{{"a", "k"}, {"b", "late"}} {
				before := t.snapshot(want.id)
				t.cancelByKey(100, someName, want.key, true)
				t.changed(before, func(s *snapshot) {
					s.ended(100, driver.Cancelled)
					s.entry(driver.Attempt{FinishedAt: 100, Outcome: driver.OutcomeCancelled})
				})
				t.cancelByKey(100, someName, want.key, false)
			}
			t.insert(200, request("c", dedupe("k")))
		})

	register("Dedupe/CancelByKeyFindsOnlyPendingJobs",
		"For CancelByDedupe an active or terminal job, an expired entry and an unknown key count as none.",
		func(t *T) {
			t.bring("active", driver.Active, dedupe("active"))
			t.bring("done", driver.Completed, window("done", 9000))
			t.insert(0, request("expired", window("expired", 300)))
			for _, id := range []string{"active", "done", "expired"} {
				before := t.snapshot(id)
				t.cancelByKey(300, someName, id, false)
				t.unchanged(before)
			}
			t.cancelByKey(300, someName, "unknown", false)
			t.cancelByKey(300, "other", "active", false)
		})

	register("Dedupe/CancelByKeyLeavesTheWindow",
		"A window stays when its job is cancelled.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000)))
			t.cancelByKey(100, someName, "k", true)
			t.duplicate(999, request("b", window("k", 1000)), "a")
			t.insert(1000, request("c", window("k", 1000)))
		})

	register("Dedupe/RetryTakesTheKeyAgain",
		"Operator retry takes a key without ttl again if it is free.",
		func(t *T) {
			t.bring("a", driver.Failed, dedupe("k"))
			t.retry(400, "a")
			if got := t.job("a").DedupeKey; got != "k" {
				t.Errorf("DedupeKey is %q after the retry; want k", got)
			}
			t.duplicate(400, request("b", dedupe("k")), "a")
			t.complete(500, t.claimOne(500), `1`)
			t.insert(500, request("c", dedupe("k")))
		})

	register("Dedupe/RetryGoesAheadWithoutATakenKey",
		"Operator retry goes ahead without its key if another job has it, and does not free it later.",
		func(t *T) {
			t.bring("a", driver.Failed, dedupe("k"))
			t.insert(400, request("b", dedupe("k"), after(9000)))
			if state := t.retry(400, "a"); state != driver.Waiting {
				t.Errorf("Retry left the job %v; want waiting", state)
			}
			if got := t.job("a").DedupeKey; got != "" {
				t.Errorf("DedupeKey is %q after the retry; want none", got)
			}
			t.complete(500, t.claimOne(500), `1`)
			t.duplicate(600, request("c", dedupe("k")), "b")
		})

	register("Dedupe/RetryTakesAKeyFreedMeanwhile",
		"Operator retry takes its key again also where another job had it meanwhile.",
		func(t *T) {
			t.bring("a", driver.Failed, dedupe("k"))
			t.finished(400, request("b", dedupe("k")), driver.Completed)
			t.retry(500, "a")
			t.duplicate(500, request("c", dedupe("k")), "a")
		})

	register("Dedupe/RetryLeavesAnExpiredWindow",
		"Operator retry takes only a key without ttl again: a window that is over stays over, and its key is free for another job, which the retried one does not disturb.",
		func(t *T) {
			t.bring("a", driver.Failed, window("k", 100))
			t.retry(400, "a")
			t.cancelByKey(400, someName, "k", false)
			t.insert(400, request("b", dedupe("k"), after(9000)))
			t.complete(500, t.claimOne(500), `1`)
			t.duplicate(600, request("c", dedupe("k")), "b")
		})

	register("Dedupe/RetryLeavesALiveWindow",
		"Operator retry neither restarts nor ends the window of its job.",
		func(t *T) {
			t.bring("a", driver.Failed, window("k", 1000)) // at 200
			t.retry(400, "a")
			t.duplicate(1199, request("b", dedupe("k")), "a")
			t.insert(1200, request("b", dedupe("k")))
		})

	register("Dedupe/WindowOfAJobThatVanished",
		"A key whose job is gone finds nothing to replace or cancel, throttles until its window is over, and is then taken over.",
		func(t *T) {
			t.insert(0, request("a", window("k", 1000), after(5000)))
			t.equal("Remove", t.remove(100, "a"), []bool{true})
			t.cancelByKey(200, someName, "k", false)
			t.duplicate(300, request("b", dedupe("k"), replacing, after(100)), "a")
			t.duplicate(999, request("b", dedupe("k")), "a")
			t.equal("jobs that exist", t.present("a", "b"), []string(nil))
			t.insert(1000, request("b", dedupe("k"), replacing, after(100)))
			t.duplicate(1000, request("c", dedupe("k")), "b")
		})
}

// cancelByKey cancels by dedup key and checks the answer.
func (t *T) cancelByKey(now driver.Time, name, key string, want bool) {
	t.Helper()
	got, err := t.Store.CancelByDedupe(t.ctx, now, name, key)
	t.must("CancelByDedupe", err)
	if got != want {
		t.Errorf("CancelByDedupe(%q, %q) at %d answered %v; want %v", name, key, now, got, want)
	}
}

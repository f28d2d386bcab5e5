package drivertest

import (
	"fmt"
	"math"
	"strings"

	"github.com/braidmq/braid/driver"
)

func init() {
	register("Claim/FirstInFirstOut",
		"Jobs of one priority are claimed first in, first out.",
		func(t *T) {
			t.insert(0, request("c"), request("a"))
			t.insert(0, request("b"))
			t.equal("claimed", t.drain(0), []string{"c", "a", "b"})
		})

	register("Claim/HigherPriorityFirst",
		"Jobs are claimed by priority, high to low, and first in, first out inside.",
		func(t *T) {
			t.insert(0,
				request("zero-1"), request("low", priority(-5)), request("high-1", priority(9)), request("zero-2"),
				request("high-2", priority(9)), request("lowest", priority(math.MinInt32)), request("highest", priority(math.MaxInt32)))
			t.equal("claimed", t.drain(0), []string{"highest", "high-1", "high-2", "zero-1", "zero-2", "low", "lowest"})
		})

	register("Claim/OrderWithinOneBatch",
		"The jobs of one claim come best first.",
		func(t *T) {
			t.insert(0, request("a"), request("b", priority(1)), request("c"), request("d", priority(2)))
			t.equal("claimed", idsOf(t.claimWith(0, driver.ClaimRequest{Limit: 3}).Jobs), []string{"d", "b", "a"})
		})

	register("Claim/OnlyItsQueue",
		"A claim finds jobs of its queue only.",
		func(t *T) {
			t.insert(0, request("a", inQueue("other")), request("b"))
			t.equal("claimed", t.drain(0), []string{"b"})
			t.inState("a", driver.Waiting)
		})

	register("Claim/OnlyItsNames",
		"A claim finds jobs whose name it lists, however many others stand in front.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range driver.ChunkJobs {
				batch = append(batch, request(fmt.Sprintf("foreign-%d", i), named("foreign"), priority(5)))
			}
			t.insert(0, append(batch, request("mine"))...)
			t.equal("claimed", idsOf(t.claimWith(0, driver.ClaimRequest{Limit: 10}).Jobs), []string{"mine"})
			t.equal("counts", t.counts(someQueue), driver.Counts{Waiting: driver.ChunkJobs, Active: 1})
		})

	register("Claim/MergesNames",
		"Jobs of several names are claimed in one order: priority, then first in, first out.",
		func(t *T) {
			t.insert(0, request("1", named("a")), request("2", named("b")), request("3", named("a"), priority(1)),
				request("4", named("c")), request("5", named("b"), priority(1)), request("6", named("a")))
			got := t.claimWith(0, driver.ClaimRequest{Names: []string{"b", "a"}, Limit: 10})
			t.equal("claimed", idsOf(got.Jobs), []string{"3", "5", "1", "2", "6"})
		})

	register("Claim/NameListedTwice",
		"A name that is listed twice changes nothing.",
		func(t *T) {
			t.insert(0, request("a"), request("b"))
			got := t.claimWith(0, driver.ClaimRequest{Names: []string{someName, someName}, Limit: 10})
			t.equal("claimed", idsOf(got.Jobs), []string{"a", "b"})
		})

	register("Claim/WithoutNamesOnlyPromotes",
		"Without names nothing is claimed; due jobs are promoted all the same.",
		func(t *T) {
			t.insert(0, request("a"), request("b", after(100)))
			for _, names := range [][]string{{}, {"unknown"}} {
				got := t.claimWith(100, driver.ClaimRequest{Names: names, Limit: 10})
				t.equal("claimed", idsOf(got.Jobs), []string(nil))
			}
			t.equal("counts", t.counts(someQueue), driver.Counts{Waiting: 2})
		})

	register("Claim/UpToItsLimit",
		"A claim takes up to its limit, and no job twice.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"))
			t.equal("first", idsOf(t.claimWith(0, driver.ClaimRequest{Limit: 2}).Jobs), []string{"a", "b"})
			t.equal("second", idsOf(t.claimWith(0, driver.ClaimRequest{Limit: 2}).Jobs), []string{"c"})
			t.equal("third", idsOf(t.claimWith(0, driver.ClaimRequest{Limit: 2}).Jobs), []string(nil))
		})

	register("Claim/FewerOnlyIfItSaysSo",
		"A claim that took fewer jobs than its limit while more were there answers a NextRunAt at or before now.",
		func(t *T) {
			n := driver.ChunkJobs + 50
			var batch []driver.EnqueueRequest
			for i := range n {
				batch = append(batch, request(fmt.Sprintf("job-%d", i)))
			}
			t.insert(0, batch...)
			text := `"` + strings.Repeat("x", 3<<20) + `"`
			t.insert(0, request("a", inQueue("large"), payload(text)), request("b", inQueue("large"), payload(text)),
				request("c", inQueue("large"), payload(text)), request("d", inQueue("large"), payload(text)))
			for queue, n := range map[string]int{someQueue: n, "large": 4} {
				for taken := 0; taken < n; {
					got := t.claimWith(100, driver.ClaimRequest{Queue: queue, Limit: n})
					taken += len(got.Jobs)
					if next, ok := got.NextRunAt.Get(); len(got.Jobs) == 0 || taken < n && (!ok || next > 100) {
						t.Fatalf("queue %s: a claim of %d took %d, %d of %d in all, NextRunAt %+v", queue, n, len(got.Jobs), taken, n, got.NextRunAt)
					}
				}
			}
		})

	register("Claim/LocksTheJob",
		"A claimed job is active, with worker, lock expiry and ProcessedAt; seq, RunAt, attempts and ledger stay. The claim returns the whole record.",
		func(t *T) {
			t.insert(0, request("a", everything))
			before := t.snapshot("a")
			got := t.claimWith(700, driver.ClaimRequest{Worker: "w-9", LockDuration: 5000})
			after := t.changed(before, func(s *snapshot) {
				s.Job.State = driver.Active
				s.Job.LockedBy = "w-9"
				s.Job.LockExpiresAt = driver.Some(driver.Time(5700))
				s.Job.ProcessedAt = driver.Some(driver.Time(700))
			})
			t.equal("claimed record", *got.Jobs[0], after.Job)
		})

	register("Claim/AtTimeZero",
		"The time 0 is a time like any other: ProcessedAt 0 is present.",
		func(t *T) {
			t.insert(0, request("a"))
			j := t.claimOne(0)
			t.equal("ProcessedAt", j.ProcessedAt, driver.Some(driver.Time(0)))
			t.equal("record", *t.job("a"), *j.Job)
		})

	register("Claim/PromotedJobsKeepTheirPlace",
		"A promotion keeps seq and RunAt: a due job stands where it was enqueued.",
		func(t *T) {
			t.insert(0, request("late", after(2000)), request("soon", after(1000)), request("now"))
			before := t.snapshot("late")
			t.claimWith(3000, driver.ClaimRequest{Names: []string{"unknown"}})
			t.changed(before, func(s *snapshot) { s.Job.State = driver.Waiting })
			t.equal("claimed", t.drain(3000), []string{"late", "soon", "now"})
		})

	register("Claim/PromotionWhilePaused",
		"Due jobs are promoted also while the queue is paused, and nothing is claimed.",
		func(t *T) {
			t.insert(0, request("a", after(100)), request("b"))
			t.pause(someQueue)
			got := t.claimWith(100, driver.ClaimRequest{Limit: 10})
			t.equal("claimed", idsOf(got.Jobs), []string(nil))
			t.equal("counts", t.counts(someQueue), driver.Counts{Waiting: 2})
			t.resume(someQueue)
			t.equal("claimed after the pause", t.drain(100), []string{"a", "b"})
		})

	register("Claim/ManyDueJobs",
		"However many jobs are due, claims come to all of them without waiting: while some remain, NextRunAt is at or before now.",
		func(t *T) {
			n := 3*driver.ChunkJobs + 50
			var batch []driver.EnqueueRequest
			for i := range n {
				batch = append(batch, request(fmt.Sprintf("job-%d", i), after(driver.Millis(1+i))))
			}
			ids := t.insert(0, batch...)
			got := t.drain(5000)
			if len(got) != n {
				t.Fatalf("claims found %d jobs of %d", len(got), n)
			}
			t.equal("claimed", got, ids)
		})

	register("Claim/DueJobsOfOthers",
		"A claim promotes due jobs of other names too, up to a bound; while due jobs remain unpromoted it answers a NextRunAt at or before now.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range 5 * driver.ChunkJobs {
				batch = append(batch, request(fmt.Sprintf("job-%d", i), named("foreign"), after(driver.Millis(1+i%7))))
			}
			t.insert(0, batch...)
			for range len(batch) {
				next := t.claimWith(100, driver.ClaimRequest{}).NextRunAt
				left := t.counts(someQueue).Delayed
				if left == 0 {
					return
				}
				if !next.Set || next.Value > 100 {
					t.Fatalf("%d due jobs are left unpromoted, and NextRunAt is %+v; want at most now", left, next)
				}
			}
			t.Errorf("claims do not promote every due job")
		})

	register("Claim/NextRunAt",
		"A claim that found too few answers the earliest time at which a job falls due: maybe earlier than true, never later, absent if there is none.",
		func(t *T) {
			t.equal("NextRunAt of an empty queue", t.claimWith(0, driver.ClaimRequest{}).NextRunAt, driver.Opt[driver.Time]{})
			t.insert(0, request("b", after(900)))
			t.nextBy(0, 900)
			t.insert(0, request("a", after(400)), request("x", inQueue("other"), after(5)))
			t.nextBy(10, 400)
			t.promote(20, "a")
			t.claimOne(20)
			t.nextBy(20, 900)
		})

	register("Claim/NextRunAtAfterARetry",
		"NextRunAt knows jobs that were delayed by a retry, a snooze or a replace.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c", dedupe("k"), after(9000)))
			for _, step := range []struct {
				kind  driver.AckKind
				delay driver.Millis
			}{{driver.AckRetry, 800}, {driver.AckSnooze, 500}} {
				ack := t.claimOne(0).ack(step.kind)
				ack.Delay = step.delay
				t.settle(0, ack, driver.Delayed)
			}
			t.nextBy(0, 500)
			t.duplicate(0, request("d", dedupe("k"), replacing, after(200)), "c")
			t.nextBy(0, 200)
		})

	register("Claim/NoNextRunAtWhilePaused",
		"While the queue is paused there is no NextRunAt: only a wake can help.",
		func(t *T) {
			t.insert(0, request("a", after(900)))
			t.pause(someQueue)
			t.equal("NextRunAt", t.claimWith(0, driver.ClaimRequest{}).NextRunAt, driver.Opt[driver.Time]{})
			t.resume(someQueue)
			t.nextBy(0, 900)
		})

	register("Claim/ResumeReturnsItsJobs",
		"A claim that resumes gets back the jobs that are still active under its token, unchanged, before new ones.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"), request("d", priority(9)))
			first := t.claimWith(100, driver.ClaimRequest{Token: "t", Limit: 3})
			t.equal("first claim", idsOf(first.Jobs), []string{"d", "a", "b"})
			t.settle(150, driver.Ack{ID: "a", Token: "t", Kind: driver.AckComplete}, driver.Completed)
			t.insert(150, request("e", priority(10)))
			before := t.snapshot("d")
			again := t.claimWith(200, driver.ClaimRequest{Token: "t", Limit: 3, Resume: true})
			if len(again.Jobs) != 3 {
				t.Fatalf("the resumed claim found %q; want d, b and a new job", idsOf(again.Jobs))
			}
			t.sameIDs("resumed", idsOf(again.Jobs[:2]), []string{"b", "d"})
			t.equal("the new job", again.Jobs[2].ID, "e")
			t.unchanged(before)
			for _, j := range again.Jobs {
				t.equal("resumed record", *j, *t.job(j.ID))
			}
		})

	register("Claim/ResumeWithinItsLimit",
		"A resumed claim returns at most its limit, and takes nothing new while its own jobs fill it.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"))
			t.claimWith(0, driver.ClaimRequest{Token: "t", Limit: 2})
			again := t.claimWith(0, driver.ClaimRequest{Token: "t", Limit: 2, Resume: true})
			t.sameIDs("resumed", idsOf(again.Jobs), []string{"a", "b"})
			t.inState("c", driver.Waiting)
			one := t.claimWith(0, driver.ClaimRequest{Token: "t", Limit: 1, Resume: true})
			t.equal("number of jobs resumed with a limit of 1", len(one.Jobs), 1)
			t.inState("c", driver.Waiting)
		})

	register("Claim/ResumeOfACallThatNeverArrived",
		"A resumed claim whose first call was not applied is a claim.",
		func(t *T) {
			t.insert(0, request("a"))
			got := t.claimWith(0, driver.ClaimRequest{Token: "t", Resume: true})
			t.equal("claimed", idsOf(got.Jobs), []string{"a"})
		})

	register("Claim/ResumeOfOthersFindsNothing",
		"A resumed claim gets no jobs of another token, and none that were recovered from it.",
		func(t *T) {
			t.insert(0, request("a"), request("b"))
			t.claimWith(0, driver.ClaimRequest{Token: "other"})
			t.claimWith(0, driver.ClaimRequest{Token: "t", LockDuration: 10})
			t.equal("recovered", t.recover(10, 5), []driver.Recovered{{ID: "b"}})
			t.equal("claimed by a third", idsOf(t.claimWith(10, driver.ClaimRequest{Token: "third"}).Jobs), []string{"b"})
			got := t.claimWith(10, driver.ClaimRequest{Token: "t", Resume: true, Limit: 5})
			t.equal("resumed", idsOf(got.Jobs), []string(nil))
		})

	register("Claim/WithoutResumeTheTokenFindsNothing",
		"A claim that does not resume never returns a job that is active.",
		func(t *T) {
			t.insert(0, request("a"))
			t.claimWith(0, driver.ClaimRequest{Token: "t"})
			t.equal("claimed", idsOf(t.claimWith(0, driver.ClaimRequest{Token: "t", Limit: 5}).Jobs), []string(nil))
		})
}

// nextBy claims nothing and holds NextRunAt to be there and at most latest.
func (t *T) nextBy(now, latest driver.Time) {
	t.Helper()
	got := t.claimWith(now, driver.ClaimRequest{Limit: 5})
	if len(got.Jobs) != 0 {
		t.Fatalf("a claim at %d found %q; want none", now, idsOf(got.Jobs))
	}
	if next, ok := got.NextRunAt.Get(); !ok || next > latest {
		t.Errorf("NextRunAt at %d is %+v; want at most %d", now, got.NextRunAt, latest)
	}
}

package drivertest

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

func init() {
	register("Heartbeat/ReportsLostLocks",
		"A heartbeat reports as lost the ids that are not active under their token: unknown, finished, recovered, another's.",
		func(t *T) {
			t.insert(0, request("held"), request("done"), request("anothers"), request("recovered"))
			runs := t.claim(0, 3)
			t.claimWith(0, driver.ClaimRequest{Token: "short", LockDuration: 10})
			t.complete(0, runs[1], `1`)
			t.recover(10, 5)
			got := t.heartbeat(10, runs[0].lock(), runs[1].lock(),
				driver.Lock{ID: "anothers", Token: "wrong"}, driver.Lock{ID: "recovered", Token: "short"},
				driver.Lock{ID: "unknown", Token: "short"})
			t.equal("answer", got, driver.HeartbeatResult{Lost: []string{"anothers", "done", "recovered", "unknown"}})
			t.equal("expiry of the lock with a wrong token", t.job("anothers").LockExpiresAt, driver.Some(driver.Time(0).Add(lockFor)))
			t.equal("expiry of the held lock", t.job("held").LockExpiresAt, driver.Some(driver.Time(10).Add(lockFor)))
		})

	register("Heartbeat/ExtendsALockThatRanOut",
		"A heartbeat extends a lock that has run out but was not recovered yet; recovery then leaves the job.",
		func(t *T) {
			run := t.start(0, request("a"))
			late := driver.Time(0).Add(lockFor) + 100
			t.equal("answer", t.heartbeat(late, run.lock()), driver.HeartbeatResult{})
			t.equal("recovered", t.recover(late, 5), []driver.Recovered(nil))
			t.equal("recovered later", t.recover(late.Add(lockFor), 5), []driver.Recovered{{ID: "a"}})
		})

	register("Heartbeat/DeliversCancelRequests",
		"Jobs with a pending cancel are reported and extended all the same.",
		func(t *T) {
			t.insert(0, request("a"), request("b"))
			runs := t.claim(0, 2)
			t.cancel(100, "b")
			for _, now := range []driver.Time{200, 300} {
				got := t.heartbeat(now, runs[0].lock(), runs[1].lock())
				t.equal("answer", got, driver.HeartbeatResult{CancelRequested: []string{"b"}})
				t.equal("expiry", t.job("b").LockExpiresAt, driver.Some(now.Add(lockFor)))
			}
		})

	register("Heartbeat/MayShortenALock",
		"A heartbeat sets the expiry to now + duration, also where that is earlier.",
		func(t *T) {
			run := t.start(0, request("a"))
			_, err := t.Store.Heartbeat(t.ctx, 100, []driver.Lock{run.lock()}, 50)
			t.must("Heartbeat", err)
			t.equal("recovered", t.recover(150, 5), []driver.Recovered{{ID: "a"}})
		})

	register("Heartbeat/EmptyBatch", "An empty batch is answered with nothing.",
		func(t *T) { t.equal("answer", t.heartbeat(0), driver.HeartbeatResult{}) })

	register("Heartbeat/ManyLocks",
		"A heartbeat of more locks than a chunk extends all of them.",
		func(t *T) {
			n := driver.ChunkJobs + 20
			var batch []driver.EnqueueRequest
			for i := range n {
				batch = append(batch, request(fmt.Sprintf("job-%d", i)))
			}
			t.insert(0, batch...)
			var locks []driver.Lock
			for len(locks) < n {
				runs := t.claim(0, 200)
				if len(runs) == 0 {
					t.Fatalf("claims found %d jobs of %d", len(locks), n)
				}
				for _, r := range runs {
					locks = append(locks, r.lock())
				}
			}
			t.equal("answer", t.heartbeat(1000, locks...), driver.HeartbeatResult{})
			t.equal("recovered at the first expiry", len(t.recover(driver.Time(0).Add(lockFor), 5)), 0)
		})

	register("Stall/RecoveredAtItsExpiry",
		"A job is recovered from LockExpiresAt on, and not before.",
		func(t *T) {
			t.start(0, request("a"))
			expiry := driver.Time(0).Add(lockFor)
			t.equal("recovered before", t.recover(expiry-1, 5), []driver.Recovered(nil))
			t.equal("recovered at the expiry", t.recover(expiry, 5), []driver.Recovered{{ID: "a"}})
			t.equal("recovered again", t.recover(expiry, 5), []driver.Recovered(nil))
		})

	register("Stall/InOrderOfExpiryThenID",
		"Stalled jobs are recovered in the order of their lock's expiry, then id.",
		func(t *T) {
			t.insert(0, request("d"), request("b"), request("c"), request("a"))
			t.claimWith(0, driver.ClaimRequest{LockDuration: 300})
			t.claimWith(0, driver.ClaimRequest{LockDuration: 100, Limit: 2})
			t.claimWith(0, driver.ClaimRequest{LockDuration: 200})
			t.equal("recovered", t.recover(5000, 5), []driver.Recovered{{ID: "b"}, {ID: "c"}, {ID: "a"}, {ID: "d"}})
		})

	register("Stall/IsPaged",
		"A recovery stops at its limit, says so, and goes on with the next call.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"))
			t.claim(0, 3)
			var got []driver.Recovered
			for range 10 {
				page, err := t.Store.RecoverStalled(t.ctx, 50_000, driver.RecoverRequest{MaxStalled: 5, Limit: 2})
				t.must("RecoverStalled", err)
				if len(page.Jobs) > 2 {
					t.Errorf("RecoverStalled returned %d jobs; the limit was 2", len(page.Jobs))
				}
				got = append(got, page.Jobs...)
				if !page.More {
					break
				}
			}
			t.equal("recovered", got, []driver.Recovered{{ID: "a"}, {ID: "b"}, {ID: "c"}})
		})

	register("Stall/CancelledJobsHideNothing",
		"Jobs whose pending cancel is honoured are not reported, and do not keep a page from those behind them.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"))
			t.claim(0, 3)
			t.cancel(1, "a")
			t.cancel(1, "b")
			var got []driver.Recovered
			for range 10 {
				page, err := t.Store.RecoverStalled(t.ctx, 50_000, driver.RecoverRequest{MaxStalled: 5, Limit: 2})
				t.must("RecoverStalled", err)
				got = append(got, page.Jobs...)
				if !page.More {
					break
				}
			}
			t.equal("recovered", got, []driver.Recovered{{ID: "c"}})
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 1, Cancelled: 2})
		})

	register("Stall/RepeatOffenderFails",
		"A job that stalls more than the allowed number of times becomes failed.",
		func(t *T) {
			t.insert(0, request("a"))
			now := driver.Time(0)
			for _, failed := range []bool{false, false, true} {
				t.claimOne(now)
				now = now.Add(lockFor)
				t.equal("recovered", t.recover(now, 2), []driver.Recovered{{ID: "a", Failed: failed}})
			}
			j := t.job("a")
			if j.State != driver.Failed || j.StalledCount != 3 || j.FailedReason != driver.StalledReason || j.AttemptsMade != 0 {
				t.Errorf("state %v, stalledCount %d, failedReason %q, attemptsMade %d; want failed, 3, %q, 0",
					j.State, j.StalledCount, j.FailedReason, j.AttemptsMade, driver.StalledReason)
			}
			t.equal("claimed", len(t.claim(now, 1)), 0)
		})

	register("Stall/GoesBackToItsPlace",
		"A recovered job stands where it stood, in front of those behind it.",
		func(t *T) {
			t.insert(0, request("a"), request("b"))
			t.claimOne(0)
			t.recover(50_000, 5)
			t.equal("claimed", t.drain(50_000), []string{"a", "b"})
		})

	register("Stall/WhateverItsNameAndQueue",
		"Recovery works for every job, whatever its name and queue, also while the queue is paused.",
		func(t *T) {
			t.start(0, request("a", named("one")))
			t.start(0, request("b", named("two"), inQueue("other")))
			t.pause("other")
			t.equal("recovered", t.recover(50_000, 5), []driver.Recovered{{ID: "a"}, {ID: "b"}})
		})

	register("Stall/LeavesOthersAlone",
		"Recovery touches only active jobs whose lock has run out.",
		func(t *T) {
			for _, state := range []driver.State{driver.Waiting, driver.Delayed, driver.Completed} {
				t.bring(state.String(), state, named(state.String()))
			}
			held := t.start(100, request("held", named("held")))
			before := []snapshot{t.snapshot("waiting"), t.snapshot("delayed"), t.snapshot("completed"), t.snapshot(held.ID)}
			t.equal("recovered", t.recover(1000, 5), []driver.Recovered(nil))
			for _, s := range before {
				t.unchanged(s)
			}
		})

	register("Stall/FinishedJobStands",
		"A recovery after a job finished or was claimed anew leaves it as it is.",
		func(t *T) {
			run := t.start(0, request("a"))
			t.complete(100, run, `1`)
			before := t.snapshot("a")
			t.equal("recovered", t.recover(1_000_000, 5), []driver.Recovered(nil))
			t.unchanged(before)
		})

	register("Stall/StalledCountOfZeroAllowed",
		"With maxStalled 0 the first stall fails the job, and a retry of the operator gives it a fresh budget.",
		func(t *T) {
			t.start(0, request("a"))
			t.equal("recovered", t.recover(50_000, 0), []driver.Recovered{{ID: "a", Failed: true}})
			t.retry(50_000, "a")
			t.equal("stalledCount", t.job("a").StalledCount, int32(0))
			t.claimOne(50_000)
			t.equal("recovered again", t.recover(90_000, 1), []driver.Recovered{{ID: "a"}})
		})
}

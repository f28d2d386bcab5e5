package drivertest

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

// queues returns the queues that exist.
func (t *T) queues() []string {
	t.Helper()
	queues, err := t.Store.Queues(t.ctx)
	t.must("Queues", err)
	return queues
}

// position holds the position of a job; -1 is absent.
func (t *T) position(id string, want int) {
	t.Helper()
	got, err := t.Store.Position(t.ctx, id)
	t.must("Position", err)
	if n := got.Or(-1); n != want {
		t.Errorf("Position(%q) is %d; want %d (-1: absent)", id, n, want)
	}
}

func init() {
	register("Counts/PerStateAndQueue",
		"Counts gives the exact number of jobs per state, of one queue or of all.",
		func(t *T) {
			for i, state := range plainStates {
				for n := range i + 1 {
					t.bring(fmt.Sprintf("%v-%d", state, n), state, named(state.String()))
				}
			}
			t.bring("x", driver.Waiting, inQueue("other"))
			t.bring("y", driver.Failed, inQueue("third"))
			t.equal("q", t.counts(someQueue), driver.Counts{Waiting: 1, Delayed: 2, Active: 3, Completed: 4, Failed: 5, Cancelled: 6})
			t.equal("other", t.counts("other"), driver.Counts{Waiting: 1})
			t.equal("all", t.counts(""), driver.Counts{Waiting: 2, Delayed: 2, Active: 3, Completed: 4, Failed: 6, Cancelled: 6})
		})

	register("Counts/OfNothing",
		"The counts of an empty store and of an unknown queue are zero.",
		func(t *T) {
			t.equal("all", t.counts(""), driver.Counts{})
			t.equal("unknown", t.counts("unknown"), driver.Counts{})
			t.equal("queues", t.queues(), []string(nil))
		})

	register("Counts/FollowEveryTransition",
		"Counts stay exact through claims, acks, cancels, retries, stalls, promotions and removals.",
		func(t *T) {
			step := func(what string, want driver.Counts) {
				t.Helper()
				t.equal(what+": of the queue", t.counts(someQueue), want)
				t.equal(what+": of all", t.counts(""), want)
			}
			t.insert(0, request("a"), request("b", after(90_000)))
			step("enqueue", driver.Counts{Waiting: 1, Delayed: 1})
			run := t.claimOne(0)
			step("claim", driver.Counts{Active: 1, Delayed: 1})
			ack := run.ack(driver.AckRetry)
			ack.Delay = 100
			t.settle(0, ack, driver.Delayed)
			step("retry ack", driver.Counts{Delayed: 2})
			t.claimOne(100)
			step("promotion in a claim", driver.Counts{Active: 1, Delayed: 1})
			t.recover(50_000, 5)
			step("stall", driver.Counts{Waiting: 1, Delayed: 1})
			t.fail(50_000, t.claimOne(50_000), `1`)
			step("fail", driver.Counts{Failed: 1, Delayed: 1})
			t.retry(50_000, "a")
			step("operator's retry", driver.Counts{Waiting: 1, Delayed: 1})
			t.cancel(50_000, "a")
			step("cancel", driver.Counts{Cancelled: 1, Delayed: 1})
			t.promote(50_000, "b")
			step("promotion", driver.Counts{Cancelled: 1, Waiting: 1})
			t.complete(50_000, t.claimOne(50_000), `1`)
			step("complete", driver.Counts{Cancelled: 1, Completed: 1})
			t.remove(50_000, "a", "b")
			step("removal", driver.Counts{})
		})

	register("Counts/FollowPruning",
		"Counts stay exact when keep and the sweep delete jobs.",
		func(t *T) {
			one := driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(1)), Age: driver.Some(driver.Millis(1000))}}
			for i := range 3 {
				t.finished(driver.Time(i), request(fmt.Sprint(i), keep(one)), driver.Completed)
			}
			t.equal("after three finishes", t.counts(""), driver.Counts{Completed: 1})
			t.sweepHistory(5000, 10)
			t.equal("after the sweep", t.counts(""), driver.Counts{})
			t.equal("of the queue", t.counts(someQueue), driver.Counts{})
		})

	register("Queues/ThatExist",
		"Queues lists, in byte order, the queues that hold a job in any state or are paused.",
		func(t *T) {
			for i, queue := range []string{"b", "a", "B", "é", "a"} {
				t.insert(0, request(fmt.Sprint(i), inQueue(queue)))
			}
			t.pause("paused")
			t.equal("queues", t.queues(), []string{"B", "a", "b", "paused", "é"})
			t.finished(0, request("x", inQueue("done")), driver.Completed)
			t.equal("with a finished job", t.queues(), []string{"B", "a", "b", "done", "paused", "é"})
			t.resume("paused")
			t.remove(0, "x", "0", "1")
			t.equal("after removals", t.queues(), []string{"B", "a", "é"})
		})

	register("Position/CountsJobsAhead",
		"Position is the number of waiting jobs of its queue that stand ahead, whatever their names.",
		func(t *T) {
			t.insert(0, request("a"), request("b", named("other")), request("c"), request("top", priority(1)),
				request("last", priority(-1)), request("x", inQueue("other")), request("later", after(10)))
			for id, want := range map[string]int{"top": 0, "a": 1, "b": 2, "c": 3, "last": 4, "x": 0} {
				t.position(id, want)
			}
		})

	register("Position/OnlyWhileWaiting",
		"Position is absent for a job that is not waiting, and ErrNotFound for an unknown one.",
		func(t *T) {
			for _, state := range plainStates {
				if state != driver.Waiting {
					t.bring(state.String(), state, named(state.String()))
					t.position(state.String(), -1)
				}
			}
			_, err := t.Store.Position(t.ctx, "unknown")
			t.failsWith("unknown", err, driver.ErrNotFound)
		})

	register("Position/MovesUp",
		"Position falls as jobs ahead are claimed, and rises when they come back in front.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"))
			run := t.claimOne(0)
			t.position("c", 1)
			t.settle(0, run.ack(driver.AckRelease), driver.Waiting)
			t.position("c", 2)
			t.cancel(0, "b")
			t.position("c", 1)
		})

	register("Position/CountsToItsLimit",
		"Position counts to 1,000 and no further.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range driver.PositionLimit + 5 {
				batch = append(batch, request(fmt.Sprintf("job-%d", i)))
			}
			ids := t.insert(0, batch...)
			t.position(ids[driver.PositionLimit-1], driver.PositionLimit-1)
			t.position(ids[driver.PositionLimit], driver.PositionLimit)
			t.position(ids[driver.PositionLimit+4], driver.PositionLimit)
		})

	register("Jobs/PositionByPosition",
		"Jobs answers position by position, nil for unknown ids, repeats included.",
		func(t *T) {
			t.insert(0, request("a"), request("b"))
			got := t.jobs("b", "unknown", "a", "b")
			if got[1] != nil {
				t.Errorf("an unknown id has a record: %+v", *got[1])
			}
			for i, want := range map[int]string{0: "b", 2: "a", 3: "b"} {
				if got[i] == nil || got[i].ID != want {
					t.Errorf("position %d: got %+v, want the record of %q", i, got[i], want)
				}
			}
			t.equal("of nothing", len(t.jobs()), 0)
		})
}

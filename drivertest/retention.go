package drivertest

import (
	"context"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// sweeping is one of the sweeps of a store.
type sweeping = func(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error)

// sweep calls a sweep in pages until nothing is left, and returns how many things
// were deleted.
func (t *T) sweep(name string, call sweeping, now driver.Time, limit int) int {
	t.Helper()
	deleted := 0
	for range 1000 {
		result, err := call(t.ctx, now, limit)
		t.must(name, err)
		if result.Deleted > limit {
			t.Errorf("%s deleted %d; the limit was %d", name, result.Deleted, limit)
		}
		deleted += result.Deleted
		if !result.More {
			return deleted
		}
	}
	t.Fatalf("%s with the limit %d does not end", name, limit)
	return 0
}

// sweepHistory sweeps finished jobs until nothing is left to delete.
func (t *T) sweepHistory(now driver.Time, limit int) int {
	t.Helper()
	return t.sweep("SweepHistory", t.Store.SweepHistory, now, limit)
}

// ceiling returns options with one ceiling for all states.
func ceiling(age driver.Millis) func() StoreOptions {
	return func() StoreOptions {
		return StoreOptions{HistoryCeiling: driver.Some(driver.CeilingForAll(age))}
	}
}

// ageOf returns a keep with one age for all states.
func ageOf(age driver.Millis) driver.Keep {
	r := driver.Retention{Age: driver.Some(age)}
	return driver.Keep{Completed: r, Failed: r, Cancelled: r}
}

func init() {
	register("Retention/WithoutACeilingJobsStay",
		"Without a ceiling the sweep deletes only jobs with an age of their own.",
		func(t *T) {
			t.finished(0, request("a"), driver.Completed)
			t.finished(0, request("b", named("b"), keep(ageOf(1000))), driver.Completed)
			t.equal("deleted", t.sweepHistory(1_000_000, 10), 1)
			t.equal("jobs that exist", t.present("a", "b"), []string{"a"})
		})

	for _, state := range []driver.State{driver.Completed, driver.Failed, driver.Cancelled} {
		register("Retention/OwnAgeOf"+stateWord(state),
			"The sweep deletes a finished job at finishedAt + its own age, so that a name that went quiet is pruned too.",
			func(t *T) {
				id := t.finished(500, request("a", keep(ageOf(1000))), state)
				t.equal("deleted before", t.sweepHistory(1499, 10), 0)
				t.equal("jobs before", t.present(id), []string{id})
				t.equal("deleted at the age", t.sweepHistory(1500, 10), 1)
				t.equal("jobs after", t.present(id), []string(nil))
			})
	}

	registerWith(ceiling(1000), "Retention/CeilingForAll",
		"Under a ceiling the sweep deletes every finished job at finishedAt + ceiling.",
		func(t *T) {
			for i, state := range []driver.State{driver.Completed, driver.Failed, driver.Cancelled} {
				t.finished(500, request(fmt.Sprint(i)), state)
			}
			t.equal("deleted before", t.sweepHistory(1499, 10), 0)
			t.equal("deleted at the ceiling", t.sweepHistory(1500, 10), 3)
			t.equal("counts", t.counts(""), driver.Counts{})
		})

	registerWith(func() StoreOptions {
		return StoreOptions{HistoryCeiling: driver.Some(driver.HistoryCeiling{
			Completed: driver.Some(driver.Millis(1000)), Failed: driver.Some(driver.Millis(3000)),
		})}
	}, "Retention/CeilingPerState",
		"A ceiling may differ per state, and a state without one keeps its jobs.",
		func(t *T) {
			t.finished(0, request("completed"), driver.Completed)
			t.finished(0, request("failed"), driver.Failed)
			t.finished(0, request("cancelled"), driver.Cancelled)
			t.sweepHistory(1000, 10)
			t.equal("jobs at 1000", t.present("completed", "failed", "cancelled"), []string{"failed", "cancelled"})
			t.sweepHistory(3000, 10)
			t.equal("jobs at 3000", t.present("completed", "failed", "cancelled"), []string{"cancelled"})
			t.equal("deleted much later", t.sweepHistory(1_000_000, 10), 0)
		})

	registerWith(ceiling(1000), "Retention/SmallerOfAgeAndCeiling",
		"The sweep deletes at the smaller of the job's own age and the ceiling.",
		func(t *T) {
			t.finished(0, request("short", named("short"), keep(ageOf(300))), driver.Completed)
			t.finished(0, request("long", named("long"), keep(ageOf(9000))), driver.Completed)
			t.finished(0, request("none", named("none")), driver.Completed)
			t.sweepHistory(300, 10)
			t.equal("jobs at 300", t.present("short", "long", "none"), []string{"long", "none"})
			t.sweepHistory(999, 10)
			t.equal("jobs at 999", t.present("short", "long", "none"), []string{"long", "none"})
			t.sweepHistory(1000, 10)
			t.equal("jobs at 1000", t.present("short", "long", "none"), []string(nil))
		})

	registerWith(ceiling(0), "Retention/CeilingOfZero",
		"A ceiling of 0 deletes finished jobs with the next sweep.",
		func(t *T) {
			t.finished(0, request("a"), driver.Completed)
			t.equal("deleted", t.sweepHistory(0, 10), 1)
		})

	registerWith(ceiling(1000), "Retention/SweepTouchesOnlyFinishedJobs",
		"The sweep leaves jobs that are not finished, however old.",
		func(t *T) {
			for _, state := range []driver.State{driver.Waiting, driver.Delayed, driver.Active} {
				t.bring(state.String(), state, named(state.String()), keep(ageOf(1)))
			}
			t.equal("deleted", t.sweepHistory(1_000_000, 10), 0)
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 1, Delayed: 1, Active: 1})
		})

	registerWith(ceiling(1000), "Retention/SweepIsPaged",
		"A sweep stops at its limit, says so, and goes on with the next call.",
		func(t *T) {
			for i := range 5 {
				t.finished(driver.Time(i), request(fmt.Sprint(i)), driver.Cancelled)
			}
			first, err := t.Store.SweepHistory(t.ctx, 5000, 2)
			t.must("SweepHistory", err)
			t.equal("first page", first, driver.SweepResult{Deleted: 2, More: true})
			t.equal("deleted by the rest", t.sweepHistory(5000, 2), 3)
			t.equal("counts", t.counts(""), driver.Counts{})
		})

	registerWith(ceiling(1000), "Retention/SweptIDIsFree",
		"A swept job is gone with its ledger, and its id can be enqueued again.",
		func(t *T) {
			t.finished(0, request("a", metadata("k", "v")), driver.Completed)
			t.sweepHistory(1000, 10)
			t.equal("ledger", t.attempts("a"), []driver.Attempt(nil))
			t.equal("list", t.listAll(driver.ListRequest{}), []string(nil))
			t.equal("queues", t.queues(), []string(nil))
			t.insert(2000, request("a"))
			t.equal("ledger of the new job", t.attempts("a"), []driver.Attempt(nil))
			t.equal("deleted by a later sweep", t.sweepHistory(1_000_000, 10), 0)
		})

	registerWith(ceiling(1000), "Retention/RetriedJobIsNotSwept",
		"A job that was retried is not swept by its former end, but by its new one.",
		func(t *T) {
			t.finished(0, request("a"), driver.Failed)
			t.retry(500, "a")
			t.equal("deleted while waiting", t.sweepHistory(1000, 10), 0)
			t.complete(1500, t.claimOne(1500), `1`)
			t.equal("deleted before", t.sweepHistory(2499, 10), 0)
			t.equal("deleted at the ceiling", t.sweepHistory(2500, 10), 1)
		})

	registerWith(ceiling(1000), "Retention/NothingToDo",
		"A sweep with nothing to do deletes nothing and does not ask for another.",
		func(t *T) {
			result, err := t.Store.SweepHistory(t.ctx, 1_000_000, 10)
			t.must("SweepHistory", err)
			t.equal("result", result, driver.SweepResult{})
		})

	register("Retention/SweepHonoursOwnAgeLater",
		"A job's own age counts per terminal state; the others of its ages do not.",
		func(t *T) {
			k := driver.Keep{Failed: driver.Retention{Age: driver.Some(driver.Millis(100))}}
			t.finished(0, request("a", keep(k)), driver.Completed)
			t.finished(0, request("b", keep(k)), driver.Failed)
			t.equal("deleted", t.sweepHistory(5000, 10), 1)
			t.equal("jobs that exist", t.present("a", "b"), []string{"a"})
		})
}

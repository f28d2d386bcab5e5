package drivertest

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

// countOf returns a keep with one count for all states.
func countOf(n int64) driver.Keep {
	r := driver.Retention{Count: driver.Some(n)}
	return driver.Keep{Completed: r, Failed: r, Cancelled: r}
}

func init() {
	for _, state := range []driver.State{driver.Completed, driver.Failed, driver.Cancelled} {
		register("Keep/CountOf"+stateWord(state),
			"After a terminal transition the newest count of the name and state stay, and those beyond go.",
			func(t *T) {
				for i, id := range []string{"a", "b", "c", "d"} {
					t.finished(driver.Time(i), request(id, keep(countOf(2))), state)
				}
				t.equal("jobs that exist", t.present("a", "b", "c", "d"), []string{"c", "d"})
				t.equal("ledger of a job that went", t.attempts("a"), []driver.Attempt(nil))
				t.equal("listed", t.listAll(driver.ListRequest{}), []string{"d", "c"})
			})

		register("Keep/CountOfZeroFor"+stateWord(state),
			"With a count of 0 a finished job goes at once, with its ledger, and its id is free.",
			func(t *T) {
				t.finished(0, request("a", keep(countOf(0))), state)
				t.equal("jobs that exist", t.present("a"), []string(nil))
				t.equal("ledger", t.attempts("a"), []driver.Attempt(nil))
				t.equal("counts", t.counts(""), driver.Counts{})
				t.insert(100, request("a"))
			})
	}

	register("Keep/Age",
		"After a terminal transition the jobs of the name and state with finishedAt + age at or before now go.",
		func(t *T) {
			for i, id := range []string{"a", "b", "c", "d"} {
				t.finished(driver.Time(1000*i), request(id, keep(ageOf(2000))), driver.Completed)
			}
			t.equal("jobs that exist", t.present("a", "b", "c", "d"), []string{"c", "d"})
		})

	register("Keep/AgeOfZero",
		"With an age of 0 a finished job goes at once.",
		func(t *T) {
			t.finished(0, request("a", keep(ageOf(0))), driver.Completed)
			t.equal("jobs that exist", t.present("a"), []string(nil))
		})

	register("Keep/AgeAppliesToOthersWithoutOne",
		"The policy of the job that finishes applies to all of its name and state, whatever their own says.",
		func(t *T) {
			t.finished(0, request("old"), driver.Completed)
			t.finished(500, request("young"), driver.Completed)
			t.finished(1000, request("new", keep(ageOf(1000))), driver.Completed)
			t.equal("jobs that exist", t.present("old", "young", "new"), []string{"young", "new"})
		})

	register("Keep/CountAndAge",
		"Where count and age are both given, both apply.",
		func(t *T) {
			both := driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(3)), Age: driver.Some(driver.Millis(1000))}}
			for i, now := range []driver.Time{0, 900, 910, 920, 930} {
				t.finished(now, request(fmt.Sprint(i), keep(both)), driver.Completed)
			}
			t.equal("after the count", t.present("0", "1", "2", "3", "4"), []string{"2", "3", "4"})
			t.finished(1920, request("5", keep(both)), driver.Completed)
			t.equal("after the age", t.present("2", "3", "4", "5"), []string{"4", "5"})
		})

	register("Keep/TiesGoByFinishOrder",
		"Of jobs that finished at one time, those that finished first go first.",
		func(t *T) {
			for _, id := range []string{"c", "a", "d", "b"} {
				t.finished(500, request(id, keep(countOf(2))), driver.Completed)
			}
			t.sameIDs("jobs that exist", t.present("a", "b", "c", "d"), []string{"b", "d"})
		})

	register("Keep/TiesWithinABatch",
		"Of jobs that finished in one batch of acks, the first in it go first.",
		func(t *T) {
			t.insert(0, request("a", keep(countOf(2))), request("b", keep(countOf(2))), request("c", keep(countOf(2))), request("d", keep(countOf(2))))
			runs := t.claim(0, 4)
			t.ackAll(100, runs[3].ack(driver.AckComplete), runs[1].ack(driver.AckComplete),
				runs[0].ack(driver.AckComplete), runs[2].ack(driver.AckComplete))
			t.sameIDs("jobs that exist", t.present("a", "b", "c", "d"), []string{"a", "c"})
		})

	register("Keep/StatesAreIndependent",
		"Keep counts each terminal state on its own.",
		func(t *T) {
			for _, state := range []driver.State{driver.Completed, driver.Failed, driver.Cancelled} {
				t.finished(0, request(state.String()+"-1", keep(countOf(1))), state)
				t.finished(1, request(state.String()+"-2", keep(countOf(1))), state)
			}
			t.equal("counts", t.counts(""), driver.Counts{Completed: 1, Failed: 1, Cancelled: 1})
			t.equal("jobs that exist", t.present("completed-2", "failed-2", "cancelled-2"),
				[]string{"completed-2", "failed-2", "cancelled-2"})
		})

	register("Keep/OnlyTheStateThatItNames",
		"A keep for one state leaves the others alone.",
		func(t *T) {
			k := keep(driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}})
			t.finished(0, request("a", k), driver.Failed)
			t.finished(0, request("b", k), driver.Completed)
			t.equal("jobs that exist", t.present("a", "b"), []string{"a"})
		})

	register("Keep/NamesAreIndependent",
		"Keep counts each job name on its own.",
		func(t *T) {
			t.finished(0, request("a", keep(countOf(1))), driver.Completed)
			t.finished(1, request("b", named("other"), keep(countOf(1))), driver.Completed)
			t.finished(2, request("c", named("other"), keep(countOf(1))), driver.Completed)
			t.equal("jobs that exist", t.present("a", "b", "c"), []string{"a", "c"})
		})

	register("Keep/SpansQueues",
		"Keep counts the jobs of a name in whatever queue.",
		func(t *T) {
			t.finished(0, request("a", keep(countOf(1))), driver.Completed)
			t.finished(1, request("b", inQueue("other"), keep(countOf(1))), driver.Completed)
			t.equal("jobs that exist", t.present("a", "b"), []string{"b"})
		})

	register("Keep/LoweredCount",
		"When the count is lowered, the next finish trims what the former count had kept.",
		func(t *T) {
			for i := range 5 {
				t.finished(driver.Time(i), request(fmt.Sprint(i), keep(countOf(10))), driver.Completed)
			}
			t.finished(5, request("5", keep(countOf(2))), driver.Completed)
			t.equal("jobs that exist", t.present("0", "1", "2", "3", "4", "5"), []string{"4", "5"})
		})

	register("Keep/NoPolicyTrimsNothing",
		"A job without keep trims nothing, however many there are.",
		func(t *T) {
			for i := range 3 {
				t.finished(driver.Time(i), request(fmt.Sprint(i), keep(countOf(3))), driver.Completed)
			}
			t.finished(3, request("3"), driver.Completed)
			t.equal("counts", t.counts(""), driver.Counts{Completed: 4})
		})

	register("Keep/LeavesUnfinishedJobsAlone",
		"Keep deletes finished jobs only.",
		func(t *T) {
			for _, state := range []driver.State{driver.Delayed, driver.Active} {
				t.bring(state.String(), state, keep(countOf(0)))
			}
			t.finished(500, request("a", keep(countOf(0))), driver.Completed)
			t.equal("counts", t.counts(""), driver.Counts{Delayed: 1, Active: 1})
		})

	register("Keep/AppliesToStalledJobs",
		"A job that the store fails is kept as its policy says.",
		func(t *T) {
			t.start(0, request("a", keep(countOf(0))))
			t.recover(50_000, 0)
			t.equal("jobs that exist", t.present("a"), []string(nil))
		})

	register("Keep/RetriedJobDoesNotCount",
		"A job that was retried counts no more among the finished ones.",
		func(t *T) {
			t.finished(0, request("a", keep(countOf(1))), driver.Failed)
			t.retry(100, "a")
			t.finished(200, request("b", keep(countOf(1)), priority(1)), driver.Failed)
			t.equal("jobs that exist", t.present("a", "b"), []string{"a", "b"})
			t.fail(300, t.claimOne(300), `1`)
			t.equal("jobs that exist at last", t.present("a", "b"), []string{"a"})
		})

	register("Keep/TrimIsBoundedAndTheSweepDoesTheRest",
		"A call trims at most its batch plus 100 jobs; the sweep deletes the rest, and the newest count stay.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range driver.ChunkJobs {
				batch = append(batch, request(fmt.Sprintf("job-%d", i)))
			}
			ids := t.insert(0, batch...)
			t.operate(t.Store.Cancel, 100, ids...)
			t.finished(200, request("last", keep(countOf(1))), driver.Cancelled)
			if left := t.counts("").Cancelled; left < driver.ChunkJobs+1-101 {
				t.Errorf("one finish trimmed all but %d of %d jobs; want at most 101 trimmed", left, driver.ChunkJobs+1)
			}
			t.sweepHistory(300, 100)
			t.equal("counts after the sweep", t.counts(""), driver.Counts{Cancelled: 1})
			t.equal("jobs that exist", t.present("last"), []string{"last"})
		})

	register("Keep/NextFinishGoesOnTrimming",
		"A surplus that one bounded trim left goes with the next finishes.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range driver.ChunkJobs {
				batch = append(batch, request(fmt.Sprintf("job-%d", i)))
			}
			ids := t.insert(0, batch...)
			t.operate(t.Store.Cancel, 100, ids...)
			for i := range 4 {
				t.finished(driver.Time(200+i), request(fmt.Sprintf("last-%d", i), keep(countOf(1))), driver.Cancelled)
			}
			t.equal("counts", t.counts(""), driver.Counts{Cancelled: 1})
			t.equal("jobs that exist", t.present("last-2", "last-3"), []string{"last-3"})
		})
}

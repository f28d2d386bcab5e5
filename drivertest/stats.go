package drivertest

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

// stats returns all stats of the first days.
func (t *T) stats() []driver.Stat {
	t.Helper()
	return t.statsIn(driver.StatsRequest{To: driver.Time(10 * driver.StatsKept)})
}

// statsIn returns the stats of all pages.
func (t *T) statsIn(req driver.StatsRequest) []driver.Stat {
	t.Helper()
	var all []driver.Stat
	for range 1000 {
		page, err := t.Store.Stats(t.ctx, req)
		t.must("Stats", err)
		all = append(all, page.Stats...)
		next, more := page.Next.Get()
		if !more {
			return all
		}
		if next <= req.From {
			t.Fatalf("a page of stats from %d goes on at %d", req.From, next)
		}
		req.From = next
	}
	t.Fatalf("the pages of stats do not end")
	return nil
}

// sweepStats sweeps stats until nothing is left to delete.
func (t *T) sweepStats(now driver.Time, limit int) int {
	t.Helper()
	deleted := 0
	for range 1000 {
		result, err := t.Store.SweepStats(t.ctx, now, limit)
		t.must("SweepStats", err)
		deleted += result.Deleted
		if !result.More {
			return deleted
		}
		if result.Deleted < limit {
			t.Fatalf("SweepStats says that its limit of %d ended it; it deleted %d", limit, result.Deleted)
		}
	}
	t.Fatalf("SweepStats with the limit %d does not end", limit)
	return 0
}

// sampleDepth keeps the numbers of jobs as those of a minute.
func (t *T) sampleDepth(now driver.Time) {
	t.Helper()
	t.must("SampleDepth", t.Store.SampleDepth(t.ctx, now))
}

func (t *T) depths(from, to driver.Time) []driver.Depth {
	t.Helper()
	depths, err := t.Store.Depths(t.ctx, from, to)
	t.must("Depths", err)
	return depths
}

func init() {
	register("Stats/DepthsAreSampled",
		"A sample keeps the numbers of jobs in each state under its minute; the first of a minute stands.",
		func(t *T) {
			t.sampleDepth(0)
			t.insert(60_000, request("a"), request("b"), request("c", inQueue("p"), after(900_000)))
			t.finished(60_001, request("d", named("d")), driver.Failed)
			t.sampleDepth(119_999)
			t.cancel(119_999, "a")
			t.sampleDepth(119_999)
			t.sampleDepth(240_000)
			t.equal("depths", t.depths(0, 240_001), []driver.Depth{
				{Minute: 0}, {Minute: 60_000, Counts: driver.Counts{Waiting: 2, Delayed: 1, Failed: 1}},
				{Minute: 240_000, Counts: driver.Counts{Waiting: 1, Delayed: 1, Failed: 1, Cancelled: 1}},
			})
			t.equal("depths of a range", t.depths(1, 240_000), []driver.Depth{
				{Minute: 60_000, Counts: driver.Counts{Waiting: 2, Delayed: 1, Failed: 1}},
			})
		})

	register("Stats/DepthsAreKeptForADay",
		"A sample deletes those that are a day old, or older, and no others.",
		func(t *T) {
			for _, at := range []driver.Time{0, 60_000, 120_000} {
				t.sampleDepth(at)
			}
			day := driver.Time(driver.StatsKept)
			t.sampleDepth(day + 60_000)
			t.equal("depths", t.depths(0, 2*day), []driver.Depth{{Minute: 120_000}, {Minute: day + 60_000}})
		})

	registerWith(func() StoreOptions { return StoreOptions{WithoutStats: true} }, "Stats/DepthsSwitchedOff",
		"A store whose option switches the counting off keeps no samples.",
		func(t *T) {
			t.sampleDepth(0)
			t.equal("depths", t.depths(0, 600_000), []driver.Depth(nil))
		})

	register("Stats/CountRunsByOutcome",
		"Every ack that ends a run counts under its minute, queue and outcome, with its run and wait time.",
		func(t *T) {
			t.insert(1000, request("a"), request("b"), request("c"), request("d"), request("e", inQueue("p")))
			runs := t.claim(61_000, 4)
			other := t.claimWith(62_000, driver.ClaimRequest{Queue: "p", Token: "other"}).Jobs[0]
			retry := runs[2].ack(driver.AckRetry)
			t.ackAll(179_999, runs[0].ack(driver.AckComplete), runs[1].ack(driver.AckFail), retry, runs[3].ack(driver.AckComplete),
				run{other, "other"}.ack(driver.AckCancelled))
			run := driver.Millis(118_999)
			t.equal("stats", t.stats(), []driver.Stat{
				{Minute: 120_000, Queue: "p", Outcome: driver.OutcomeCancelled, Count: 1, RunTime: 117_999, WaitTime: 61_000},
				{Minute: 120_000, Queue: someQueue, Outcome: driver.OutcomeCompleted, Count: 2, RunTime: 2 * run, WaitTime: 120_000},
				{Minute: 120_000, Queue: someQueue, Outcome: driver.OutcomeRetried, Count: 1, RunTime: run, WaitTime: 60_000},
				{Minute: 120_000, Queue: someQueue, Outcome: driver.OutcomeFailed, Count: 1, RunTime: run, WaitTime: 60_000},
			})
		})

	register("Stats/WaitBeginsWhenAJobCanRun",
		"A delayed job, and one that is tried again, wait from the time at which they fall due.",
		func(t *T) {
			t.insert(0, request("a", after(5000)))
			first := t.claimOne(5500).ack(driver.AckRetry)
			first.Delay = 1000
			t.settle(6000, first, driver.Delayed)
			t.complete(8000, t.claimOne(7300), `1`)
			t.equal("stats", t.stats(), []driver.Stat{
				{Queue: someQueue, Outcome: driver.OutcomeCompleted, Count: 1, RunTime: 700, WaitTime: 300},
				{Queue: someQueue, Outcome: driver.OutcomeRetried, Count: 1, RunTime: 500, WaitTime: 500},
			})
		})

	register("Stats/SumOverBatches",
		"Batches of one minute add up, and the next minute begins anew.",
		func(t *T) {
			for _, at := range []driver.Time{60_000, 60_100, 119_999, 120_000} {
				t.complete(at, t.start(at-50, request(fmt.Sprint(at))), `1`)
			}
			t.equal("stats", t.stats(), []driver.Stat{
				{Minute: 60_000, Queue: someQueue, Outcome: driver.OutcomeCompleted, Count: 3, RunTime: 150},
				{Minute: 120_000, Queue: someQueue, Outcome: driver.OutcomeCompleted, Count: 1, RunTime: 50},
			})
		})

	register("Stats/OnlyWhatEndsARun",
		"A snooze, a release and an ack that is refused do not count; one where a cancel won does, as cancelled.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"), request("d"))
			runs := t.claim(0, 4)
			t.cancel(10, runs[2].ID)
			t.cancel(10, runs[3].ID)
			bad := runs[0].ack(driver.AckComplete)
			bad.Token = "wrong"
			t.ackAll(100, bad, driver.Ack{ID: "nobody", Token: "t", Kind: driver.AckFail},
				runs[0].ack(driver.AckSnooze), runs[1].ack(driver.AckRelease), runs[2].ack(driver.AckRetry), runs[3].ack(driver.AckRelease))
			t.equal("stats", t.stats(), []driver.Stat{
				{Queue: someQueue, Outcome: driver.OutcomeCancelled, Count: 2, RunTime: 200},
			})
		})

	register("Stats/CountFanOuts",
		"A fan-out ends a run, and so does the collect after it.",
		func(t *T) {
			parent := t.start(0, request("p"))
			t.settle(50, parent.ack(driver.AckFanOut), driver.Waiting)
			t.complete(100, t.claimOne(70), `1`)
			t.equal("stats", t.stats(), []driver.Stat{
				{Queue: someQueue, Outcome: driver.OutcomeCompleted, Count: 1, RunTime: 30, WaitTime: 20},
				{Queue: someQueue, Outcome: driver.OutcomeFannedOut, Count: 1, RunTime: 50},
			})
		})

	register("Stats/ExtremeTimes",
		"A run that ends before it began counts as no time, and a very long one as thirty days.",
		func(t *T) {
			early := t.start(5000, request("early"))
			t.complete(1000, early, `1`)
			late := driver.Time(driver.StatLongest) + 120_000
			t.complete(late+30_000, t.start(1000, request("late")), `1`)
			day := driver.Time(driver.StatsKept)
			t.equal("stats", t.statsIn(driver.StatsRequest{To: late + day}), []driver.Stat{
				{Minute: 0, Queue: someQueue, Outcome: driver.OutcomeCompleted, Count: 1},
				{Minute: late, Queue: someQueue, Outcome: driver.OutcomeCompleted, Count: 1, RunTime: driver.StatLongest},
			})
		})

	register("Stats/AreFiltered",
		"Stats are those of the queues asked for, and of minutes that begin in the range asked for.",
		func(t *T) {
			for i, queue := range []string{"a", "b:1", "c", "b:1"} {
				at := driver.Time(i) * 60_000
				t.complete(at+1, t.start(at, request(fmt.Sprint(i), inQueue(queue))), `1`)
			}
			minutes := func(stats []driver.Stat) (found []driver.Time) {
				for _, s := range stats {
					found = append(found, s.Minute)
				}
				return found
			}
			t.equal("of two queues", minutes(t.statsIn(driver.StatsRequest{To: 999_999, Queues: []string{"c", "b:1"}})), []driver.Time{60_000, 120_000, 180_000})
			t.equal("of no queue", minutes(t.statsIn(driver.StatsRequest{To: 999_999, Queues: []string{}})), []driver.Time(nil))
			t.equal("of an unknown queue", minutes(t.statsIn(driver.StatsRequest{To: 999_999, Queues: []string{"b"}})), []driver.Time(nil))
			t.equal("of a range", minutes(t.statsIn(driver.StatsRequest{From: 60_000, To: 180_000})), []driver.Time{60_000, 120_000})
			t.equal("from within a minute", minutes(t.statsIn(driver.StatsRequest{From: 60_001, To: 180_001})), []driver.Time{120_000, 180_000})
		})

	register("Stats/ArePaged",
		"A page of stats ends with a whole minute, and tells where the next one begins.",
		func(t *T) {
			for i := range 4 {
				at := driver.Time(i) * 60_000
				t.complete(at+1, t.start(at, request("", inQueue("a"))), `1`)
				t.fail(at+2, t.start(at, request("", inQueue("b"))), `1`)
			}
			page, err := t.Store.Stats(t.ctx, driver.StatsRequest{To: 999_999, Limit: 3})
			t.must("Stats", err)
			t.equal("first page", len(page.Stats), 4)
			t.equal("next page", page.Next, driver.Some(driver.Time(120_000)))
			all := t.statsIn(driver.StatsRequest{To: 999_999})
			t.equal("all at once", len(all), 8)
			for _, limit := range []int{1, 2, 5, 8} {
				t.equal(fmt.Sprint("in pages of ", limit), t.statsIn(driver.StatsRequest{To: 999_999, Limit: limit}), all)
			}
		})

	register("Stats/AreKeptForADay",
		"The sweep deletes the stats of minutes that began a day ago or earlier, in pages, and no others.",
		func(t *T) {
			for i := range 4 {
				at := driver.Time(i) * 60_000
				t.complete(at+1, t.start(at, request("", inQueue("a"))), `1`)
				t.fail(at+2, t.start(at, request("", inQueue("b"))), `1`)
			}
			day := driver.Time(driver.StatsKept)
			t.equal("deleted before", t.sweepStats(day-1, 10), 0)
			t.equal("deleted after a day", t.sweepStats(day, 10), 2)
			t.equal("deleted later", t.sweepStats(day+120_000, 1), 4)
			t.equal("what is left", t.stats(), []driver.Stat{
				{Minute: 180_000, Queue: "a", Outcome: driver.OutcomeCompleted, Count: 1, RunTime: 1},
				{Minute: 180_000, Queue: "b", Outcome: driver.OutcomeFailed, Count: 1, RunTime: 2},
			})
			t.complete(180_010, t.start(180_000, request("", inQueue("a"))), `1`)
			t.equal("runs after a sweep", t.stats()[0].Count, int64(2))
			t.equal("deleted at last", t.sweepStats(day+200_000, 10), 2)
			t.complete(180_020, t.start(180_000, request("", inQueue("a"))), `1`)
			t.equal("runs after all was swept", len(t.stats()), 1)
		})

	registerWith(func() StoreOptions { return StoreOptions{WithoutStats: true} }, "Stats/SwitchedOff",
		"A store whose option switches the counting off counts nothing.",
		func(t *T) {
			t.finished(0, request("a"), driver.Completed)
			t.equal("stats", t.stats(), []driver.Stat(nil))
			t.equal("deleted", t.sweepStats(driver.Time(driver.StatsKept), 10), 0)
		})
}

package drivertest

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

// beat stores a worker's record.
func (t *T) beat(now driver.Time, w driver.WorkerRecord) {
	t.Helper()
	t.must("BeatWorker", t.Store.BeatWorker(t.ctx, now, w))
}

// workers returns all workers that are alive.
func (t *T) workers(now driver.Time) []driver.WorkerRecord {
	t.Helper()
	return t.workersIn(now, 0)
}

// workersIn returns all workers that are alive, read in pages of limit.
func (t *T) workersIn(now driver.Time, limit int) []driver.WorkerRecord {
	t.Helper()
	var all []driver.WorkerRecord
	after := ""
	for range 1000 {
		page, err := t.Store.Workers(t.ctx, now, after, limit)
		t.must("Workers", err)
		all = append(all, page.Workers...)
		if !page.More {
			return all
		}
		if len(page.Workers) == 0 {
			t.Fatalf("a page of workers behind %q is empty, and says that there is more", after)
		}
		after = page.Workers[len(page.Workers)-1].ID
	}
	t.Fatalf("the pages of workers do not end")
	return nil
}

func workerIDs(workers []driver.WorkerRecord) []string {
	var ids []string
	for _, w := range workers {
		ids = append(ids, w.ID)
	}
	return ids
}

// fullWorker returns a record with every field set.
func fullWorker(id string) driver.WorkerRecord {
	return driver.WorkerRecord{
		ID: id, Host: `h\"öst` + "\n", Version: "v1.2.3 (abc)", PID: 4711,
		Queues: []driver.WorkerQueue{{Name: "a{1}", Slots: 10, InFlight: 3}, {Name: "b%", Slots: 1}},
		Names:  []string{"mail", "tax/€"}, Since: 5, ExpiresAt: 30_000,
	}
}

func init() {
	register("Workers/RecordsComeBack",
		"A worker's record comes back with every field, and the time of its latest beat.",
		func(t *T) {
			full := fullWorker("w:1")
			t.beat(1000, full)
			t.beat(2000, driver.WorkerRecord{ID: "w:2", ExpiresAt: 9000})
			full.BeatAt = 1000
			t.equal("workers", t.workers(3000), []driver.WorkerRecord{full, {ID: "w:2", BeatAt: 2000, ExpiresAt: 9000}})
		})

	register("Workers/LatestBeatStands",
		"A beat replaces the record of its worker, however that looked.",
		func(t *T) {
			t.beat(1000, fullWorker("w"))
			t.beat(2000, driver.WorkerRecord{ID: "w", Host: "other", ExpiresAt: 5000})
			t.equal("workers", t.workers(2000), []driver.WorkerRecord{{ID: "w", Host: "other", BeatAt: 2000, ExpiresAt: 5000}})
			t.equal("workers after its end", t.workers(5000), []driver.WorkerRecord(nil))
		})

	register("Workers/ExpireByThemselves",
		"A worker is alive until its record expires, and again once it beats.",
		func(t *T) {
			t.beat(0, driver.WorkerRecord{ID: "w", ExpiresAt: 100})
			t.equal("just before", workerIDs(t.workers(99)), []string{"w"})
			t.equal("at its end", workerIDs(t.workers(100)), []string(nil))
			t.beat(200, driver.WorkerRecord{ID: "w", ExpiresAt: 300})
			t.equal("after another beat", workerIDs(t.workers(299)), []string{"w"})
		})

	register("Workers/DeadOnesHideNobody",
		"Beats clear away records that have expired, and leave those that have not.",
		func(t *T) {
			for i := range 30 {
				t.beat(0, driver.WorkerRecord{ID: fmt.Sprintf("dead-%02d", i), ExpiresAt: driver.Time(100 + i%2)})
			}
			t.beat(0, driver.WorkerRecord{ID: "a-living", ExpiresAt: 9000})
			t.beat(0, driver.WorkerRecord{ID: "z-living", ExpiresAt: 9000})
			t.equal("before any beat", workerIDs(t.workersIn(101, 1)), []string{"a-living", "z-living"})
			for n := range 10 {
				t.beat(driver.Time(200+n), driver.WorkerRecord{ID: "dead-07", ExpiresAt: driver.Time(300 + n)})
				t.equal("in between", workerIDs(t.workersIn(driver.Time(200+n), 2)), []string{"a-living", "dead-07", "z-living"})
			}
		})

	register("Workers/Forget",
		"A forgotten worker is gone; forgetting one that is not known does nothing.",
		func(t *T) {
			t.beat(0, fullWorker("w"))
			t.beat(0, fullWorker("x"))
			t.must("ForgetWorker", t.Store.ForgetWorker(t.ctx, "w"))
			t.must("ForgetWorker again", t.Store.ForgetWorker(t.ctx, "w"))
			t.equal("workers", workerIDs(t.workers(1)), []string{"x"})
		})

	register("Workers/ArePaged",
		"Workers come in pages in byte order of their ids, behind an id that need not be there.",
		func(t *T) {
			for _, id := range []string{"b", "Z", "ä", "a/1", "a", "c"} {
				t.beat(0, driver.WorkerRecord{ID: id, ExpiresAt: 1000})
			}
			for _, limit := range []int{0, 1, 2, 5, 6} {
				t.equal(fmt.Sprint("workers in pages of ", limit), workerIDs(t.workersIn(1, limit)), []string{"Z", "a", "a/1", "b", "c", "ä"})
			}
			page, err := t.Store.Workers(t.ctx, 1, "aa", 2)
			t.must("Workers", err)
			t.equal("behind an id that is not there", workerIDs(page.Workers), []string{"b", "c"})
			t.equal("more", page.More, true)
			page, err = t.Store.Workers(t.ctx, 1, "b", 2)
			t.must("Workers", err)
			t.equal("the last page", workerIDs(page.Workers), []string{"c", "ä"})
			t.equal("more behind the last page", page.More, false)
		})
}

package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/braidmq/braid/driver"
)

// Flows and schedules with many callers at once.

func init() {
	register("Concurrency/LastReportsSettleOnce",
		"Concurrent last reports settle once, and each child's report applies once.",
		lastReportsSettleOnce)
	register("Concurrency/ReportsOfSeveralFlows",
		"Batches of reports that span flows in different orders neither fail each other nor apply twice.",
		reportsOfSeveralFlows)
	register("Concurrency/FailFastRacesCancel",
		"A flow that fails fast while it is cancelled and reported to settles once; its counters sum to its children.",
		failFastRacesCancel)
	register("Concurrency/HoldingPeeksShareTheOutbox",
		"N relays that hold do not do N times the work: each entry is given to one of them.",
		holdingPeeksShare)
	register("Concurrency/OneSlotManySweepers",
		"Exactly once per slot for any number of sweepers.",
		oneSlotManySweepers)
	register("Concurrency/UpsertWhileTicking",
		"Any number of processes with the same schedule: one schedule, one job per slot, and an upsert never turns it back.",
		upsertWhileTicking)
}

func lastReportsSettleOnce(t *T) {
	const children = 25
	keys := make([]string, children)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	r := t.park(0, request("p"), false, keys...)
	var settles atomic.Int64
	var reports tally
	t.together(2*children, func(ctx context.Context, i int) error {
		key := keys[i%children]
		results, err := t.Store.RecordChildResults(ctx, 0, []driver.ChildReport{report(r, key, driver.ChildCompleted)})
		if err != nil {
			return err
		}
		if results[0].Applied {
			reports.add(key)
		}
		if results[0].ParentSettled {
			settles.Add(1)
		}
		return nil
	})
	t.once("applied", &reports, children)
	t.equal("the reports that settled the parent", settles.Load(), int64(1))
	t.manifest("p", driver.Manifest{Completed: children})
	t.inState("p", driver.Waiting)
}

func reportsOfSeveralFlows(t *T) {
	const flows, children, callers = 4, 10, 12
	runs := make([]run, flows)
	keys := make([]string, children)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	for i := range runs {
		runs[i] = t.park(0, request(fmt.Sprintf("p%d", i)), false, keys...)
	}
	var reports, settles tally
	t.together(callers, func(ctx context.Context, i int) error {
		batch := make([]driver.ChildReport, 0, flows*children)
		for k := range flows * children {
			n := (k*7 + i*3) % (flows * children)
			batch = append(batch, report(runs[n%flows], keys[n/flows], driver.ChildCompleted))
		}
		for half := range 2 {
			page := batch[half*len(batch)/2 : (half+1)*len(batch)/2]
			results, err := t.Store.RecordChildResults(ctx, 0, page)
			if err != nil {
				return err
			}
			for n, result := range results {
				if result.Applied {
					reports.add(page[n].FlowID + "/" + page[n].ChildKey)
				}
				if result.ParentSettled {
					settles.add(page[n].FlowID)
				}
			}
		}
		return nil
	})
	t.once("applied", &reports, flows*children)
	t.once("settled", &settles, flows)
	t.equal("Counts", t.counts(""), driver.Counts{Waiting: flows})
}

func failFastRacesCancel(t *T) {
	const flows, children = 6, 6
	var settles tally
	for f := range flows {
		id := fmt.Sprintf("p%d", f)
		keys := make([]string, children)
		for i := range keys {
			keys[i] = fmt.Sprintf("k%d", i)
		}
		r := t.park(0, request(id), true, keys...)
		t.together(children+2, func(ctx context.Context, i int) error {
			if i >= children {
				results, err := t.Store.Cancel(ctx, 0, []string{id})
				if err != nil {
					return err
				}
				if err := results[0].Err; err == nil {
					settles.add(id)
				} else if !errors.Is(err, driver.ErrNotCancellable) {
					return err
				}
				return nil
			}
			outcome := driver.ChildCompleted
			if i%3 == 2 {
				outcome = driver.ChildFailed
			}
			results, err := t.Store.RecordChildResults(ctx, 0, []driver.ChildReport{report(r, keys[i], outcome)})
			if err == nil && results[0].ParentSettled {
				settles.add(id)
			}
			return err
		})
		statuses := map[driver.ChildStatus]int64{}
		for _, c := range t.rows(id) {
			statuses[c.Status]++
		}
		t.manifest(id, driver.Manifest{
			FailFast: true, Completed: statuses[driver.ChildCompleted],
			Failed: statuses[driver.ChildFailed], Cancelled: statuses[driver.ChildCancelled],
		})
		if j := t.job(id); j.State != driver.Failed && j.State != driver.Cancelled {
			t.Errorf("parent %q is %v; want failed or cancelled", id, j.State)
		}
	}
	t.once("settled", &settles, flows)
}

func holdingPeeksShare(t *T) {
	const entries = 150
	batch := make([]driver.EnqueueRequest, entries)
	for i := range batch {
		batch[i] = fosterChild(fmt.Sprintf("c%03d", i))
	}
	t.operate(t.Store.Cancel, 0, t.insert(0, batch...)...)
	var given tally
	t.together(10, func(ctx context.Context, i int) error {
		for range entries {
			page, err := t.Store.PeekOutbox(ctx, 0, driver.PeekRequest{Limit: 7, Hold: 1000})
			if err != nil {
				return err
			}
			if len(page) == 0 {
				return nil
			}
			for _, e := range page {
				given.add(e.Report.ChildJobID)
			}
		}
		return nil
	})
	for id, n := range given.n {
		if n != 1 {
			t.Errorf("the entry of %q was given to %d relays", id, n)
		}
	}
	// A relay that came away empty-handed while others looked may have left some.
	for range entries {
		page := t.peek(0, driver.PeekRequest{Limit: 7, Hold: 1000})
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			given.add(e.Report.ChildJobID)
		}
	}
	t.once("given out", &given, entries)
}

// everySecond returns a schedule that is due at next.
func everySecond(key string, next driver.Time) driver.Schedule {
	return driver.Schedule{Key: key, JobName: someName, Queue: someQueue, Every: 1000, AttemptsMax: 1, NextRunAt: next}
}

// tickOf returns the request that fires a slot of such a schedule.
func tickOf(key string, slot driver.Time) driver.TickRequest {
	return driver.TickRequest{Key: key, Expected: slot, Next: slot + 1000,
		Job: request(fmt.Sprintf("%s%s/%d", driver.ScheduleIDPrefix, key, slot))}
}

func oneSlotManySweepers(t *T) {
	const slots = 8
	_, err := t.Store.UpsertSchedule(t.ctx, everySecond("s", 0))
	t.must("UpsertSchedule", err)
	var fired tally
	t.together(30, func(ctx context.Context, i int) error {
		for n := range slots {
			slot := driver.Time(n) * 1000
			ticked, err := t.Store.Tick(ctx, slot, tickOf("s", slot))
			if err != nil {
				return err
			}
			if ticked {
				fired.add(fmt.Sprint(slot))
			}
		}
		return nil
	})
	t.once("fired", &fired, slots)
	t.equal("Counts", t.counts(""), driver.Counts{Waiting: slots})
	s, err := t.Store.Schedule(t.ctx, "s")
	t.must("Schedule", err)
	t.equal("nextRunAt", s.NextRunAt, driver.Time(slots*1000))
}

func upsertWhileTicking(t *T) {
	const slots = 8
	var fired tally
	t.together(30, func(ctx context.Context, i int) error {
		for n := range slots {
			if _, err := t.Store.UpsertSchedule(ctx, everySecond("s", 0)); err != nil {
				return err
			}
			slot := driver.Time(n) * 1000
			ticked, err := t.Store.Tick(ctx, slot, tickOf("s", slot))
			if err != nil {
				return err
			}
			if ticked {
				fired.add(fmt.Sprint(slot))
			}
		}
		return nil
	})
	t.once("fired", &fired, slots)
	all, err := t.Store.Schedules(t.ctx, driver.ScheduleFilter{})
	t.must("Schedules", err)
	if len(all) != 1 || all[0].NextRunAt != slots*1000 {
		t.Errorf("the schedules are %+v; want one, due at %d", all, slots*1000)
	}
}

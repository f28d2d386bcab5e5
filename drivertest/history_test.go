package drivertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
)

// Histories prove nothing about what they do not reach.
func TestHistoriesReachEveryPartOfTheSeam(t *testing.T) {
	reached := make(map[string]int)
	see := func(yes bool, what string) {
		if yes {
			reached[what]++
		} else {
			reached[what] += 0
		}
	}
	for seed := uint64(1); seed <= 30; seed++ {
		p := openPair(t, memory, seed)
		g := newHistorian(seed, memory, p.ref)
		for range 300 {
			now, c := g.step()
			a := c.on(p.ref, now)
			g.learn(c)
			reached[fmt.Sprintf("%T", c)]++
			see(strings.Contains(a.text, "error("), "unexpected errors")
			if r, ok := c.(relayCall); ok && r.Record {
				see(strings.Contains(a.text, "ParentSettled"), "a relay that settles a parent")
			}
			if ack, ok := c.(ackCall); ok {
				for i, r := range p.ref.acked {
					see(r.Err == nil, fmt.Sprintf("an accepted %v", ack.Batch[i].Kind))
					see(r.Err == nil && ack.Batch[i].Kind == driver.AckFanOut && r.State == driver.Cancelled, "a cancel that won over a fan-out")
					see(r.Err == nil && ack.Batch[i].Kind == driver.AckRetry && r.State == driver.Cancelled, "a cancel that won over a retry")
				}
			}
			if claim, ok := c.(claimCall); ok {
				see(claim.Resume && len(p.ref.claimed) > 0, "a resumed claim")
			}
		}
		d, err := p.ref.dump(historyIDs)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range d.jobs {
			see(j.Flow != nil && j.State.Terminal(), "a finished parent")
			see(j.Flow != nil && j.FailedReason != "", "a parent that failed fast")
			see(j.Parent != nil, "a child")
			see(j.Parent != nil && j.Flow != nil, "a nested parent")
			see(j.ID == "sched/s1/0" || strings.HasPrefix(j.ID, driver.ScheduleIDPrefix), "a tick's job")
			see(j.DedupeKey != "", "a dedup key")
			see(j.FailedReason == driver.StalledReason, "a job that stalled too often")
			reached[j.State.String()]++
		}
		for _, rows := range d.rows {
			for _, row := range rows {
				see(row.Status == driver.ChildCancelled && !row.Cascaded, "an owed cascade")
				reached["a row that is "+row.Status.String()]++
			}
		}
		p.close()
	}
	for _, state := range driver.States {
		see(false, state.String())
	}
	for what, n := range reached {
		t.Logf("%5d %s", n, what)
		if what == "unexpected errors" {
			if n > 0 {
				t.Errorf("%d calls failed", n)
			}
		} else if n == 0 {
			t.Errorf("no history reached %s", what)
		}
	}
}

// A history that fails must be printed short, and replayable.
func TestHistoriesAreShrunk(t *testing.T) {
	steps, failure := drawHistory(t, losing, HistoryOptions{}.withDefaults(), 1)
	if failure == "" {
		t.Fatal("a store that loses priorities passes a history")
	}
	short, why := shrink(t, losing, HistoryOptions{}.withDefaults(), 1, steps, failure)
	if len(short) > 6 || len(short) >= len(steps) {
		t.Errorf("a history of %d steps was cut to %d only:\n%s", len(steps), len(short), describe(short))
	}
	if !strings.Contains(why, "Priority") {
		t.Errorf("the failure does not show the difference: %s", why)
	}
	seen := ObserveFunc(t, "histories", func(t TB) { RunHistories(t, losing, HistoryOptions{Seeds: 1}) })
	if log := strings.Join(seen.Log, "\n"); !seen.Failed || !strings.Contains(log, "BRAID_HISTORY_SEED=1 ") || !strings.Contains(log, why) {
		t.Errorf("the report of a history that fails does not tell how to replay it, and why it fails:\n%s", log)
	}
	if _, again := replay(t, losing, 1, short, true); again != why {
		t.Errorf("a replay fails with %q; want %q", again, why)
	}
}

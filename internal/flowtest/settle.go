package flowtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

func lastChildrenTogether(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	const children = 40
	var together sync.WaitGroup
	together.Add(children)
	r.kinds.before = func(context.Context, step) error {
		together.Done()
		together.Wait()
		return nil
	}
	p := r.start(nil, func(o *braid.WorkerOptions) { o.Concurrency = children })
	todo := plan{Steps: steps(children, succeed)}
	r.endsAs(r.enqueue("a", todo), todo)
	r.settled()
	r.oneSettle()
	if n := p.runs.of(p.runs.collects, "a"); n != 1 {
		t.Errorf("collect ran %d times", n)
	}
}

func repeatedReports(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	first, second := r.prepare(nil), r.prepare(nil)
	endFirst := first.faults[r.childStoreName()].Fail(true, "DeleteOutbox")
	endSecond := second.faults[r.childStoreName()].Fail(true, "DeleteOutbox")
	r.run(first)
	r.run(second)
	lenient, strict := plan{Steps: steps(30, succeed)}, plan{Strict: true, Steps: append(steps(30, succeed), steps(2, fail)...)}
	a, b := r.enqueue("a", lenient), r.enqueue("b", strict)
	r.endsAs(a, lenient)
	r.endsAs(b, strict)
	// Everything has settled, and every report is still there to come again.
	store := r.stores[r.childStoreName()]
	entries := peekAll(r, store)
	if len(entries) < 30 {
		t.Fatalf("%d outcomes are in the outbox; want all of one flow at least", len(entries))
	}
	reports := make([]driver.ChildReport, len(entries))
	for i, entry := range entries {
		reports[i] = entry.Report
	}
	results, err := r.stores[parentStore].RecordChildResults(r.ctx, entries[0].At+1, append(reports, reports...))
	for i, result := range must(r, results, err) {
		if result.Applied || result.ParentSettled {
			t.Errorf("report %d was applied again: %+v", i, result)
		}
	}
	endFirst()
	endSecond()
	r.settled()
	r.oneSettle()
	if n := first.runs.of(first.runs.collects, "a") + second.runs.of(second.runs.collects, "a"); n != 1 {
		t.Errorf("collect ran %d times", n)
	}
	if n := first.runs.of(first.runs.collects, "b") + second.runs.of(second.runs.collects, "b"); n != 0 {
		t.Errorf("collect of a flow that failed fast ran %d times", n)
	}
}

func peekAll(r *rig, store driver.Store) []driver.OutboxEntry {
	r.Helper()
	entries, err := store.PeekOutbox(r.ctx, 0, driver.PeekRequest{Limit: 1000})
	return must(r, entries, err)
}

func lostChildren(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	resume := r.pauseSteps()
	unforgiving := func(o *braid.WorkerOptions) { o.FailStalled, o.MaxStalled, o.LockDuration = true, 0, time.Second }
	doomed := r.start(nil, unforgiving)
	todo := plan{Steps: append(steps(6, succeed), step{Do: fail}, step{Do: hold})}
	h := r.enqueue("a", todo)
	r.awaitState("a", braid.WaitingChildren)
	r.awaitChildren(8)
	jobs, steps := r.childJobs("a"), r.client.On(r.childStoreName())
	if err := steps.Cancel(r.ctx, jobs[stepKey(0)]); err != nil {
		t.Fatal(err)
	}
	if removed, err := steps.Remove(r.ctx, jobs[stepKey(1)]); err != nil || !removed {
		t.Fatalf("remove: %v, %v", removed, err)
	}
	resume()
	r.eventually("only the child that holds runs", func() (bool, string) {
		counts, err := r.stores[r.childStoreName()].Counts(r.ctx, stepQueue)
		return err == nil && counts.Active == 1 && counts.Waiting == 0, fmt.Sprintf("%+v, %v", counts, err)
	})
	doomed.life.die()
	r.start(nil, unforgiving)
	state, got := r.outcome(h)
	if want := (sum{Completed: 4, Failed: 2, Cancelled: 2, Value: 3 + 4 + 5 + 6}); state != braid.Completed || got != want {
		t.Errorf("the flow is %v with %+v, want completed with %+v", state, got, want)
	}
	r.settled()
	for child, err := range r.client.AllChildren(r.ctx, "a") {
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]braid.ChildStatus{
			stepKey(0): braid.ChildCancelled, stepKey(1): braid.ChildCancelled,
			stepKey(6): braid.ChildFailed, stepKey(7): braid.ChildFailed,
		}[child.Key]
		if want != 0 && child.Status != want {
			t.Errorf("child %s is %v, want %v", child.Key, child.Status, want)
		}
		if child.Key == stepKey(7) && child.FailedReason != driver.StalledReason {
			t.Errorf("the child that was lost with its worker failed with %q", child.FailedReason)
		}
	}
}

func failFastNotKept(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	r.start(nil)
	todo := plan{Strict: true, Steps: append(steps(1, fail), steps(30, hold)...)}
	h := r.enqueue("a", todo, braid.Keep(braid.KeepLast(0)))
	// Who polls may come too late for a parent that is not kept.
	if _, err := h.Wait(r.ctx); !errors.Is(err, braid.ErrResultNotKept) &&
		(err == nil || !strings.Contains(err.Error(), driver.FailFastReason(stepKey(0)))) {
		t.Errorf("the flow ended with %v", err)
	}
	r.eventually("the parent is paid for, and goes", func() (bool, string) {
		jobs, err := r.client.GetMany(r.ctx, "a")
		return err == nil && jobs[0] == nil, "it is still there"
	})
	r.settled()
	if counts := r.counts(r.childStoreName()); counts.Cancelled != 30 || counts.Failed != 1 {
		t.Errorf("children: %+v", counts)
	}
}

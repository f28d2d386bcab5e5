package flowtest

import (
	"context"
	"testing"

	"github.com/braidmq/braid"
)

func enqueuedAgain(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	todo := plan{Steps: steps(5, succeed), Trouble: true}
	last := make(chan struct{})
	r.kinds.before = func(_ context.Context, s step) error {
		if s.Value == 5 {
			<-last
		}
		return nil
	}
	again := func(phase string) {
		t.Helper()
		if h := r.enqueue("a", todo); !h.Duplicate {
			t.Errorf("%s: the flow was enqueued a second time", phase)
		}
	}
	if h := r.enqueue("a", todo); h.Duplicate {
		t.Fatal("the first enqueue is a duplicate")
	}
	again("waiting")
	resume := r.pauseSteps()
	p := r.start(nil)
	r.awaitState("a", braid.WaitingChildren)
	again("parked")
	r.awaitChildren(5)
	again("with its children enqueued")
	resume()
	r.eventually("four children have reported", func() (bool, string) {
		job, err := r.client.Get(r.ctx, "a")
		return err == nil && job.Flow.Completed == 4, "they have not"
	})
	again("half-way")
	close(last)
	r.endsAs(r.byID("a"), todo)
	again("completed")
	r.settled()
	r.oneSettle()
	r.awaitChildren(5)
	if n := p.runs.of(p.runs.fanOuts, "a"); n != 1 {
		t.Errorf("it fanned out %d times", n)
	}
}

func removedAndEnqueuedAgain(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	resume := r.pauseSteps()
	r.start(nil)
	todo := plan{Steps: steps(5, succeed)}
	r.enqueue("a", todo)
	r.awaitChildren(5)
	first := r.childJobs("a")
	if err := r.client.Cancel(r.ctx, "a"); err != nil {
		t.Fatal(err)
	}
	// Removed before its cascade may have come to the children: what becomes of them
	// must not be taken for what becomes of the next flow's.
	if removed, err := r.client.Remove(r.ctx, "a"); err != nil || !removed {
		t.Fatalf("remove: %v, %v", removed, err)
	}
	if h := r.enqueue("a", todo); h.Duplicate {
		t.Fatal("the flow cannot be enqueued again")
	}
	r.awaitChildren(10)
	for key, id := range r.childJobs("a") {
		if first[key] == id {
			t.Errorf("child %s is job %s again", key, id)
		}
	}
	resume()
	r.endsAs(r.byID("a"), todo)
	r.settled()
}

func cancelledParent(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	r.start(nil)
	todo := plan{Steps: steps(12, hold), Flows: []plan{{Steps: steps(12, hold)}}}
	h := r.enqueue("a", todo)
	r.eventually("all children run or wait", func() (bool, string) {
		counts, err := r.stores[r.childStoreName()].Counts(r.ctx, stepQueue)
		return err == nil && counts.Total() == 24, "not yet"
	})
	if err := h.Cancel(r.ctx); err != nil {
		t.Fatal(err)
	}
	if state, _ := r.outcome(h); state != braid.Cancelled {
		t.Errorf("the flow is %v", state)
	}
	r.settled()
	r.oneSettle()
	for name := range r.stores {
		if counts := r.counts(name); counts.Completed+counts.Failed > 0 {
			t.Errorf("store %s: %+v, want all cancelled", name, counts)
		}
	}
}

func retriedParent(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	p := r.start(nil)
	todo := plan{Strict: true, Steps: append(steps(1, fail), steps(10, hold)...)}
	h := r.enqueue("a", todo)
	r.endsAs(h, todo)
	r.settled()
	if err := h.Retry(r.ctx); err != nil {
		t.Fatal(err)
	}
	state, got := r.outcome(h)
	if want := (sum{Failed: 1, Cancelled: 10}); state != braid.Completed || got != want {
		t.Errorf("the retried flow is %v with %+v, want completed with %+v", state, got, want)
	}
	if p.runs.of(p.runs.fanOuts, "a") != 1 || p.runs.of(p.runs.collects, "a") != 1 {
		t.Errorf("it fanned out %d times and collected %d times", p.runs.of(p.runs.fanOuts, "a"), p.runs.of(p.runs.collects, "a"))
	}
	r.settled()
}

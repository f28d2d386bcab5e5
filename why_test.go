package braid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// why returns the only reason, or the one at the index.
func (b *bench) why(id string) []braid.Reason {
	b.Helper()
	why, err := b.client.Why(b.ctx, id)
	if err != nil || why.ID != id || len(why.Reasons) == 0 {
		b.Fatalf("why %q: %+v, %v", id, why, err)
	}
	for _, reason := range why.Reasons {
		if !strings.HasSuffix(reason.Text, ".") {
			b.Errorf("%q is no sentence", reason.Text)
		}
	}
	return why.Reasons
}

func TestWhyTellsWhatAQueuedJobWaitsFor(t *testing.T) {
	b := newBench(t)
	b.present("w", "default", "a")
	first, second := b.enqueueNamed("a"), b.enqueueNamed("a")
	if r := b.why(first); r[0].Code != braid.ReasonNext {
		t.Errorf("the first in line: %+v", r)
	}
	if r := b.why(second); r[0].Code != braid.ReasonJobsAhead || r[0].Ahead != 1 {
		t.Errorf("the second in line: %+v", r)
	}
	if err := b.client.Pause(b.ctx, "default"); err != nil {
		t.Fatal(err)
	}
	if r := b.why(second); len(r) != 2 || r[0].Code != braid.ReasonPaused || r[1].Code != braid.ReasonJobsAhead {
		t.Errorf("in a paused queue: %+v", r)
	}
	if r := b.why(first); len(r) != 1 || r[0].Code != braid.ReasonPaused {
		t.Errorf("the first in a paused queue: %+v", r)
	}
}

func TestWhyTellsThatNoWorkerWouldTakeAJob(t *testing.T) {
	b := newBench(t)
	first, second := b.enqueueNamed("a"), b.enqueueNamed("a")
	if r := b.why(first); r[0].Code != braid.ReasonNoWorker || !strings.Contains(r[0].Text, `queue "default"`) || len(r) != 1 {
		t.Errorf("no worker: %+v", r)
	}
	b.present("elsewhere", "q", "a")
	if r := b.why(second); r[0].Code != braid.ReasonNoWorker || r[1].Code != braid.ReasonJobsAhead {
		t.Errorf("a worker for another queue: %+v", r)
	}
	b.present("other", "default", "b")
	if r := b.why(first); r[0].Code != braid.ReasonNoWorker || !strings.Contains(r[0].Text, `handles "a"`) || !strings.Contains(r[0].Text, "some work on that queue") {
		t.Errorf("a worker for another name: %+v", r)
	}
	b.present("right", "default", "a")
	if r := b.why(first); len(r) != 1 || r[0].Code != braid.ReasonNext {
		t.Errorf("a worker that would take it: %+v", r)
	}
	if err := b.store.ForgetWorker(b.ctx, "right"); err != nil {
		t.Fatal(err)
	}
	if r := b.why(first); r[0].Code != braid.ReasonNoWorker {
		t.Errorf("that worker is gone: %+v", r)
	}
}

// present lists a worker that does nothing.
func (b *bench) present(id, queue, name string) {
	b.Helper()
	now := driver.TimeOf(time.Now())
	err := b.store.BeatWorker(b.ctx, now, driver.WorkerRecord{ID: id, Names: []string{name},
		Queues: []driver.WorkerQueue{{Name: queue, Slots: 1}}, Since: now, ExpiresAt: now.Add(3_600_000)})
	if err != nil {
		b.Fatal(err)
	}
}

func TestWhyTellsHowLongADelayedJobRests(t *testing.T) {
	b := newBench(t)
	later := b.enqueueNamed("a", braid.In(time.Hour))
	if r := b.why(later); r[0].Code != braid.ReasonNotDue || time.Until(r[0].Until) < 50*time.Minute {
		t.Errorf("delayed: %+v", r)
	}
	retried := b.enqueueNamed("b", braid.Backoff(braid.Fixed(time.Hour)))
	b.settle(b.lease(braid.LeaseRequest{Names: []string{"b"}, Worker: "w"})[0], braid.Settlement{Kind: braid.SettleFailed, Message: "no"})
	if r := b.why(retried); r[0].Code != braid.ReasonNotDue || !strings.Contains(r[0].Text, "attempt 2 of 10") {
		t.Errorf("before its second attempt: %+v", r)
	}
	due := b.enqueueNamed("c", braid.Queue("elsewhere"), braid.In(time.Millisecond))
	deadline := time.Now().Add(10 * time.Second)
	for b.why(due)[0].Code == braid.ReasonNotDue && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if r := b.why(due); len(r) != 2 || r[0].Code != braid.ReasonNoWorker || r[1].Code != braid.ReasonDue {
		t.Errorf("due, without a worker: %+v", r)
	}
	b.present("w2", "elsewhere", "c")
	if r := b.why(due); len(r) != 1 || r[0].Code != braid.ReasonDue {
		t.Errorf("due: %+v", r)
	}
}

func TestWhyTellsWhoRunsAJob(t *testing.T) {
	b := newBench(t)
	id := b.enqueueNamed("a")
	job := b.lease(braid.LeaseRequest{Names: []string{"a"}, Worker: "w1", LockDuration: 100 * time.Millisecond})[0]
	if r := b.why(id); r[0].Code != braid.ReasonRunning || r[0].Worker != "w1" || !r[0].Until.Equal(job.LockExpiresAt) {
		t.Errorf("running: %+v", r)
	}
	if err := b.client.Cancel(b.ctx, id); err != nil {
		t.Fatal(err)
	}
	if r := b.why(id); r[0].Code != braid.ReasonCancelRequested {
		t.Errorf("cancel requested: %+v", r)
	}
	deadline := time.Now().Add(10 * time.Second)
	for b.why(id)[1].Code == braid.ReasonRunning && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	if r := b.why(id); r[1].Code != braid.ReasonLockExpired {
		t.Errorf("its lock ran out: %+v", r)
	}
	b.settle(job, braid.Settlement{Kind: braid.SettleCancelled})
	if r := b.why(id); r[0].Code != braid.ReasonFinished || !strings.Contains(r[0].Text, "cancelled") {
		t.Errorf("finished: %+v", r)
	}
	if _, err := b.client.Why(b.ctx, "none"); !errors.Is(err, braid.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestWhyNamesTheOpenChildrenOfAFlow(t *testing.T) {
	b := newBench(t)
	child := braid.NewJob[int, braid.None]("child", braid.Queue("children"))
	parent := braid.NewFlow("flow", braid.NewJob[braid.None, braid.None]("parent", braid.Queue("parents")), braid.Children(child))
	b.work(braid.WorkerOptions{Queues: map[string]int{"parents": 1}}, func(w *braid.Worker) {
		parent.Handle(w,
			func(_ context.Context, _ braid.None, out *braid.FanOut) error {
				for i := range 12 {
					child.Child(out, fmt.Sprintf("%02d", i), i)
				}
				return nil
			},
			func(context.Context, braid.None, *braid.Results) (braid.None, error) { return braid.None{}, nil })
	})
	h, err := parent.Enqueue(b.ctx, b.client, braid.None{})
	if err != nil {
		t.Fatal(err)
	}
	done := b.lease(braid.LeaseRequest{Queue: "children", Names: []string{"child"}, Worker: "w", Wait: 10 * time.Second})[0]
	b.settle(done, braid.Settlement{Kind: braid.SettleCompleted})
	deadline := time.Now().Add(10 * time.Second)
	for b.why(h.ID)[0].Children != 11 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	r := b.why(h.ID)[0]
	if r.Code != braid.ReasonChildren || r.Children != 11 || len(r.Open) != 10 || !strings.Contains(r.Text, `11 of its children: "0`) {
		t.Errorf("parked: %+v", r)
	}
	for _, open := range r.Open {
		if open.JobID == done.ID || open.Store != braid.DefaultStore {
			t.Errorf("open: %+v", open)
		}
	}
}

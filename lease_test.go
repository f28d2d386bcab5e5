package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

func (b *bench) lease(req braid.LeaseRequest) []braid.LeasedJob {
	b.Helper()
	jobs, err := b.client.Lease(b.ctx, req)
	if err != nil {
		b.Fatalf("lease: %v", err)
	}
	if len(jobs) == 0 {
		b.Fatalf("lease: nothing for %+v", req)
	}
	return jobs
}

func (b *bench) settle(job braid.LeasedJob, s braid.Settlement) braid.State {
	b.Helper()
	s.ID, s.Token = job.ID, job.Token
	results, err := b.client.SettleLeases(b.ctx, s)
	if err != nil || results[0].Err != nil {
		b.Fatalf("settle: %+v, %v", results, err)
	}
	return results[0].State
}

func TestALeasedJobIsSettled(t *testing.T) {
	b := newBench(t)
	hour, negative := time.Hour, -time.Second
	for _, test := range []struct {
		settlement braid.Settlement
		want       braid.State
	}{
		{braid.Settlement{Kind: braid.SettleCompleted, Result: json.RawMessage(`{"n":9007199254740993}`)}, braid.Completed},
		{braid.Settlement{Kind: braid.SettleFailed, Message: "no"}, braid.Delayed},
		{braid.Settlement{Kind: braid.SettleFailed, Message: "no", Delay: new(time.Duration)}, braid.Waiting},
		{braid.Settlement{Kind: braid.SettleFailed, Message: "no", NoRetry: true}, braid.Failed},
		{braid.Settlement{Kind: braid.SettleCancelled}, braid.Cancelled},
		{braid.Settlement{Kind: braid.SettleSnoozed, Delay: &hour}, braid.Delayed},
		{braid.Settlement{Kind: braid.SettleReleased}, braid.Waiting},
	} {
		name := string(test.settlement.Kind)
		id := b.enqueueNamed(name, braid.Queue("q"+name+test.want.String()))
		job := b.lease(braid.LeaseRequest{Queue: "q" + name + test.want.String(), Names: []string{name}, Worker: "python"})[0]
		if job.ID != id || job.Attempt != 1 || job.Token == "" || job.LockedBy != "python" {
			t.Fatalf("leased %+v", job)
		}
		if got := b.settle(job, test.settlement); got != test.want {
			t.Errorf("%s leaves the job %v, want %v", name, got, test.want)
		}
		after, err := b.client.SettleLeases(b.ctx, braid.Settlement{ID: id, Token: job.Token, Kind: braid.SettleReleased})
		if err != nil || !errors.Is(after[0].Err, braid.ErrLockLost) {
			t.Errorf("a second settlement of %s: %+v, %v", name, after, err)
		}
	}
	id := b.enqueueNamed("one")
	job := b.lease(braid.LeaseRequest{Names: []string{"one"}, Worker: "w"})[0]
	for field, s := range map[string]braid.Settlement{
		"outcome": {Kind: "done"},
		"message": {Kind: braid.SettleFailed},
		"delay":   {Kind: braid.SettleSnoozed, Delay: &negative},
		"result":  {Kind: braid.SettleCompleted, Result: json.RawMessage(`{`)},
	} {
		s.ID, s.Token = id, job.Token
		var invalid *braid.InvalidError
		results, err := b.client.SettleLeases(b.ctx, s, braid.Settlement{ID: "none", Kind: braid.SettleReleased})
		if err != nil || !errors.As(results[0].Err, &invalid) || invalid.Field != field || !errors.Is(results[1].Err, braid.ErrNotFound) {
			t.Errorf("%+v: %+v, %v", s, results, err)
		}
	}
}

func TestAFailedLeaseTellsItsError(t *testing.T) {
	b := newBench(t)
	id := b.enqueueNamed("a")
	job := b.lease(braid.LeaseRequest{Names: []string{"a"}, Worker: "w"})[0]
	b.settle(job, braid.Settlement{Kind: braid.SettleFailed, Message: "bad\x00 \xff", Type: "ValueError", Stack: "line 1", NoRetry: true})
	info, err := b.client.Get(b.ctx, id)
	failed := new(braid.JobError)
	if err != nil || !errors.As(info.Err(), &failed) || failed.Message != "bad\uFFFD \uFFFD" || failed.Type != "ValueError" || failed.Stack != "line 1" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestALeaseWaitsForAJob(t *testing.T) {
	b := newBench(t)
	got := make(chan []braid.LeasedJob, 1)
	go func() {
		jobs, err := b.client.Lease(b.ctx, braid.LeaseRequest{Queue: "q", Names: []string{"a"}, Worker: "w", Wait: time.Minute})
		if err != nil {
			t.Errorf("lease: %v", err)
		}
		got <- jobs
	}()
	// A delayed job must be found, too, whose time comes while the lease waits.
	id := b.enqueueNamed("a", braid.Queue("q"), braid.In(30*time.Millisecond))
	if jobs := receive(b, got, "the leased job"); len(jobs) != 1 || jobs[0].ID != id {
		t.Errorf("leased %+v", jobs)
	}

	jobs, err := b.client.Lease(b.ctx, braid.LeaseRequest{Queue: "q", Names: []string{"a"}, Worker: "w", Wait: 10 * time.Millisecond})
	if err != nil || len(jobs) != 0 {
		t.Errorf("an empty queue: %+v, %v", jobs, err)
	}
}

func TestALeaseWhoseCallerHasGoneHoldsNothing(t *testing.T) {
	b := newBench(t)
	id := b.enqueueNamed("a")
	gone, cancel := context.WithCancel(b.ctx)
	cancel()
	if jobs, err := b.client.Lease(gone, braid.LeaseRequest{Names: []string{"a"}, Worker: "w"}); !errors.Is(err, context.Canceled) || len(jobs) != 0 {
		t.Fatalf("leased %+v, %v", jobs, err)
	}
	if got := b.state(id); got != braid.Waiting {
		t.Errorf("the job is %v", got)
	}
}

func TestLeasesAreExtendedAndTold(t *testing.T) {
	b := newBench(t)
	b.enqueueNamed("a")
	b.enqueueNamed("a")
	jobs := b.lease(braid.LeaseRequest{Names: []string{"a"}, Worker: "w", Limit: 2, LockDuration: time.Second})
	if len(jobs) != 2 || jobs[0].Token != jobs[1].Token {
		t.Fatalf("leased %+v", jobs)
	}
	if err := b.client.Cancel(b.ctx, jobs[1].ID); err != nil {
		t.Fatal(err)
	}
	state, err := b.client.ExtendLeases(b.ctx, []braid.Lock{
		{ID: jobs[0].ID, Token: jobs[0].Token}, {ID: jobs[1].ID, Token: jobs[1].Token}, {ID: jobs[0].ID, Token: "other"},
	}, time.Hour)
	if err != nil || len(state.Lost) != 1 || len(state.CancelRequested) != 1 || state.CancelRequested[0] != jobs[1].ID {
		t.Errorf("%+v, %v", state, err)
	}
	info, err := b.client.Get(b.ctx, jobs[0].ID)
	if err != nil || time.Until(info.LockExpiresAt) < time.Minute {
		t.Errorf("the lease was not extended: %+v, %v", info, err)
	}
	// As with a handler that fails because it was told to stop, the job is cancelled.
	if got := b.settle(jobs[1], braid.Settlement{Kind: braid.SettleFailed, Message: "stopped"}); got != braid.Cancelled {
		t.Errorf("the job is %v", got)
	}
}

func TestALeaseRefusesBadRequests(t *testing.T) {
	b := newBench(t)
	for field, req := range map[string]braid.LeaseRequest{
		"names":         {Worker: "w"},
		"worker":        {Names: []string{"a"}},
		"limit":         {Names: []string{"a"}, Worker: "w", Limit: -1},
		"wait":          {Names: []string{"a"}, Worker: "w", Wait: -1},
		"lock duration": {Names: []string{"a"}, Worker: "w", LockDuration: time.Millisecond},
		"queue":         {Names: []string{"a"}, Worker: "w", Queue: "\xff"},
	} {
		var invalid *braid.InvalidError
		if _, err := b.client.Lease(b.ctx, req); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%+v: %v, want the field %s", req, err, field)
		}
	}
}

func TestAFlowsParentIsNotLeasedForItsSecondPhase(t *testing.T) {
	b := newBench(t)
	child := braid.NewJob[braid.None, braid.None]("child")
	parent := braid.NewFlow("flow", braid.NewJob[braid.None, braid.None]("parent", braid.Queue("parents")), braid.Children(child))
	worker := b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		parent.Handle(w,
			func(_ context.Context, _ braid.None, out *braid.FanOut) error {
				child.Child(out, "one", braid.None{})
				return nil
			},
			func(context.Context, braid.None, *braid.Results) (braid.None, error) { return braid.None{}, nil })
	})
	h, err := parent.Enqueue(b.ctx, b.client, braid.None{})
	if err != nil {
		t.Fatal(err)
	}
	leased := b.lease(braid.LeaseRequest{Names: []string{"child"}, Worker: "w", Wait: 10 * time.Second})
	// The worker stops before the child ends, so that only the lease can meet the parent.
	if err := worker.Stop(b.within(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	keeper := braid.NewKeeper(b.client, braid.KeeperOptions{})
	ctx, stop := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- keeper.Run(ctx) }()
	b.settle(leased[0], braid.Settlement{Kind: braid.SettleCompleted})
	deadline := time.Now().Add(10 * time.Second)
	for b.state(h.ID) == braid.WaitingChildren && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	if jobs, err := b.client.Lease(b.ctx, braid.LeaseRequest{Queue: "parents", Names: []string{"parent"}, Worker: "w"}); err != nil || len(jobs) != 0 {
		t.Errorf("leased %+v, %v", jobs, err)
	}
	if got := b.state(h.ID); got != braid.Delayed {
		t.Errorf("the parent is %v, want it put off", got)
	}
	stop()
	if err := receive(b, done, "the keeper's end"); err != nil {
		t.Error(err)
	}
}

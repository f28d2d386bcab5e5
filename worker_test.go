package braid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func TestEveryJobOfABacklogRunsOnce(t *testing.T) {
	b := newBench(t)
	const jobs = 5000
	count := braid.NewJob[int, braid.None]("count")
	payloads := make([]int, jobs)
	for i := range payloads {
		payloads[i] = i
	}
	handles, err := count.EnqueueMany(b.ctx, b.client, payloads)
	if err != nil {
		t.Fatal(err)
	}
	var runs [jobs]atomic.Int32
	for range 3 {
		b.work(braid.WorkerOptions{Concurrency: 20}, func(w *braid.Worker) {
			count.Handle(w, func(_ context.Context, n int) (braid.None, error) {
				runs[n].Add(1)
				return braid.None{}, nil
			})
		})
	}
	for i, handle := range handles {
		if _, err := handle.Wait(b.within(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n := runs[i].Load(); n != 1 {
			t.Errorf("job %d ran %d times", i, n)
		}
	}
}

func TestStopDuringTheLastAttemptReturnsTheJobUnharmed(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[braid.None, string]("job", braid.Attempts(1))
	started := make(chan struct{}, 2)
	worker := braid.NewWorker(b.client, braid.WorkerOptions{ShutdownGrace: time.Millisecond})
	job.Handle(worker, func(ctx context.Context, _ braid.None) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), braid.ErrShutdown) {
			t.Errorf("cause is %v, want ErrShutdown", context.Cause(ctx))
		}
		return "", ctx.Err()
	})
	handle, err := job.Enqueue(b.ctx, b.client, braid.None{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, sigterm := context.WithCancel(b.ctx)
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()
	receive(b, started, "the handler")
	sigterm()
	if err := receive(b, ran, "Run"); err != nil {
		t.Errorf("Run: %v", err)
	}
	info, err := handle.Get(b.ctx)
	if err != nil || info.State != braid.Waiting || info.AttemptsMade != 0 {
		t.Fatalf("job is %+v (%v), want it waiting with no attempt used", info, err)
	}
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(context.Context, braid.None) (string, error) { return "done", nil })
	})
	if result, err := handle.Wait(b.within(10 * time.Second)); result != "done" || err != nil {
		t.Errorf("the next worker: %q, %v", result, err)
	}
}

func TestARunThatLostItsLockIsToldAndItsResultIsRefused(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[braid.None, int]("job")
	var runs atomic.Int32
	first := make(chan struct{})
	told := make(chan error, 1)
	b.work(braid.WorkerOptions{LockDuration: 200 * time.Millisecond, Concurrency: 2}, func(w *braid.Worker) {
		job.Handle(w, func(ctx context.Context, _ braid.None) (int, error) {
			if run := runs.Add(1); run > 1 {
				return int(run), nil
			}
			close(first)
			<-ctx.Done()
			told <- context.Cause(ctx)
			return 1, nil
		})
	})
	handle, err := job.Enqueue(b.ctx, b.client, braid.None{})
	if err != nil {
		t.Fatal(err)
	}
	receive(b, first, "the first run")
	// Somebody finds the lock expired, as after a long pause of this process.
	future := driver.TimeOf(time.Now().Add(time.Hour))
	recovered, err := b.store.RecoverStalled(b.ctx, future, driver.RecoverRequest{MaxStalled: 3, Limit: 10})
	if err != nil || len(recovered.Jobs) != 1 {
		t.Fatalf("recovered %+v (%v)", recovered, err)
	}
	if result, err := handle.Wait(b.within(10 * time.Second)); result != 2 || err != nil {
		t.Errorf("result is %d (%v), want the second run's", result, err)
	}
	if cause := receive(b, told, "the first run's end"); !errors.Is(cause, braid.ErrLockLost) {
		t.Errorf("cause is %v, want ErrLockLost", cause)
	}
}

func TestJobsOfALostWorkerRunAgain(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[braid.None, string]("job")
	handle, err := job.Enqueue(b.ctx, b.client, braid.None{})
	if err != nil {
		t.Fatal(err)
	}
	// A worker that claims and dies.
	now := driver.TimeOf(time.Now())
	claim := driver.ClaimRequest{Queue: "default", Names: []string{"job"}, Worker: "dead", Token: "t", Limit: 1, LockDuration: 100}
	if claimed, err := b.store.Claim(b.ctx, now, claim); err != nil || len(claimed.Jobs) != 1 {
		t.Fatalf("claim: %+v, %v", claimed, err)
	}
	b.work(braid.WorkerOptions{LockDuration: 100 * time.Millisecond, SweepInterval: 100 * time.Millisecond}, func(w *braid.Worker) {
		job.Handle(w, func(context.Context, braid.None) (string, error) { return "recovered", nil })
	})
	if result, err := handle.Wait(b.within(10 * time.Second)); result != "recovered" || err != nil {
		t.Errorf("%q, %v", result, err)
	}
	attempts, err := handle.Attempts(b.ctx)
	if err != nil || len(attempts) != 2 || attempts[0].Outcome != braid.OutcomeStalled || attempts[0].Worker != "dead" {
		t.Errorf("attempts are %+v (%v)", attempts, err)
	}
}

func TestAJobOfAnUnknownNameIsNeverTouched(t *testing.T) {
	b := newBench(t)
	known := braid.NewJob[string, string]("known")
	unknown, err := b.client.Enqueue(b.ctx, "unknown", nil)
	if err != nil {
		t.Fatal(err)
	}
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		known.Handle(w, func(_ context.Context, s string) (string, error) { return s, nil })
	})
	if _, err := known.Do(b.within(10*time.Second), b.client, "x"); err != nil {
		t.Fatal(err)
	}
	if info, err := unknown.Get(b.ctx); err != nil || info.State != braid.Waiting || info.AttemptsMade != 0 {
		t.Errorf("it is %+v (%v), want it waiting", info, err)
	}
}

func TestParallelStopsStopBeforeRunAndRunTwice(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[braid.None, braid.None]("job")
	handler := func(context.Context, braid.None) (braid.None, error) { return braid.None{}, nil }

	worker := braid.NewWorker(b.client, braid.WorkerOptions{})
	job.Handle(worker, handler)
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(b.ctx) }()
	if _, err := job.Do(b.within(10*time.Second), b.client, braid.None{}); err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(b.ctx); !errors.Is(err, braid.ErrWorkerRunning) {
		t.Errorf("second Run: %v, want ErrWorkerRunning", err)
	}
	var stops sync.WaitGroup
	for range 10 {
		stops.Go(func() {
			if err := worker.Stop(b.within(10 * time.Second)); err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	}
	stops.Wait()
	if err := receive(b, ran, "Run"); err != nil {
		t.Errorf("Run: %v", err)
	}

	early := braid.NewWorker(b.client, braid.WorkerOptions{})
	job.Handle(early, handler)
	if err := early.Stop(b.ctx); err != nil {
		t.Errorf("Stop before Run: %v", err)
	}
	if err := early.Run(b.ctx); err != nil {
		t.Errorf("Run after Stop: %v", err)
	}

	over, cancel := context.WithCancel(b.ctx)
	cancel()
	late := braid.NewWorker(b.client, braid.WorkerOptions{})
	job.Handle(late, handler)
	if err := late.Run(over); err != nil {
		t.Errorf("Run with a context that is over: %v", err)
	}
}

func TestEachQueueHasItsOwnSlots(t *testing.T) {
	b := newBench(t)
	slow := braid.NewJob[braid.None, braid.None]("slow", braid.Queue("slow"))
	quick := braid.NewJob[braid.None, braid.None]("quick", braid.Queue("quick"))
	release := make(chan struct{})
	var mu sync.Mutex
	running, most := 0, 0
	change := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		running += by
		most = max(most, running)
	}
	if _, err := slow.EnqueueMany(b.ctx, b.client, make([]braid.None, 100)); err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{}, 100)
	b.work(braid.WorkerOptions{Queues: map[string]int{"slow": 3, "quick": 1}}, func(w *braid.Worker) {
		slow.Handle(w, func(ctx context.Context, _ braid.None) (braid.None, error) {
			change(1)
			defer change(-1)
			started <- struct{}{}
			<-release
			return braid.None{}, nil
		})
		quick.Handle(w, func(context.Context, braid.None) (braid.None, error) { return braid.None{}, nil })
	})
	for range 3 {
		receive(b, started, "the slow jobs")
	}
	for range 10 {
		if _, err := quick.Do(b.within(10*time.Second), b.client, braid.None{}); err != nil {
			t.Errorf("a quick job behind a slow backlog: %v", err)
		}
	}
	close(release)
	mu.Lock()
	defer mu.Unlock()
	if most != 3 {
		t.Errorf("%d slow jobs ran at once, want 3", most)
	}
}

func TestJobsOfSeveralStoresRunOnOneWorker(t *testing.T) {
	b := newBench(t)
	second := memstore.New()
	client := braid.NewClient(b.store, braid.WithStore("second", second), braid.WithLogger(nil))
	here := braid.NewJob[string, string]("echo")
	there := braid.NewJob[string, string]("echo", braid.OnStore("second"))
	worker := braid.NewWorker(client, braid.WorkerOptions{})
	here.Handle(worker, func(_ context.Context, s string) (string, error) { return "here " + s, nil })
	there.Handle(worker, func(_ context.Context, s string) (string, error) { return "there " + s, nil })
	go worker.Run(b.ctx)
	defer worker.Stop(context.Background())
	for _, job := range []*braid.Job[string, string]{here, there} {
		handle, err := job.Enqueue(b.ctx, client, "x")
		if err != nil {
			t.Fatal(err)
		}
		result, err := handle.Wait(b.within(10 * time.Second))
		fmt.Fprintln(t.Output(), result, err)
		if err != nil || !strings.HasSuffix(result, " x") {
			t.Errorf("%q, %v", result, err)
		}
	}
	if counts, err := client.On("second").Counts(b.ctx, ""); err != nil || counts.Completed != 1 {
		t.Errorf("the second store has %+v (%v)", counts, err)
	}
}

func TestLogLinesOfAHandlerTellTheJob(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[braid.None, braid.None]("job", braid.Queue("q"))
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(ctx context.Context, _ braid.None) (braid.None, error) {
			braid.Current(ctx).Logger().Info("hello")
			return braid.None{}, nil
		})
	})
	if _, err := job.Do(b.within(10*time.Second), b.client, braid.None{}, braid.ID("job-7")); err != nil {
		t.Fatal(err)
	}
	for _, line := range b.log.lines() {
		if strings.HasPrefix(line, "hello") {
			for _, want := range []string{"job-7", "queue=q", "attempt=1"} {
				if !strings.Contains(line, want) {
					t.Errorf("line %q does not tell %s", line, want)
				}
			}
			return
		}
	}
	t.Error("the handler's line is missing")
}

func TestOutsideOfAHandlerThereIsNoCurrentJob(t *testing.T) {
	current := braid.Current(t.Context())
	if current.ID != "" || current.Logger() == nil {
		t.Errorf("current job is %+v", current)
	}
}

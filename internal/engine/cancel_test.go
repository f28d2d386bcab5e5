package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// longLock makes heartbeats so rare that a test does not meet one by chance.
func longLock(c *Config) { c.LockDuration = time.Hour }

// awaitPush waits until the engine was told of a cancel request for a job that it
// does not have; again, if not nil, repeats the request meanwhile.
func (r *rig) awaitPush(id string, again func()) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		r.engine.cancels.mu.Lock()
		known := r.engine.cancels.recent.has(id, time.Now())
		r.engine.cancels.mu.Unlock()
		if known {
			return
		}
		if again != nil {
			again()
		}
	}
	r.t.Error("no cancel request was pushed")
}

// awaitWatch waits until cancel requests reach the engine.
func (r *rig) awaitWatch() {
	r.t.Helper()
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.Queue = "probe" })
	_, err := r.memory.Claim(r.t.Context(), now(), driver.ClaimRequest{
		Queue: "probe", Names: []string{"job"}, Token: "probe", Limit: 1, LockDuration: 1_000_000,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.awaitPush(id, func() { r.requestCancel(id) })
}

func TestACancelOfARunningJobIsPushed(t *testing.T) {
	started := make(chan *Run, 1)
	causes := make(chan error, 1)
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		started <- run
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}, longLock)
	r.awaitWatch()
	id := r.enqueue(1)
	receive(t, started, "the run")
	at := time.Now()
	r.requestCancel(id)
	if cause := receive(t, causes, "the cancel"); !errors.Is(cause, ErrCancelRequested) {
		t.Errorf("the cause is %v", cause)
	}
	if took := time.Since(at); took > time.Second {
		t.Errorf("the cancel took %v", took)
	}
	if job := r.await(id, driver.Cancelled); job.Exit != nil {
		t.Errorf("the cancelled job has the exit %s", job.Exit)
	}
}

func TestWithoutPushACancelComesWithTheHeartbeat(t *testing.T) {
	started := make(chan *Run, 1)
	r := newRig(t, untilDone(started))
	r.config.Store = r.store.Plain()
	r.engine, _ = New(r.config)
	r.start()
	id := r.enqueue(1)
	receive(t, started, "the run")
	r.requestCancel(id)
	r.await(id, driver.Cancelled)
}

func TestACancelThatComesWhileItsClaimIsUnderWayIsNotMissed(t *testing.T) {
	r := startRig(t, untilDone(nil), longLock)
	r.awaitWatch()
	requested := false
	r.store.Inject(nil, func(_ context.Context, _ string, err error) error {
		// The store has answered; the engine does not have the job yet.
		page, listErr := r.memory.List(context.Background(), driver.ListRequest{Queue: "q", States: []driver.State{driver.Active}})
		if listErr == nil && len(page.Jobs) == 1 && !requested {
			requested = true
			r.requestCancel(page.Jobs[0].ID)
			r.awaitPush(page.Jobs[0].ID, nil)
		}
		return err
	}, "Claim")
	r.await(r.enqueue(1), driver.Cancelled)
}

func TestAWatchForCancelsThatFailsIsMadeAgain(t *testing.T) {
	started := make(chan *Run, 1)
	r := newRig(t, untilDone(started), longLock)
	end := r.store.Fail(true, "WatchCancels")
	r.start()
	if err := r.store.AwaitCalls(t.Context(), "WatchCancels", 2); err != nil {
		t.Fatal(err)
	}
	end()
	r.awaitWatch()
	id := r.enqueue(1)
	receive(t, started, "the run")
	r.requestCancel(id)
	r.await(id, driver.Cancelled)
}

func TestAfterACancelRequestAnErrorIsCancelledAndAResultCounts(t *testing.T) {
	for name, c := range map[string]struct {
		exit  []byte
		err   error
		state driver.State
	}{
		"result":        {exit: []byte("1"), state: driver.Completed},
		"error":         {err: errors.New("sad"), state: driver.Cancelled},
		"unrecoverable": {err: Unrecoverable(errors.New("sad")), state: driver.Cancelled},
		"snooze":        {err: Snooze(time.Hour), state: driver.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			started := make(chan *Run, 1)
			hook := make(chan Failure, 1)
			r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
				started <- run
				<-ctx.Done()
				return c.exit, c.err
			}, longLock, func(config *Config) { config.OnFailure = func(_ context.Context, f Failure) { hook <- f } })
			r.awaitWatch()
			id := r.enqueue(1)
			receive(t, started, "the run")
			r.requestCancel(id)
			r.await(id, c.state)
			if len(hook) != 0 {
				t.Error("the failure hook was called")
			}
		})
	}
}

func TestARunsContextKeepsTheRulesOfContexts(t *testing.T) {
	type result struct {
		childCause, afterCause error
	}
	started := make(chan context.Context, 1)
	results := make(chan result, 1)
	r := startRig(t, func(ctx context.Context, _ *Run) ([]byte, error) {
		if ctx.Err() != nil || context.Cause(ctx) != nil {
			t.Errorf("a fresh context says %v", ctx.Err())
		}
		child, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		called := make(chan struct{})
		context.AfterFunc(ctx, func() { close(called) })
		started <- ctx
		<-child.Done()
		<-called
		results <- result{childCause: context.Cause(child), afterCause: context.Cause(ctx)}
		return nil, child.Err()
	}, longLock)
	r.awaitWatch()
	id := r.enqueue(1)
	ctx := receive(t, started, "the run")
	r.requestCancel(id)
	got := receive(t, results, "the causes")
	if !errors.Is(got.childCause, ErrCancelRequested) || !errors.Is(got.afterCause, ErrCancelRequested) {
		t.Errorf("the causes are %v and %v", got.childCause, got.afterCause)
	}
	r.await(id, driver.Cancelled)
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("after the run its context says %v", ctx.Err())
	}
}

func TestAContextEndsWithItsRun(t *testing.T) {
	contexts := make(chan context.Context, 2)
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		if run.Job.Metadata["look"] != "" {
			_ = ctx.Done()
		}
		contexts <- ctx
		return nil, nil
	})
	for _, look := range []string{"", "yes"} {
		r.await(r.enqueue(1, func(q *driver.EnqueueRequest) { q.Metadata = map[string]string{"look": look} }), driver.Completed)
		ctx := receive(t, contexts, "the context")
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			t.Error("the context goes on after its run")
		}
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("its error is %v", ctx.Err())
		}
	}
}

package braid_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

func TestHooksSeeAPanicWithItsStack(t *testing.T) {
	b := newBench(t)
	failures := make(chan error, 10)
	asked := make(chan error, 10)
	job := braid.NewJob[string, float64]("job", braid.Attempts(2), braid.Backoff(braid.Fixed(0))).
		RetryIf(func(err error) bool { asked <- err; return false })
	b.work(braid.WorkerOptions{OnFailure: func(_ context.Context, f braid.Failure) { failures <- f.Err }}, func(w *braid.Worker) {
		job.Handle(w, func(_ context.Context, s string) (float64, error) {
			if s == "panic" {
				panicInAFunctionOfItsOwn()
			}
			return math.NaN(), nil
		})
	})
	var failed *braid.JobError
	if _, err := job.Do(b.within(10*time.Second), b.client, "panic"); !errors.As(err, &failed) || failed.Type != "panic" {
		t.Fatal(err)
	}
	for name, seen := range map[string]<-chan error{"OnFailure": failures, "RetryIf": asked} {
		var panicked *braid.PanicError
		if err := receive(b, seen, name); !errors.As(err, &panicked) || panicked.Value != "a wild panic" ||
			!strings.Contains(string(panicked.Stack), "panicInAFunctionOfItsOwn") {
			t.Errorf("%s saw %v, want a PanicError with the stack", name, err)
		}
	}
	if _, err := job.Do(b.within(10*time.Second), b.client, "not a number"); !errors.As(err, &failed) || failed.Type != "encode" {
		t.Fatal(err)
	}
	var unencodable *braid.EncodeError
	if err := receive(b, failures, "the second failure"); !errors.As(err, &unencodable) {
		t.Errorf("OnFailure saw %v, want an EncodeError", err)
	}
}

func panicInAFunctionOfItsOwn() { panic("a wild panic") }

func TestRunTellsWhichHandlersItLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		worker := braid.NewWorker(b.client, braid.WorkerOptions{})
		release := make(chan struct{})
		answer.Handle(worker, func(context.Context, string) (string, error) { <-release; return "", nil })
		handle := enqueueAnswer(b)
		ctx, stop := context.WithCancel(b.ctx)
		ran := make(chan error, 1)
		go func() { ran <- worker.Run(ctx) }()
		synctest.Wait()
		start := time.Now()
		stop()
		var abandoned *braid.AbandonedError
		if err := <-ran; !errors.As(err, &abandoned) || len(abandoned.Runs) != 1 || abandoned.Runs[0].JobID != handle.ID {
			t.Errorf("Run: %v, want the handler that it left", err)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v to stop, more than orchestrators give", took)
		}
		close(release)
	})
}

func TestHandlersAndHooksSeeTheValuesOfRunsContext(t *testing.T) {
	type key struct{}
	b := newBench(t)
	job := braid.NewJob[braid.None, braid.None]("job", braid.Attempts(1))
	seen := make(chan any, 2)
	spans := make(chan trace.SpanContext, 1)
	worker := braid.NewWorker(b.client, braid.WorkerOptions{OnFailure: func(ctx context.Context, _ braid.Failure) { seen <- ctx.Value(key{}) }})
	stopped := make(chan struct{})
	started := make(chan struct{})
	job.Handle(worker, func(ctx context.Context, _ braid.None) (braid.None, error) {
		close(started)
		<-stopped
		if ctx.Err() != nil {
			t.Errorf("the end of Run's context reached the handler at once: %v", context.Cause(ctx))
		}
		seen <- ctx.Value(key{})
		spans <- trace.SpanContextFromContext(ctx)
		return braid.None{}, errors.New("so that the hook is called")
	})
	if _, err := job.Enqueue(b.ctx, b.client, braid.None{}); err != nil {
		t.Fatal(err)
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx, stop := context.WithCancel(trace.ContextWithSpanContext(context.WithValue(b.ctx, key{}, "a value"), span))
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()
	receive(b, started, "the handler")
	stop()
	close(stopped)
	if err := receive(b, ran, "Run"); err != nil {
		t.Errorf("Run: %v", err)
	}
	for _, who := range []string{"the handler", "the hook"} {
		if value := receive(b, seen, who); value != "a value" {
			t.Errorf("%s saw %v", who, value)
		}
	}
	if got := receive(b, spans, "the span"); got.IsValid() {
		t.Errorf("the handler runs inside the span %v of whoever called Run", got)
	}
}

func TestAHandlerWhoseQueueNobodyWorksOnIsWarnedOf(t *testing.T) {
	b := newBench(t)
	mail := braid.NewJob[string, string]("mail", braid.Queue("mail"))
	b.work(braid.WorkerOptions{Queues: map[string]int{"default": 0}}, func(w *braid.Worker) {
		handler := func(_ context.Context, s string) (string, error) { return s, nil }
		answer.Handle(w, handler)
		mail.Handle(w, handler)
	})
	// By queue or not, its jobs of other queues do run.
	if _, err := mail.Do(b.within(10*time.Second), b.client, "x", braid.Queue("default")); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for _, line := range b.log.lines() {
		if strings.Contains(line, "WorkerOptions.Queues") {
			warnings = append(warnings, line)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "job=mail") || !strings.Contains(warnings[0], "queue=mail") {
		t.Errorf("warnings are %q, want one, about mail", warnings)
	}
}

// lose claims jobs as a worker that dies does.
func lose(b *bench, limit int) {
	b.Helper()
	claim := driver.ClaimRequest{Queue: "default", Names: []string{"answer", "brief"}, Worker: "dead", Token: "t", Limit: limit, LockDuration: 1}
	claimed, err := b.store.Claim(b.ctx, driver.TimeOf(time.Now().Add(-time.Second)), claim)
	if err != nil || len(claimed.Jobs) != limit {
		b.Fatalf("claim: %+v, %v", claimed, err)
	}
}

func TestTheHookIsToldOfJobsThatFailedByStalling(t *testing.T) {
	b := newBench(t)
	kept, err := answer.Enqueue(b.ctx, b.client, "kept", braid.Attempts(5))
	if err != nil {
		t.Fatal(err)
	}
	brief := braid.NewJob[string, string]("brief", braid.KeepFailed(braid.KeepLast(0)))
	gone, err := brief.Enqueue(b.ctx, b.client, "gone")
	if err != nil {
		t.Fatal(err)
	}
	lose(b, 2)
	failures := make(chan braid.Failure, 10)
	b.work(braid.WorkerOptions{FailStalled: true, SweepInterval: 100 * time.Millisecond,
		OnFailure: func(_ context.Context, f braid.Failure) {
			failures <- f
			panic("a hook that panics hides nothing of the others")
		}}, func(w *braid.Worker) {
		answer.Handle(w, func(context.Context, string) (string, error) { return "", nil })
	})
	told := make(map[string]braid.Failure)
	for range 2 {
		f := receive(b, failures, "the failures")
		told[f.Job.ID] = f
	}
	for _, id := range []string{kept.ID, gone.ID} {
		f := told[id]
		if f.Job == nil || !errors.Is(f.Err, braid.ErrStalled) || f.WillRetry || f.Job.State != braid.Failed {
			t.Errorf("of %s it was told %+v", id, f)
		}
	}
	if f := told[kept.ID]; string(f.Job.Payload) != `"kept"` || f.Job.Name != "answer" || f.Job.FailedReason == "" {
		t.Errorf("of the job that is kept it was told %+v", f.Job)
	}
	logged := slices.ContainsFunc(b.log.lines(), func(line string) bool {
		return strings.Contains(line, "hides nothing") && strings.Contains(line, "hook")
	})
	if !logged {
		t.Errorf("the panic is not in the log: %q", b.log.lines())
	}
}

func TestTheHookIsNotToldOfJobsThatRunAgain(t *testing.T) {
	b := newBench(t)
	handle := enqueueAnswer(b)
	lose(b, 1)
	b.work(braid.WorkerOptions{SweepInterval: 100 * time.Millisecond,
		OnFailure: func(_ context.Context, f braid.Failure) { t.Errorf("told of %+v", f) }}, func(w *braid.Worker) {
		answer.Handle(w, func(context.Context, string) (string, error) { return "42", nil })
	})
	if result, err := handle.Wait(b.within(10 * time.Second)); result != "42" || err != nil {
		t.Errorf("%q, %v", result, err)
	}
}

func TestASweepOfAWorkerThatDoesNotKnowAJobLeavesItToOneThatDoes(t *testing.T) {
	b := newBench(t)
	ran := make(chan string, 10)
	work := func(name string) {
		b.work(braid.WorkerOptions{ID: name, LockDuration: 100 * time.Millisecond, SweepInterval: 100 * time.Millisecond}, func(w *braid.Worker) {
			braid.NewJob[string, string](name).Handle(w, func(_ context.Context, s string) (string, error) {
				ran <- name + " " + s
				return s, nil
			})
		})
	}
	handle := enqueueAnswer(b)
	lose(b, 1)
	work("other") // alone, it recovers the job, and can do no more
	deadline := time.Now().Add(10 * time.Second)
	for info := new(braid.JobInfo); info.StalledCount == 0; {
		var err error
		if info, err = handle.Get(b.ctx); err != nil || time.Now().After(deadline) {
			t.Fatalf("it was not recovered: %+v (%v)", info, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := b.client.Enqueue(b.ctx, "other", []byte(`"own"`)); err != nil {
		t.Fatal(err)
	}
	if got := receive(b, ran, "the other's own job"); got != "other own" {
		t.Errorf("it ran %s", got)
	}
	info, err := handle.Get(b.ctx)
	if err != nil || info.State != braid.Waiting || info.AttemptsMade != 0 || info.StalledCount != 1 {
		t.Errorf("the job that it does not know is %+v (%v), want it waiting", info, err)
	}
	work("answer")
	if got := receive(b, ran, "the job"); got != "answer x" {
		t.Errorf("it ran %s", got)
	}
	if _, err := handle.Wait(b.within(10 * time.Second)); err != nil {
		t.Error(err)
	}
}

func TestTheWorkersTimeoutIsForJobsWithoutOne(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[braid.None, braid.None]("job", braid.Attempts(1))
	causes := make(chan error, 1)
	b.work(braid.WorkerOptions{Timeout: 20 * time.Millisecond}, func(w *braid.Worker) {
		job.Handle(w, func(ctx context.Context, _ braid.None) (braid.None, error) {
			if _, limited := ctx.Deadline(); !limited {
				causes <- nil
				return braid.None{}, nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return braid.None{}, ctx.Err()
		})
	})
	for _, c := range []struct {
		opts []braid.EnqueueOption
		want time.Duration
	}{{nil, 20 * time.Millisecond}, {[]braid.EnqueueOption{braid.Timeout(30 * time.Millisecond)}, 30 * time.Millisecond}, {[]braid.EnqueueOption{braid.Timeout(0)}, 0}} {
		if _, err := job.Enqueue(b.ctx, b.client, braid.None{}, c.opts...); err != nil {
			t.Fatal(err)
		}
		var timeout *braid.TimeoutError
		err := receive(b, causes, "the run's end")
		if (c.want == 0) != (err == nil) || err != nil && (!errors.As(err, &timeout) || timeout.After != c.want) {
			t.Errorf("cause is %v, want a timeout after %v", err, c.want)
		}
	}
}

func TestTheFirstMiddlewareIsTheOutermost(t *testing.T) {
	b := newBench(t)
	var mu sync.Mutex
	var steps []string
	step := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, name)
	}
	wrap := func(name string) braid.Middleware {
		return func(ctx context.Context, next func(context.Context) error) error {
			step("into " + name)
			defer step("out of " + name)
			return next(ctx)
		}
	}
	b.work(braid.WorkerOptions{Middleware: []braid.Middleware{wrap("first"), wrap("second")}}, func(w *braid.Worker) {
		answer.Handle(w, func(context.Context, string) (string, error) { step("handler"); return "", nil })
	})
	if _, err := answer.Do(b.within(10*time.Second), b.client, "x"); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(steps, ", "); got != "into first, into second, handler, out of second, out of first" {
		t.Errorf("the order is: %s", got)
	}
}

package braidtest

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// Outcome is what became of one run of a job.
type Outcome[R any] struct {
	// State is where the job stands after the run: Completed, Failed, Cancelled, or, of
	// one that runs again, Delayed or Waiting.
	State  braid.State
	Result R // of a completed one
	// Err is what the handler returned, or what stands for it: a [*braid.PanicError], a
	// [*braid.TimeoutError], a [*braid.EncodeError]. Nil if the job has completed.
	Err error
	// RunAgainIn is the backoff, or the snooze, of a job that runs again.
	RunAgainIn time.Duration
	// Snoozed: the run used no attempt.
	Snoozed bool
}

// RunOnce runs a job once, with the handler that it is given, and tells what became of
// it. The payload and the result are encoded on the way, and the job has the options of
// its definition and of the call, but for a delay: it runs at once. [braid.Attempts](1)
// makes the run its last one. Handlers need no [T.Work]; what they enqueue with the
// test's client is seen by [Enqueued]. It needs no fake clock.
//
// An enqueue that is refused ends the test, and so does a handler that does not come to
// an end.
func RunOnce[P, R any](t *T, job *braid.Job[P, R], payload P, handler func(ctx context.Context, payload P) (R, error), options ...braid.EnqueueOption) Outcome[R] {
	t.Helper()
	run := newSingleRun(t)
	defer run.close()
	if _, err := job.Enqueue(t.Context(), run.client, payload, options...); err != nil {
		t.Fatalf("braidtest: RunOnce: %v", err)
	}
	worker := braid.NewWorker(run.client, braid.WorkerOptions{Concurrency: 1, Middleware: []braid.Middleware{run.middleware}, OnFailure: run.onFailure})
	job.Handle(worker, handler)
	ack := run.await(t, worker)

	run.mu.Lock()
	defer run.mu.Unlock()
	outcome := Outcome[R]{Err: run.err, RunAgainIn: ack.Delay.Std()}
	switch ack.Kind {
	case driver.AckComplete:
		outcome.State, outcome.Err = braid.Completed, nil
		if len(ack.Exit) > 0 {
			if err := json.Unmarshal(ack.Exit, &outcome.Result); err != nil {
				t.Fatalf("braidtest: RunOnce: the result %s is no %T: %v", ack.Exit, outcome.Result, err)
			}
		}
	case driver.AckFail:
		outcome.State = braid.Failed
	case driver.AckCancelled:
		outcome.State = braid.Cancelled
	default:
		outcome.State, outcome.Snoozed = braid.Delayed, ack.Kind != driver.AckRetry
		if ack.Delay == 0 {
			outcome.State = braid.Waiting
		}
	}
	return outcome
}

// singleRun is what one run of a job needs.
type singleRun struct {
	client *braid.Client
	stores []*singleStore
	acks   chan driver.Ack // takes one

	mu  sync.Mutex
	err error // what the handler returned, or stands for it
}

func newSingleRun(t *T) *singleRun {
	r := &singleRun{acks: make(chan driver.Ack, 1)}
	var first driver.Store
	options := []braid.ClientOption{braid.WithLogger(testLogger(t))}
	for _, name := range t.settings.stores {
		store := &singleStore{Store: memstore.New(), acks: r.acks}
		r.stores = append(r.stores, store)
		if name == braid.DefaultStore {
			first = store
		} else {
			options = append(options, braid.WithStore(name, store))
		}
	}
	r.client = braid.NewClient(first, append(options, t.settings.options...)...)
	return r
}

func (r *singleRun) close() {
	r.client.Close()
	for _, store := range r.stores {
		_ = store.Close() // of a store in memory, it cannot fail
	}
}

// middleware notes what the handler returns.
func (r *singleRun) middleware(ctx context.Context, next func(context.Context) error) error {
	err := next(ctx)
	r.note(err)
	return err
}

// onFailure notes what stands for it, such as a panic.
func (r *singleRun) onFailure(_ context.Context, f braid.Failure) { r.note(f.Err) }

func (r *singleRun) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// await runs the worker until the run has ended.
func (r *singleRun) await(t *T, worker *braid.Worker) driver.Ack {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(context.WithoutCancel(t.Context())) }()
	impatient := time.NewTimer(t.patience().handlers)
	defer impatient.Stop()
	select {
	case ack := <-r.acks:
		_ = worker.Stop(context.Background()) // its context does not end
		if err := <-ended; err != nil {
			t.Errorf("braidtest: RunOnce: %v", err)
		}
		return ack
	case err := <-ended:
		t.Fatalf("braidtest: RunOnce: %v", err)
	case <-impatient.C:
		_ = worker.Stop(context.Background())
		t.Fatalf("braidtest: RunOnce: the handler does not end; its context, after %v, has: %v", t.patience().handlers, <-ended)
	}
	return driver.Ack{}
}

// singleStore is a store that gives out one job, once.
type singleStore struct {
	*memstore.Store
	acks    chan driver.Ack
	claimed atomic.Bool
}

// Enqueue implements [driver.Producer].
func (s *singleStore) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	for i := range batch {
		batch[i].Delay = 0
	}
	return s.Store.Enqueue(ctx, now, batch)
}

// Claim implements [driver.Consumer].
func (s *singleStore) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	if s.claimed.Load() {
		req.Names, req.Resume = nil, false
	}
	result, err := s.Store.Claim(ctx, now, req)
	if len(result.Jobs) > 0 {
		s.claimed.Store(true)
	}
	return result, err
}

// Ack implements [driver.Consumer].
func (s *singleStore) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	results, err := s.Store.Ack(ctx, now, batch)
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		ack := batch[i]
		if r.State == driver.Cancelled { // a pending cancel has won
			ack.Kind = driver.AckCancelled
		}
		select {
		case s.acks <- ack:
		default:
		}
	}
	return results, err
}

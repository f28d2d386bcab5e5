package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/memstore"
)

// patience is how long tests wait for what must happen.
const patience = 10 * time.Second

// rig is an engine on a memory store with faults.
type rig struct {
	t      *testing.T
	memory *memstore.Store
	store  *faultstore.Store
	config Config
	engine *Engine
	log    *lines
	cancel context.CancelFunc
	ended  chan error
}

type handlerFunc = func(ctx context.Context, run *Run) ([]byte, error)

// newRig prepares an engine with short times whose queue "q" has four slots and
// whose jobs "job" are run by handle.
func newRig(t *testing.T, handle handlerFunc, change ...func(*Config)) *rig {
	t.Helper()
	memory := memstore.New()
	r := &rig{t: t, memory: memory, store: faultstore.New(memory), log: &lines{}, ended: make(chan error, 1)}
	r.config = Config{
		Store: r.store, StoreName: "main", WorkerID: "w",
		Queues:       []Queue{{Name: "q", Slots: 4}},
		Handlers:     map[string]Handler{"job": {Run: handle}},
		LockDuration: 200 * time.Millisecond, Grace: 2 * time.Second, StuckAfter: 3 * time.Second,
		CallTimeout: 2 * time.Second, PollInterval: 5 * time.Second,
		Backoff: &driver.Backoff{Kind: driver.BackoffFixed},
		Logger:  slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&r.config)
	}
	engine, err := New(r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.engine = engine
	t.Cleanup(func() {
		if r.cancel != nil {
			if err := r.stop(); err != nil {
				t.Errorf("Run returned %v", err)
			}
		}
		_ = memory.Close()
	})
	return r
}

// startRig prepares an engine and starts it.
func startRig(t *testing.T, handle handlerFunc, change ...func(*Config)) *rig {
	t.Helper()
	r := newRig(t, handle, change...)
	r.start()
	return r
}

func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- r.engine.Run(ctx) }()
}

// stop ends the engine and returns what Run did.
func (r *rig) stop() error {
	r.t.Helper()
	r.cancel()
	r.cancel = nil
	return receive(r.t, r.ended, "the end of Run")
}

// now is the time that the engine tells the store.
func now() driver.Time { return driver.TimeOf(time.Now()) }

// enqueue stores jobs named "job" on "q" with 3 attempts, changed by change, and
// returns the first one's id.
func (r *rig) enqueue(n int, change ...func(*driver.EnqueueRequest)) string {
	r.t.Helper()
	batch := make([]driver.EnqueueRequest, n)
	for i := range batch {
		batch[i].Spec = driver.Spec{Name: "job", Queue: "q", Payload: []byte("1"), AttemptsMax: 3}
		for _, c := range change {
			c(&batch[i])
		}
	}
	results, err := r.memory.Enqueue(context.Background(), now(), batch)
	if err != nil {
		r.t.Fatal(err)
	}
	return results[0].ID
}

func (r *rig) job(id string) *driver.Job {
	r.t.Helper()
	jobs, err := r.memory.Jobs(context.Background(), []string{id})
	if err != nil {
		r.t.Fatal(err)
	}
	if jobs[0] == nil {
		r.t.Fatalf("job %s is gone", id)
	}
	return jobs[0]
}

func (r *rig) attempts(id string) []driver.Attempt {
	r.t.Helper()
	attempts, err := r.memory.Attempts(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return attempts
}

func (r *rig) counts() driver.Counts {
	r.t.Helper()
	counts, err := r.memory.Counts(context.Background(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return counts
}

// await waits until the job is in the state, and returns it.
func (r *rig) await(id string, state driver.State) *driver.Job {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("job %s is %v", id, state), func() bool { return r.job(id).State == state })
	return r.job(id)
}

func (r *rig) requestCancel(id string) {
	r.t.Helper()
	results, err := r.memory.Cancel(context.Background(), now(), []string{id})
	if err = errors.Join(err, results[0].Err); err != nil {
		r.t.Fatal(err)
	}
}

// recoverStalled runs the stall sweep once, and returns how many jobs it recovered.
func (r *rig) recoverStalled() int {
	r.t.Helper()
	result, err := r.memory.RecoverStalled(context.Background(), now(), driver.RecoverRequest{MaxStalled: 10, Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	return len(result.Jobs)
}

// eventually waits until what holds does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited for: %s", what)
		}
		time.Sleep(500 * time.Microsecond)
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("in vain waited for: %s", what)
		panic("unreachable")
	}
}

// untilDone is a handler that waits for its context, and returns its cause.
func untilDone(started chan<- *Run) handlerFunc {
	return func(ctx context.Context, run *Run) ([]byte, error) {
		if started != nil {
			started <- run
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

// lines collects log lines.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// count returns how many lines contain all of the texts.
func (l *lines) count(texts ...string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
next:
	for line := range strings.Lines(l.all.String()) {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue next
			}
		}
		n++
	}
	return n
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

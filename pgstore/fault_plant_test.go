package pgstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/pgstore"
)

const (
	faultQueue = "faults"
	faultJobs  = 1200
	faultWait  = 60 * time.Second // until what must happen has happened
)

// faultJob does next to nothing; its payload is the number of its id.
var faultJob = braid.NewJob[int, braid.None]("fault", braid.Queue(faultQueue)).
	KeyBy(func(n int) string { return fmt.Sprintf("job-%d", n) })

// plant is a store on a server that a test disturbs, with a producer and a worker on it.
type plant struct {
	*testing.T
	lock   time.Duration
	store  *pgstore.Store
	client *braid.Client
	log    *faultLog

	mu     sync.Mutex
	starts map[int][]time.Time // of the runs, by job
	ran    int                 // runs so far
}

// newPlant opens a store by URL.
func newPlant(t *testing.T, url string, lock time.Duration) *plant {
	t.Helper()
	p := &plant{T: t, lock: lock, log: &faultLog{}, starts: make(map[int][]time.Time)}
	logger := slog.New(slog.NewTextHandler(p.log, nil))
	store, err := pgstore.Open(t.Context(), url, pgstore.WithLogger(logger), pgstore.WithMigrate())
	if err != nil {
		t.Fatal(err)
	}
	p.store, p.client = store, braid.NewClient(store, braid.WithLogger(logger))
	t.Cleanup(func() {
		p.client.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log:\n%s", p.log.text())
		}
	})
	return p
}

// work runs a worker until the test ends.
func (p *plant) work(concurrency int, pause time.Duration) {
	worker := braid.NewWorker(p.client, braid.WorkerOptions{Concurrency: concurrency, LockDuration: p.lock, ShutdownGrace: time.Second})
	faultJob.Handle(worker, func(_ context.Context, n int) (braid.None, error) {
		p.mu.Lock()
		p.starts[n] = append(p.starts[n], time.Now())
		p.ran++
		p.mu.Unlock()
		time.Sleep(pause) // the job's work
		return braid.None{}, nil
	})
	var running sync.WaitGroup
	running.Go(func() {
		if err := worker.Run(context.Background()); err != nil {
			p.Errorf("worker: %v", err)
		}
	})
	p.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), faultWait)
		defer cancel()
		if err := worker.Stop(ctx); err != nil {
			p.Errorf("stop: %v", err)
		}
		running.Wait()
	})
}

// produce enqueues the jobs from first up to end one by one, each until it is stored, as a
// program would that must not lose one.
func (p *plant) produce(first, end int) (wait func()) {
	var producing sync.WaitGroup
	producing.Go(func() {
		deadline := time.Now().Add(faultWait)
		for n := first; n < end; {
			_, err := faultJob.Enqueue(context.Background(), p.client, n)
			switch {
			case err == nil:
				n++
			case !driver.Retryable(err):
				p.Errorf("enqueue: not retryable: %v", err)
				return
			case time.Now().After(deadline):
				p.Errorf("enqueue: %v", err)
				return
			}
		}
	})
	p.Cleanup(producing.Wait)
	return producing.Wait
}

// recoverStalled recovers jobs whose lock has run out as the sweep of another worker
// would, until the test ends.
func (p *plant) recoverStalled() {
	ctx, cancel := context.WithCancel(context.Background())
	var recovering sync.WaitGroup
	recovering.Go(func() {
		for ctx.Err() == nil {
			// The server may be out of reach: the next round finds the same jobs.
			if now, err := p.client.Now(); err == nil {
				_, _ = p.store.RecoverStalled(ctx, driver.TimeOf(now), driver.RecoverRequest{MaxStalled: 100, Limit: 100})
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	p.Cleanup(func() { cancel(); recovering.Wait() })
}

func (p *plant) runs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran
}

// await waits until a condition holds.
func (p *plant) await(what string, holds func() bool) {
	p.Helper()
	deadline := time.Now().Add(faultWait)
	for !holds() {
		if time.Now().After(deadline) {
			counts, err := p.client.Counts(context.Background(), faultQueue)
			p.Fatalf("not within %v: %s; %d runs, counts %+v, %v", faultWait, what, p.runs(), counts, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// awaitRuns waits until so many runs have begun.
func (p *plant) awaitRuns(n int) {
	p.Helper()
	p.await(fmt.Sprintf("%d runs", n), func() bool { return p.runs() >= n })
}

// finish waits until all jobs are completed, and checks that none ran again before its
// lock had run out.
func (p *plant) finish(jobs int) {
	p.Helper()
	p.await("every job is completed", func() bool {
		counts, err := p.client.Counts(context.Background(), faultQueue)
		return err == nil && counts == driver.Counts{Completed: int64(jobs)}
	})
	if err := p.store.CheckInvariants(p.Context()); err != nil {
		p.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	const slack = time.Second // from the claim until the handler starts
	for n := range jobs {
		starts := p.starts[n]
		if len(starts) == 0 {
			p.Errorf("job %d is completed, but did not run", n)
		}
		for i := 1; i < len(starts); i++ {
			if again := starts[i].Sub(starts[i-1]); again < p.lock-slack {
				p.Errorf("job %d ran again after %v, within its lock of %v", n, again, p.lock)
			}
		}
	}
}

// faultLog keeps log lines.
type faultLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *faultLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(bytes.TrimSpace(line)))
	return len(line), nil
}

func (l *faultLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

func (l *faultLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

const (
	faultQueue = "faults"
	faultJobs  = 1500
	faultWait  = 30 * time.Second // until what must happen has happened
	// longLock outlasts every test: with it a job that runs twice ran twice within its
	// lock.
	longLock = time.Minute
)

// faultJob does next to nothing; its payload is the number of its id.
var faultJob = braid.NewJob[int, braid.None]("fault", braid.Queue(faultQueue)).
	KeyBy(func(n int) string { return fmt.Sprintf("job-%d", n) })

// plant is a store on a server that a test disturbs, with a producer and a worker on
// it.
type plant struct {
	*testing.T
	server *testserver.RedisServer
	lock   time.Duration
	store  *redisstore.Store
	client *braid.Client
	log    *faultLog

	mu     sync.Mutex
	starts map[int][]time.Time // of the runs, by job
	ran    int                 // runs so far
}

// newPlant opens a store by URL.
func newPlant(t *testing.T, server *testserver.RedisServer, url string, lock time.Duration) *plant {
	t.Helper()
	return newPlantOn(t, server, lock, func(logger redisstore.Option) (*redisstore.Store, error) {
		return redisstore.Open(t.Context(), url, logger)
	})
}

// newPlantOn opens a store by a function.
func newPlantOn(t *testing.T, server *testserver.RedisServer, lock time.Duration,
	open func(logger redisstore.Option) (*redisstore.Store, error)) *plant {
	t.Helper()
	p := &plant{T: t, server: server, lock: lock, log: &faultLog{}, starts: make(map[int][]time.Time)}
	redis.SetLogger(p.log) // there is one for all clients
	logger := slog.New(p.log)
	store, err := open(redisstore.WithLogger(logger))
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
	worker := braid.NewWorker(p.client, braid.WorkerOptions{
		Concurrency: concurrency, LockDuration: p.lock, ShutdownGrace: time.Second,
	})
	faultJob.Handle(worker, func(_ context.Context, n int) (braid.None, error) {
		p.started(n)
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

// produce enqueues the jobs from first up to end one by one, each until it is stored,
// as a program would that must not lose one.
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

// fill enqueues the jobs up to end at once.
func (p *plant) fill(end int) {
	p.Helper()
	all := make([]int, end)
	for n := range all {
		all[n] = n
	}
	if _, err := faultJob.EnqueueMany(p.Context(), p.client, all); err != nil {
		p.Fatal(err)
	}
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

// started notes the start of a run.
func (p *plant) started(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts[n] = append(p.starts[n], time.Now())
	p.ran++
}

func (p *plant) runs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran
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

// finish waits until all jobs are completed, and checks that none ran again before its
// lock had run out.
func (p *plant) finish(jobs int) {
	p.Helper()
	p.await("every job is completed", func() bool {
		counts, err := p.client.Counts(context.Background(), faultQueue)
		return err == nil && counts == driver.Counts{Completed: int64(jobs)}
	})
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

// outage lets a fault last for a while, and checks that the plant is calm meanwhile.
func (p *plant) outage(length time.Duration, begin, end func() error) {
	p.Helper()
	lines, start := p.log.len(), time.Now()
	if err := begin(); err != nil {
		p.Fatal(err)
	}
	used := processorTime(p)
	time.Sleep(length) // so long lasts the fault
	used = processorTime(p) - used
	logged := p.log.len() - lines
	if err := end(); err != nil {
		p.Fatal(err)
	}
	p.Logf("the outage of %v took %v of processor time and %d lines of log", time.Since(start), used, logged)
	if most := length / 3; used > most {
		p.Errorf("%v of processor time in an outage of %v; want at most %v", used, length, most)
	}
	if most := 30; logged > most {
		p.Errorf("%d lines of log in an outage of %v; want at most %d", logged, length, most)
	}
}

// refusal checks that an enqueue is refused now, with a reply of that kind, and that
// the error says that it can be repeated.
func (p *plant) refusal(kind string) {
	p.Helper()
	_, err := p.store.Enqueue(p.Context(), 0, []driver.EnqueueRequest{{
		Spec: driver.Spec{Name: "refused", Queue: "refused", AttemptsMax: 1},
	}})
	var refused *driver.StoreError
	if !errors.As(err, &refused) || !refused.Retryable || refused.OutcomeUnknown || !strings.Contains(err.Error(), kind) {
		p.Errorf("enqueue: %v; want a refusal by %s that can be repeated", err, kind)
	}
}

// do sends a command to the server.
func (p *plant) do(args ...string) {
	p.Helper()
	if _, err := p.server.Do(args...); err != nil {
		p.Fatal(err)
	}
}

// processorTime is what this process has used so far.
func processorTime(t testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// faultLog keeps log lines, among them those that the Redis client writes by itself.
type faultLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *faultLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *faultLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *faultLog) WithGroup(string) slog.Handler            { return l }

func (l *faultLog) Handle(_ context.Context, record slog.Record) error {
	line := record.Time.Format("05.000") + " " + record.Message
	record.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.add(line)
	return nil
}

// Printf takes the lines of the Redis client.
func (l *faultLog) Printf(_ context.Context, format string, args ...any) {
	l.add(time.Now().Format("05.000") + " redis: " + fmt.Sprintf(format, args...))
}

func (l *faultLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
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

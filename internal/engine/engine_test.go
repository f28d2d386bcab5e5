package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

func TestAJobRunsOnceAndItsResultIsStored(t *testing.T) {
	type sent struct{ Key string }
	runs := make(chan Run, 10)
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		current, ok := CurrentRun(ctx)
		if !ok || current != run {
			t.Error("the context does not know its run")
		}
		if ctx.Value(sent{"k"}) != "v" {
			t.Error("the context lacks the values of BaseContext")
		}
		runs <- *run
		return []byte(`{"ok":true}`), nil
	}, func(c *Config) { c.BaseContext = context.WithValue(context.Background(), sent{"k"}, "v") })
	id := r.enqueue(1)
	job := r.await(id, driver.Completed)
	if string(job.Exit) != `{"ok":true}` || job.AttemptsMade != 1 {
		t.Errorf("the job ended with %s after %d attempts", job.Exit, job.AttemptsMade)
	}
	run := receive(t, runs, "the run")
	if run.Job.ID != id || run.Attempt != 1 || run.Worker != "w" || run.Store != "main" || run.Token == "" {
		t.Errorf("the run says %+v", run)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if len(runs) != 0 {
		t.Error("the job ran again")
	}
}

func TestEveryQueueHasItsOwnSlotsAndNoMoreRunAtOnce(t *testing.T) {
	var mu sync.Mutex
	running, most := map[string]int{}, map[string]int{}
	handle := func(_ context.Context, run *Run) ([]byte, error) {
		mu.Lock()
		running[run.Job.Queue]++
		most[run.Job.Queue] = max(most[run.Job.Queue], running[run.Job.Queue])
		mu.Unlock()
		runtime.Gosched()
		time.Sleep(time.Millisecond)
		mu.Lock()
		running[run.Job.Queue]--
		mu.Unlock()
		return nil, nil
	}
	r := newRig(t, handle, func(c *Config) { c.Queues = []Queue{{"a", 3}, {"b", 7}} })
	for _, queue := range []string{"a", "b"} {
		r.enqueue(100, func(q *driver.EnqueueRequest) { q.Queue = queue })
	}
	r.start()
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 200 })
	mu.Lock()
	defer mu.Unlock()
	if most["a"] != 3 || most["b"] != 7 {
		t.Errorf("at most %v jobs ran at once, want 3 and 7", most)
	}
}

func TestJobsOfUnknownNamesAreNeverClaimed(t *testing.T) {
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { return nil, nil })
	foreign := r.enqueue(3, func(q *driver.EnqueueRequest) { q.Name = "other"; q.Priority = 5 })
	id := r.enqueue(1)
	r.await(id, driver.Completed)
	if job := r.job(foreign); job.State != driver.Waiting || len(r.attempts(foreign)) != 0 {
		t.Errorf("the foreign job is %v", job.State)
	}
}

func TestTokensAreNeverUsedTwice(t *testing.T) {
	var mu sync.Mutex
	tokens := map[string]int{}
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		tokens[fmt.Sprint(run.Token, run.Job.ID)]++
		if run.Attempt == 1 {
			return nil, errors.New("once more")
		}
		return nil, nil
	})
	r.enqueue(50)
	r.start()
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 50 })
	mu.Lock()
	defer mu.Unlock()
	if len(tokens) != 100 {
		t.Errorf("100 runs had %d pairs of token and job", len(tokens))
	}
}

func TestABacklogInOneQueueDoesNotDelayAnother(t *testing.T) {
	block := make(chan struct{})
	quick := make(chan struct{}, 1)
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		if run.Job.Queue == "slow" {
			<-block
			return nil, nil
		}
		quick <- struct{}{}
		return nil, nil
	}, func(c *Config) { c.Queues = []Queue{{"slow", 2}, {"q", 1}} })
	defer close(block)
	r.enqueue(1000, func(q *driver.EnqueueRequest) { q.Queue = "slow" })
	r.start()
	eventually(t, "the slow queue is busy", func() bool { return r.counts().Active == 2 })
	start := time.Now()
	r.enqueue(1)
	receive(t, quick, "the other queue's job")
	if took := time.Since(start); took > time.Second {
		t.Errorf("the other queue's job started after %v", took)
	}
}

func TestAnIdleQueuePicksUpAJobAtOnce(t *testing.T) {
	started := make(chan time.Time, 1)
	r := startRig(t, func(context.Context, *Run) ([]byte, error) {
		started <- time.Now()
		return nil, nil
	}, func(c *Config) { c.PollInterval = time.Minute })
	var worst time.Duration
	for range 50 {
		eventually(t, "the queue is idle", func() bool {
			stats := r.engine.Stats().Queues[0]
			return r.store.Calls("AwaitWake") > 0 && stats.Running+stats.Unacked == 0
		})
		start := time.Now()
		r.enqueue(1)
		worst = max(worst, receive(t, started, "the job's start").Sub(start))
	}
	if worst > 500*time.Millisecond { // far from the poll interval, also on a busy machine
		t.Errorf("one pick-up took %v", worst)
	}
}

func TestWithoutWakeUpsAQueueIsPolled(t *testing.T) {
	r := newRig(t, func(context.Context, *Run) ([]byte, error) { return nil, nil })
	r.config.Store = r.store.Plain()
	r.config.PollInterval = 20 * time.Millisecond
	r.engine, _ = New(r.config)
	r.start()
	eventually(t, "the queue is polled", func() bool { return r.store.Calls("Claim") > 3 })
	r.await(r.enqueue(1), driver.Completed)
	if n := r.store.Calls("AwaitWake"); n != 0 {
		t.Errorf("AwaitWake was called %d times", n)
	}
}

func TestAnEngineRunsOnlyOnce(t *testing.T) {
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { return nil, nil })
	r.await(r.enqueue(1), driver.Completed)
	if err := r.engine.Run(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("the second Run returned %v", err)
	}
	r.await(r.enqueue(1), driver.Completed) // the first is not disturbed
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if err := r.engine.Run(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("Run after the end returned %v", err)
	}
}

func TestConfigsAreChecked(t *testing.T) {
	fine := newRig(t, noop).config
	for field, spoil := range map[string]func(*Config){
		"store":         func(c *Config) { c.Store = nil },
		"slots":         func(c *Config) { c.Queues = []Queue{{"q", 0}} },
		"queue":         func(c *Config) { c.Queues = []Queue{{"q", 1}, {"q", 2}} },
		"handler":       func(c *Config) { c.Handlers = map[string]Handler{"job": {}} },
		"job name":      func(c *Config) { c.Handlers = map[string]Handler{"": {Run: noop}} },
		"lock duration": func(c *Config) { c.LockDuration = time.Millisecond },
		"timeout":       func(c *Config) { c.Timeout = -1 },
		"worker id":     func(c *Config) { c.WorkerID = "a\x00b" },
	} {
		config := fine
		spoil(&config)
		var invalid *driver.InvalidError
		if _, err := New(config); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("New answers %v to a bad %s", err, field)
		}
	}
}

func noop(context.Context, *Run) ([]byte, error) { return nil, nil }

package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
)

// watched is a handler that hands its context out and waits for finish or the end
// of the context, whose cause it returns.
func watched(contexts chan<- context.Context, finish <-chan struct{}) handlerFunc {
	return func(ctx context.Context, _ *Run) ([]byte, error) {
		contexts <- ctx
		select {
		case <-finish:
			return []byte(`"done"`), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func TestWhileHeartbeatsFailARunGoesOnAndItsResultCounts(t *testing.T) {
	contexts := make(chan context.Context, 1)
	finish := make(chan struct{})
	const lock = 20 * time.Millisecond
	r := newRig(t, watched(contexts, finish), func(c *Config) { c.LockDuration = lock })
	defer r.store.Fail(true, "Heartbeat")()
	id := r.enqueue(1)
	r.start()
	ctx := receive(t, contexts, "the run")
	expired := r.job(id).LockExpiresAt.Value
	eventually(t, "its lock ran out long ago", func() bool { return now() > expired.Add(driver.MillisOf(10*lock)) })
	if r.store.Calls("Heartbeat") < 3 || ctx.Err() != nil {
		t.Errorf("after %d heartbeats that failed the run's context says %v", r.store.Calls("Heartbeat"), context.Cause(ctx))
	}
	close(finish)
	if job := r.await(id, driver.Completed); job.StalledCount != 0 || string(job.Exit) != `"done"` {
		t.Errorf("the job is %+v", job)
	}
}

func TestTheFirstHeartbeatThatGetsThroughTellsOfTheLossAndIsNotLongInComing(t *testing.T) {
	contexts := make(chan context.Context, 1)
	r := startRig(t, watched(contexts, nil), longLock)
	id := r.enqueue(1)
	ctx := receive(t, contexts, "the run")
	if err := r.memory.Pause(t.Context(), "q"); err != nil { // so that nobody claims it again
		t.Fatal(err)
	}
	end := r.store.Fail(true, "Heartbeat")
	before := r.store.Calls("Heartbeat")
	r.engine.beatNow()
	eventually(t, "heartbeats fail", func() bool { return r.store.Calls("Heartbeat") >= before+8 })
	recovered, err := r.memory.RecoverStalled(t.Context(), now().Add(7_200_000), driver.RecoverRequest{MaxStalled: 1, Limit: 1})
	if err != nil || len(recovered.Jobs) != 1 {
		t.Fatalf("recovered %+v, %v", recovered, err)
	}
	if ctx.Err() != nil {
		t.Errorf("before a heartbeat got through the context says %v", context.Cause(ctx))
	}
	at := time.Now()
	end()
	receive(t, ctx.Done(), "the news")
	if took := time.Since(at); took > 4*time.Second {
		t.Errorf("the run was told after %v", took)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, ErrLockLost) {
		t.Errorf("the cause is %v", cause)
	}
	if job := r.job(id); job.State != driver.Waiting {
		t.Errorf("the job is %v", job.State)
	}
}

// chunkedBeats fails heartbeats with as many locks as a chunk has, and notes the
// others.
type chunkedBeats struct {
	*faultstore.Store
	mu    sync.Mutex
	sizes []int
}

func (s *chunkedBeats) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, d driver.Millis) (driver.HeartbeatResult, error) {
	if len(locks) == driver.ChunkJobs {
		return driver.HeartbeatResult{}, &driver.StoreError{Op: "Heartbeat", Err: errors.New("bad chunk"), Retryable: true}
	}
	s.mu.Lock()
	s.sizes = append(s.sizes, len(locks))
	s.mu.Unlock()
	return s.Store.Heartbeat(ctx, now, locks, d)
}

func TestAChunkOfAHeartbeatThatFailsDoesNotStopTheOthers(t *testing.T) {
	const jobs = driver.ChunkJobs + 10
	started := make(chan *Run, jobs)
	r := newRig(t, untilDone(started), longLock, impatient, func(c *Config) { c.Queues[0].Slots = jobs })
	beats := &chunkedBeats{Store: r.store}
	r.config.Store = beats
	r.engine, _ = New(r.config)
	r.enqueue(jobs)
	r.start()
	for range jobs {
		receive(t, started, "a run")
	}
	r.engine.beatNow()
	eventually(t, "the chunk behind the bad one is extended", func() bool {
		beats.mu.Lock()
		defer beats.mu.Unlock()
		return slices.Contains(beats.sizes, jobs-driver.ChunkJobs)
	})
}

func TestAResumedClaimIsFollowedByAHeartbeat(t *testing.T) {
	started := make(chan *Run, 1)
	r := startRig(t, untilDone(started), longLock, impatient)
	eventually(t, "the queue is idle", func() bool { return r.store.Calls("AwaitWake") > 0 })
	if n := r.store.Calls("Heartbeat"); n != 0 {
		t.Fatalf("%d heartbeats came without a lock", n)
	}
	r.store.DropReplies(1, "Claim")
	r.enqueue(1)
	receive(t, started, "the run")
	eventually(t, "its lock is extended", func() bool { return r.store.Calls("Heartbeat") > 0 })
}

func TestAHeartbeatTellsWhatALostWatchMissed(t *testing.T) {
	started := make(chan *Run, 1)
	lose := make(chan struct{})
	r := newRig(t, untilDone(started), longLock)
	r.store.Inject(func(ctx context.Context, op string) error {
		select {
		case <-lose:
			return &driver.StoreError{Op: op, Err: errors.New("connection lost"), Retryable: true}
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil, "WatchCancels")
	r.start()
	id := r.enqueue(1)
	receive(t, started, "the run")
	r.requestCancel(id)
	if n := r.store.Calls("Heartbeat"); n != 0 {
		t.Fatalf("%d heartbeats came before the watch was lost", n)
	}
	close(lose)
	r.await(id, driver.Cancelled)
}

func TestHeartbeatsComeInTimeAndNotInStep(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		wait := beatIn(15 * time.Second)
		if wait < 12*time.Second || wait > 14500*time.Millisecond {
			t.Fatalf("the next heartbeat comes in %v, of 15 s", wait)
		}
		seen[wait.Truncate(time.Millisecond)] = true
	}
	if len(seen) < 100 {
		t.Errorf("of 1000 waits only %d differ", len(seen))
	}
}

package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
)

func TestAClaimWhoseReplyWasLostIsResumed(t *testing.T) {
	var ran atomic.Int64
	r := newRig(t, func(context.Context, *Run) ([]byte, error) {
		ran.Add(1)
		return nil, nil
	}, longLock)
	r.enqueue(4)
	r.store.DropReplies(1, "Claim")
	r.start()
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 4 })
	if n := ran.Load(); n != 4 {
		t.Errorf("4 jobs ran %d times", n)
	}
}

func TestAResumedClaimGoesOnUntilTheStoreHasAnswered(t *testing.T) {
	r := newRig(t, noop, longLock)
	r.enqueue(4)
	r.store.DropReplies(1, "Claim")
	r.start()
	end := r.store.Fail(true, "Claim") // a definite failure in between changes nothing
	eventually(t, "several claims failed", func() bool { return r.store.Calls("Claim") > 3 })
	end()
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 4 })
}

func TestAJobCancelledWhileItsClaimWasInDoubtIsNotStarted(t *testing.T) {
	r := newRig(t, func(context.Context, *Run) ([]byte, error) {
		t.Error("the job ran")
		return nil, nil
	}, longLock)
	id := r.enqueue(1)
	r.store.DropReplies(1, "Claim")
	end := r.store.Inject(func(ctx context.Context, op string) error {
		if r.store.Calls("Claim") == 1 {
			return nil
		}
		if r.store.Calls("Claim") == 2 {
			r.requestCancel(id)
		}
		return nil
	}, nil, "Claim")
	defer end()
	r.start()
	r.await(id, driver.Cancelled)
}

func TestAnAckWhoseReplyWasLostIsSentAgainAndCounts(t *testing.T) {
	observer := &recorder{}
	r := newRig(t, noop, longLock, func(c *Config) { c.Observer = observer })
	r.enqueue(1)
	r.store.DropReplies(1, "Ack")
	r.start()
	eventually(t, "the run has ended", func() bool { return observer.outcomes()[OutcomeCompleted] == 1 })
	if n := r.store.Calls("Ack"); n != 2 {
		t.Errorf("Ack was called %d times, want 2", n)
	}
	if r.log.count("dropped") != 0 || observer.lost.Load() != 0 {
		t.Errorf("the stored result was called dropped:\n%s", r.log)
	}
}

func TestCallsToABlackHoleEndAndTheLoopsRecover(t *testing.T) {
	started := make(chan *Run, 10)
	finish := make(chan struct{})
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		started <- run
		<-finish
		return nil, nil
	}, func(c *Config) { c.CallTimeout = 30 * time.Millisecond; c.PollInterval = 20 * time.Millisecond })
	r.enqueue(1)
	receive(t, started, "the first run")
	end := r.store.BlackHole()
	r.enqueue(1)
	close(finish)
	for _, op := range []string{"Claim", "Ack", "Heartbeat"} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := r.store.AwaitCalls(ctx, op, r.store.Calls(op)+3); err != nil {
			t.Errorf("%s was not tried again", op)
		}
		cancel()
	}
	end()
	eventually(t, "both jobs are completed", func() bool { return r.counts().Completed == 2 })
	eventually(t, "the engine is healthy", func() bool { return r.engine.Health().OK })
}

func TestAnOutageCostsFewCallsFewLinesAndLittleTime(t *testing.T) {
	r := startRig(t, noop)
	r.await(r.enqueue(1), driver.Completed)
	end := r.store.Fail(true)
	r.enqueue(3)
	calls := r.store.Calls("Claim") + r.store.Calls("Ack") + r.store.Calls("Heartbeat") + r.store.Calls("AwaitWake") + r.store.Calls("WatchCancels")
	before := processTime(t)
	time.Sleep(1500 * time.Millisecond) // the outage
	used := processTime(t) - before
	calls = r.store.Calls("Claim") + r.store.Calls("Ack") + r.store.Calls("Heartbeat") + r.store.Calls("AwaitWake") + r.store.Calls("WatchCancels") - calls
	if calls > 40 {
		t.Errorf("%d calls were made in 1.5 s of outage", calls)
	}
	if used > 700*time.Millisecond {
		t.Errorf("the outage cost %v of processor time", used)
	}
	if n := r.log.count("calls to the store fail"); n < 1 || n > 3 {
		t.Errorf("%d lines were logged:\n%s", n, r.log)
	}
	end()
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 4 })
	eventually(t, "the end was logged", func() bool { return r.log.count("the store is back") >= 1 })
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func TestALoopThatFailsOnAndOffLogsOncePerHalfMinute(t *testing.T) {
	r := newRig(t, noop)
	l := r.engine.newLoop("test", time.Second)
	for range 100 {
		l.fail(errors.New("down"))
		l.ok()
	}
	if n := r.log.count("calls to the store fail"); n != 1 {
		t.Errorf("the failure was logged %d times", n)
	}
	if n := r.log.count("the store is back"); n != 1 {
		t.Errorf("the recovery was logged %d times", n)
	}
}

func TestHealthTellsWhichLoopDoesNotSucceed(t *testing.T) {
	r := newRig(t, noop, func(c *Config) { c.PollInterval = 10 * time.Millisecond })
	if r.engine.Health().OK {
		t.Error("an engine that does not run says it is well")
	}
	end := r.store.Fail(true, "Claim")
	r.start()
	eventually(t, "health is red", func() bool {
		h := r.engine.Health()
		for _, l := range h.Loops {
			if l.Name == "claim q" && !l.OK && l.Failures > 0 && strings.Contains(l.Err, "injected") {
				return !h.OK
			}
		}
		return false
	})
	end()
	eventually(t, "health is green", func() bool { return r.engine.Health().OK })
}

// picky is a store that refuses acks with certain exits.
type picky struct {
	*faultstore.Store
	refuse func(driver.Ack) error
}

func (s *picky) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	for _, ack := range batch {
		if err := s.refuse(ack); err != nil {
			return nil, err
		}
	}
	return s.Store.Ack(ctx, now, batch)
}

func pickyRig(t *testing.T, handle handlerFunc, refuse func(driver.Ack) error) *rig {
	r := newRig(t, handle)
	r.config.Store = &picky{Store: r.store, refuse: refuse}
	var err error
	if r.engine, err = New(r.config); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAResultThatTheStoreRefusesFailsItsJobAndDelaysNoOther(t *testing.T) {
	for name, refusal := range map[string]error{
		"store error":   &driver.StoreError{Op: "Ack", Err: errors.New("value too large")},
		"invalid":       &driver.InvalidError{Field: "exit", Reason: "is odd"},
		"untyped error": errors.New("what is this?"),
	} {
		t.Run(name, func(t *testing.T) {
			r := pickyRig(t, func(_ context.Context, run *Run) ([]byte, error) {
				return run.Job.Payload, nil
			}, func(ack driver.Ack) error {
				if string(ack.Exit) == `"poison"` {
					return refusal
				}
				return nil
			})
			bad := r.enqueue(1, func(q *driver.EnqueueRequest) { q.Payload = []byte(`"poison"`) })
			r.enqueue(50)
			r.start()
			if job := r.await(bad, driver.Failed); !strings.Contains(string(job.Exit), "cannot be stored") {
				t.Errorf("the job failed with %s", job.Exit)
			}
			eventually(t, "the others are completed", func() bool { return r.counts().Completed == 50 })
		})
	}
}

func TestAStoreThatRefusesEverythingForAWhileLosesNoResult(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	var ran atomic.Int64
	r := pickyRig(t, func(context.Context, *Run) ([]byte, error) {
		ran.Add(1)
		return []byte("1"), nil
	}, func(driver.Ack) error {
		if down.Load() {
			return &driver.StoreError{Op: "Ack", Err: errors.New("permission denied")}
		}
		return nil
	})
	r.enqueue(10)
	r.start()
	eventually(t, "acks were refused", func() bool {
		for _, l := range r.engine.Health().Loops {
			if l.Name == "ack" && l.Failures > 3 {
				return true
			}
		}
		return false
	})
	down.Store(false)
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 10 })
	if n := ran.Load(); n != 10 {
		t.Errorf("10 jobs ran %d times", n)
	}
}

func TestAStoreThatPanicsDoesNotEndTheWorker(t *testing.T) {
	r := newRig(t, noop)
	var left atomic.Int64
	left.Store(6)
	r.store.Inject(func(_ context.Context, op string) error {
		if op != "Jobs" && op != "Counts" && left.Add(-1) >= 0 {
			panic("the store panics")
		}
		return nil
	}, nil, "Claim", "Heartbeat", "AwaitWake", "WatchCancels")
	r.enqueue(10)
	r.start()
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 10 })
}

func TestBatchesOfAcksKeepWithinTheChunk(t *testing.T) {
	for name, c := range map[string]struct{ jobs, exit int }{"jobs": {1200, 1}, "bytes": {30, 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(context.Context, *Run) ([]byte, error) {
				return bytes.Repeat([]byte("1"), c.exit), nil
			}, func(config *Config) { config.Queues = []Queue{{"q", 500}} }, longLock)
			sized := &sizedStore{Store: r.store}
			r.config.Store = sized
			r.engine, _ = New(r.config)
			r.enqueue(c.jobs)
			release := r.store.Block("Ack")
			r.start()
			eventually(t, "results pile up", func() bool { return r.engine.Stats().Queues[0].Unacked == c.jobs })
			release()
			eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == int64(c.jobs) })
			if n := sized.jobs.Load(); n > driver.ChunkJobs || n < 7 {
				t.Errorf("the largest batch had %d acks", n)
			}
			if n := sized.bytes.Load(); n > driver.ChunkBytes {
				t.Errorf("the largest batch had %d bytes", n)
			}
		})
	}
}

// sizedStore notes the size of the largest batch of acks.
type sizedStore struct {
	*faultstore.Store
	jobs, bytes atomic.Int64
}

func (s *sizedStore) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	size := 0
	for _, ack := range batch {
		size += len(ack.Exit)
	}
	s.jobs.Store(max(s.jobs.Load(), int64(len(batch))))
	s.bytes.Store(max(s.bytes.Load(), int64(size)))
	return s.Store.Ack(ctx, now, batch)
}

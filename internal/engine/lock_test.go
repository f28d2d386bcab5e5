package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// patientLock is a lock that a busy machine does not lose by being busy, and that
// still runs out while a test watches.
func patientLock(c *Config) { c.LockDuration = 700 * time.Millisecond }

func TestARunWhoseJobWasRecoveredIsToldAndItsResultIsRefused(t *testing.T) {
	started := make(chan *Run, 1)
	causes := make(chan error, 1)
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		started <- run
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return []byte(`"late"`), nil
	}, func(c *Config) { c.Observer = &recorder{} })
	id := r.enqueue(1)
	receive(t, started, "the run")
	if err := r.memory.Pause(t.Context(), "q"); err != nil { // so that nobody claims it again
		t.Fatal(err)
	}
	release := r.store.Block("Heartbeat")
	eventually(t, "the lock has run out and the job was recovered", func() bool { return r.recoverStalled() == 1 })
	release()
	if cause := receive(t, causes, "the loss"); !errors.Is(cause, ErrLockLost) {
		t.Errorf("the cause is %v", cause)
	}
	observer := r.config.Observer.(*recorder)
	eventually(t, "the run is over", func() bool { return observer.outcomes()[OutcomeLost] == 1 })
	if job := r.job(id); job.State != driver.Waiting || job.StalledCount != 1 || job.Exit != nil {
		t.Errorf("the recovered job is %+v", job)
	}
	eventually(t, "one lock was counted as lost", func() bool { return observer.lost.Load() == 1 })
}

func TestALateResultIsRefusedAlsoBeforeAHeartbeatTells(t *testing.T) {
	started := make(chan *Run, 1)
	finish := make(chan struct{})
	r := startRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		started <- run
		<-finish
		return []byte(`"late"`), nil
	}, func(c *Config) { c.Observer = &recorder{} })
	id := r.enqueue(1)
	receive(t, started, "the run")
	if err := r.memory.Pause(t.Context(), "q"); err != nil {
		t.Fatal(err)
	}
	release := r.store.Block("Heartbeat")
	defer release()
	eventually(t, "the job was recovered", func() bool { return r.recoverStalled() == 1 })
	close(finish)
	observer := r.config.Observer.(*recorder)
	eventually(t, "the result was dropped", func() bool { return observer.outcomes()[OutcomeLost] == 1 })
	if job := r.job(id); job.State != driver.Waiting || len(job.Exit) != 0 {
		t.Errorf("the job is %+v", job)
	}
	if r.log.count("a result was dropped", id) != 1 {
		t.Errorf("the drop was not logged:\n%s", r.log)
	}
}

func TestAJobThatTheSameWorkerClaimsAgainEndsTheOldRun(t *testing.T) {
	runs := make(chan *Run, 2)
	causes := make(chan error, 2)
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		runs <- run
		if run.Job.StalledCount > 0 {
			return []byte(`"new"`), nil
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return []byte(`"old"`), nil
	})
	id := r.enqueue(1)
	receive(t, runs, "the first run")
	// The second run stays unacked, so that the heartbeat meets both.
	endAck, endHeartbeat := r.store.Fail(true, "Ack"), r.store.Fail(true, "Heartbeat")
	eventually(t, "the job was recovered", func() bool { return r.recoverStalled() == 1 })
	receive(t, runs, "the second run")
	endHeartbeat()
	if cause := receive(t, causes, "the loss"); !errors.Is(cause, ErrLockLost) {
		t.Errorf("the cause is %v", cause)
	}
	endAck()
	if job := r.await(id, driver.Completed); string(job.Exit) != `"new"` {
		t.Errorf("the job ended with %s", job.Exit)
	}
}

func TestFinishedWorkThatCannotBeStoredIsNotRunAgainAndClaimsStop(t *testing.T) {
	var ran atomic.Int64
	r := newRig(t, func(context.Context, *Run) ([]byte, error) {
		ran.Add(1)
		return nil, nil
	}, patientLock, func(c *Config) { c.Queues[0].Slots = 2 })
	r.enqueue(40)
	end := r.store.Fail(true, "Ack")
	r.start()
	eventually(t, "some jobs ran", func() bool { return ran.Load() >= 2 })
	// Several lock durations go by, and the stall sweep runs all the time.
	for beats := r.store.Calls("Heartbeat") + 5; r.store.Calls("Heartbeat") < beats; {
		if n := r.recoverStalled(); n > 0 {
			t.Fatalf("%d jobs stalled while their worker lives", n)
		}
		time.Sleep(2 * time.Millisecond)
	}
	held := ran.Load()
	if held > 2*unackedPerSlot {
		t.Errorf("%d jobs ran although no result could be stored", held)
	}
	if stats := r.engine.Stats().Queues[0]; int64(stats.Unacked) != held {
		t.Errorf("%d results are counted as unacked, want %d", stats.Unacked, held)
	}
	end()
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == 40 })
	if n := ran.Load(); n != 40 {
		t.Errorf("40 jobs ran %d times", n)
	}
}

func TestNoQueueClaimsWhileResultsAreOverdueAndAllGoOnAfterwards(t *testing.T) {
	r := startRig(t, noop, func(c *Config) { c.Queues = append(c.Queues, Queue{"other", 2}) })
	release := r.store.Block("Ack")
	r.enqueue(1)
	eventually(t, "its result is overdue", r.engine.acker.overdue)
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.Queue = "other" })
	eventually(t, "the other queue holds back", r.engine.queues[1].starved.Load)
	if job := r.job(id); job.State != driver.Waiting {
		t.Errorf("the other queue's job is %v", job.State)
	}
	release()
	eventually(t, "both jobs are completed", func() bool { return r.counts().Completed == 2 })
}

func TestHeartbeatsExtendEveryLockInChunks(t *testing.T) {
	const jobs = driver.ChunkJobs + 50
	started := make(chan *Run, jobs)
	finish := make(chan struct{})
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		started <- run
		<-finish
		return nil, nil
	}, patientLock, func(c *Config) { c.Queues[0].Slots = jobs })
	r.enqueue(jobs)
	r.start()
	for range jobs {
		receive(t, started, "a run")
	}
	for beats := r.store.Calls("Heartbeat") + 10; r.store.Calls("Heartbeat") < beats; {
		if n := r.recoverStalled(); n > 0 {
			t.Fatalf("%d jobs stalled", n)
		}
		time.Sleep(2 * time.Millisecond)
	}
	close(finish)
	eventually(t, "all jobs are completed", func() bool { return r.counts().Completed == jobs })
}

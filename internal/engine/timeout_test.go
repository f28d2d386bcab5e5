package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

func TestTheNearestTimeoutCountsAndZeroMeansNone(t *testing.T) {
	options := []driver.Opt[driver.Millis]{{}, driver.Some[driver.Millis](0), driver.Some[driver.Millis](70_000)}
	for _, global := range []time.Duration{0, 50 * time.Second} {
		for _, handler := range options {
			for _, job := range options {
				want := global
				if handler.Set {
					want = handler.Value.Std()
				}
				if job.Set {
					want = job.Value.Std()
				}
				t.Run(fmt.Sprint(global, handler, job), func(t *testing.T) {
					limits := make(chan time.Duration, 1)
					r := newRig(t, func(ctx context.Context, _ *Run) ([]byte, error) {
						deadline, set := ctx.Deadline()
						if !set {
							limits <- 0
						} else {
							limits <- time.Until(deadline)
						}
						return nil, nil
					}, func(c *Config) {
						c.Timeout = global
						c.Handlers["job"] = Handler{Run: c.Handlers["job"].Run, Timeout: handler}
					})
					r.enqueue(1, func(q *driver.EnqueueRequest) { q.Timeout = job })
					r.start()
					got := receive(t, limits, "the run")
					if got > want || want-got > 10*time.Second {
						t.Errorf("the run may take %v, want %v", got, want)
					}
				})
			}
		}
	}
}

func TestATimeoutIsAFailedAttemptWithATypedCause(t *testing.T) {
	causes := make(chan error, 10)
	r := startRig(t, func(ctx context.Context, _ *Run) ([]byte, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.Timeout = driver.Some[driver.Millis](5); q.AttemptsMax = 2 })
	job := r.await(id, driver.Failed)
	if len(r.attempts(id)) != 2 {
		t.Errorf("the job was not retried")
	}
	if !strings.Contains(string(job.Exit), "timed out after 5ms") || !strings.Contains(string(job.Exit), `"type":"timeout"`) {
		t.Errorf("the exit is %s", job.Exit)
	}
	var timeout *TimeoutError
	if cause := receive(t, causes, "the cause"); !errors.As(cause, &timeout) || timeout.After != 5*time.Millisecond {
		t.Errorf("the cause is %v", cause)
	}
}

func TestAResultInTimeCountsAndALateOneDoesNot(t *testing.T) {
	release := make(chan struct{})
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		if run.Job.Metadata["late"] != "" {
			<-ctx.Done()
			<-release
		}
		return []byte("1"), nil
	})
	late := r.enqueue(1, func(q *driver.EnqueueRequest) {
		q.Timeout, q.AttemptsMax = driver.Some[driver.Millis](10), 1
		q.Metadata = map[string]string{"late": "yes"}
	})
	inTime := r.enqueue(1, func(q *driver.EnqueueRequest) { q.Timeout = driver.Some[driver.Millis](60_000) })
	r.await(inTime, driver.Completed)
	close(release)
	if job := r.await(late, driver.Failed); !strings.Contains(string(job.Exit), "timed out") {
		t.Errorf("the late job failed with %s", job.Exit)
	}
}

func TestAHandlerThatIgnoresItsContextKeepsSlotAndLockAndIsReported(t *testing.T) {
	release := make(chan struct{})
	r := startRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		if run.Job.Metadata["deaf"] != "" {
			<-release
		}
		return nil, nil
	}, patientLock, func(c *Config) { c.Queues[0].Slots = 1; c.StuckAfter = 20 * time.Millisecond })
	id := r.enqueue(1, func(q *driver.EnqueueRequest) {
		q.Timeout, q.AttemptsMax = driver.Some[driver.Millis](10), 1
		q.Metadata = map[string]string{"deaf": "yes"}
	})
	eventually(t, "the handler counts as stuck", func() bool { return len(r.engine.Stats().Stuck) == 1 })
	eventually(t, "it was logged", func() bool { return r.log.count("goes on although") == 1 })
	next := r.enqueue(1)
	for beats := r.store.Calls("Heartbeat") + 4; r.store.Calls("Heartbeat") < beats; { // well past its lock
		r.recoverStalled()
		time.Sleep(5 * time.Millisecond)
	}
	if job := r.job(id); job.State != driver.Active || job.StalledCount != 0 {
		t.Errorf("the stuck job is %v, and stalled %d times", job.State, job.StalledCount)
	}
	if job := r.job(next); job.State != driver.Waiting {
		t.Errorf("the next job is %v although the slot is taken", job.State)
	}
	stuck := r.engine.Stats().Stuck[0]
	var timeout *TimeoutError
	if stuck.JobID != id || !errors.As(stuck.Cause, &timeout) || !strings.Contains(stuck.Stack, "timeout_test.go") {
		t.Errorf("the report is %+v", stuck)
	}
	if n := r.log.count("goes on although"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
	close(release)
	r.await(id, driver.Failed)
	r.await(next, driver.Completed)
	if n := len(r.engine.Stats().Stuck); n != 0 {
		t.Errorf("%d handlers still count as stuck", n)
	}
}

package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// impatient lets handlers finish for a moment only.
func impatient(c *Config) { c.Grace = 20 * time.Millisecond }

func TestAShutdownDuringTheLastAttemptLeavesTheJobUnharmed(t *testing.T) {
	started := make(chan *Run, 1)
	causes := make(chan error, 1)
	hook := make(chan Failure, 1)
	r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		started <- run
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}, impatient, longLock, func(c *Config) { c.OnFailure = func(_ context.Context, f Failure) { hook <- f } })
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.AttemptsMax = 1 })
	receive(t, started, "the run")
	if err := r.stop(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if cause := receive(t, causes, "the cause"); !errors.Is(cause, ErrShutdown) {
		t.Errorf("the cause is %v", cause)
	}
	if job := r.job(id); job.State != driver.Waiting || job.AttemptsMade != 0 || job.StalledCount != 0 || len(r.attempts(id)) != 0 {
		t.Errorf("the job is %+v", job)
	}
	if len(hook) != 0 {
		t.Error("the failure hook was called")
	}
}

func TestAResultAtShutdownCounts(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"within the grace period": func(*Config) {},
		"after it":                impatient,
	} {
		t.Run(name, func(t *testing.T) {
			started := make(chan *Run, 1)
			finish := make(chan struct{})
			r := startRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
				started <- run
				select {
				case <-finish:
				case <-ctx.Done():
				}
				return []byte("1"), nil
			}, change)
			id := r.enqueue(1)
			receive(t, started, "the run")
			r.cancel()
			if name != "after it" {
				close(finish)
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			if job := r.job(id); job.State != driver.Completed {
				t.Errorf("the job is %v", job.State)
			}
		})
	}
}

func TestAClaimThatIsAnsweredAfterTheStopIsGivenBack(t *testing.T) {
	r := newRig(t, func(context.Context, *Run) ([]byte, error) {
		t.Error("a job was started after the stop")
		return nil, nil
	}, longLock)
	id := r.enqueue(4, func(q *driver.EnqueueRequest) { q.AttemptsMax = 1 })
	release := r.store.Block("Claim")
	r.start()
	if err := r.store.AwaitCalls(t.Context(), "Claim", 1); err != nil {
		t.Fatal(err)
	}
	r.cancel()
	r.awaitStopping()
	release()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if counts := r.counts(); counts.Waiting != 4 || r.job(id).AttemptsMade != 0 {
		t.Errorf("the jobs are %+v", counts)
	}
}

func TestAClaimInDoubtIsResolvedAtShutdownAndGivenBack(t *testing.T) {
	r := newRig(t, func(context.Context, *Run) ([]byte, error) {
		t.Error("a job was started after the stop")
		return nil, nil
	}, longLock)
	r.enqueue(4)
	r.store.DropReplies(1, "Claim")
	reached := make(chan struct{})
	once := sync.OnceFunc(func() { close(reached) })
	r.store.Inject(nil, func(_ context.Context, _ string, err error) error {
		once()
		r.awaitStopping()
		return err
	}, "Claim")
	r.start()
	receive(t, reached, "the claim")
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if counts := r.counts(); counts.Waiting != 4 {
		t.Errorf("the jobs are %+v", counts)
	}
}

// awaitStopping waits until the engine has begun to stop.
func (r *rig) awaitStopping() {
	r.t.Helper()
	eventually(r.t, "the engine stops", func() bool { return r.engine.lastCall.Load() != 0 })
}

func TestAHandlerThatIgnoresTheShutdownIsReportedAndItsResultIsDropped(t *testing.T) {
	started := make(chan *Run, 1)
	release := make(chan struct{})
	ended := make(chan struct{})
	r := startRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		defer close(ended)
		started <- run
		<-release
		return []byte(`"too late"`), nil
	}, impatient, func(c *Config) { c.StuckAfter = 50 * time.Millisecond })
	id := r.enqueue(1)
	receive(t, started, "the run")
	err := r.stop()
	var abandoned *AbandonedError
	if !errors.As(err, &abandoned) || len(abandoned.Runs) != 1 || abandoned.Runs[0].JobID != id || abandoned.Runs[0].Stack == "" {
		t.Errorf("Run returned %v", err)
	}
	acks := r.store.Calls("Ack")
	close(release)
	<-ended
	eventually(t, "its executor has ended", func() bool {
		select {
		case <-r.engine.queues[0].exited:
			return true
		default:
			return false
		}
	})
	if job := r.job(id); job.State != driver.Active || r.store.Calls("Ack") != acks {
		t.Errorf("the job is %v, and acks went out after the end", job.State)
	}
	eventually(t, "its lock lapses", func() bool { return r.recoverStalled() == 1 })
}

func TestResultsAreStoredAtShutdownAsSoonAsTheStoreIsBack(t *testing.T) {
	r := newRig(t, noop)
	id := r.enqueue(1)
	end := r.store.Fail(true, "Ack")
	r.start()
	eventually(t, "the result waits", func() bool { return r.store.Calls("Ack") > 1 })
	r.cancel()
	r.awaitStopping()
	end()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if job := r.job(id); job.State != driver.Completed {
		t.Errorf("the job is %v", job.State)
	}
}

func TestAShutdownEndsAlsoWhenTheStoreIsABlackHole(t *testing.T) {
	started := make(chan *Run, 1)
	finish := make(chan struct{})
	r := startRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		started <- run
		<-finish
		return nil, nil
	}, func(c *Config) { c.CallTimeout = 50 * time.Millisecond })
	r.enqueue(1)
	receive(t, started, "the run")
	defer r.store.BlackHole()()
	close(finish)
	begin := time.Now()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the shutdown took %v", took)
	}
	if r.log.count("before the store took all results") != 1 {
		t.Errorf("the lost result was not logged:\n%s", r.log)
	}
}

func TestAShutdownIsBoundedWhateverHandlersAndTheStoreDo(t *testing.T) {
	started := make(chan *Run, 10)
	release := make(chan struct{})
	r := startRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		started <- run
		if run.Job.Metadata["deaf"] != "" {
			<-release
		}
		return nil, nil
	}, longLock, func(c *Config) {
		c.Grace, c.StopMargin = 200*time.Millisecond, 600*time.Millisecond
		c.StuckAfter, c.CallTimeout = time.Minute, time.Minute
		c.Queues = append(c.Queues, Queue{"other", 1})
	})
	defer close(release)
	r.enqueue(1, func(q *driver.EnqueueRequest) { q.Metadata = map[string]string{"deaf": "yes"} })
	receive(t, started, "the deaf run")
	defer r.store.BlackHole("Ack", "Claim")()
	before := r.store.Calls("Claim")
	r.enqueue(1, func(q *driver.EnqueueRequest) { q.Queue = "other" }) // a claim hangs
	if err := r.store.AwaitCalls(t.Context(), "Claim", before+1); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	err := r.stop()
	var abandoned *AbandonedError
	if !errors.As(err, &abandoned) || len(abandoned.Runs) != 1 {
		t.Errorf("Run returned %v", err)
	}
	if took := time.Since(begin); took < 500*time.Millisecond || took > 3*time.Second {
		t.Errorf("the shutdown took %v, of 800ms", took)
	}
}

func TestTheDefaultShutdownFitsIntoHalfAMinute(t *testing.T) {
	config, err := Config{Store: newRig(t, noop).store}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if sum := config.Grace + config.StopMargin; sum >= 30*time.Second || config.StopMargin < 3*time.Second {
		t.Errorf("the grace period is %v, and what follows takes up to %v", config.Grace, config.StopMargin)
	}
}

func TestAResultWhoseHookGoesOnAtTheStopIsStoredAllTheSame(t *testing.T) {
	hooked := make(chan struct{})
	release := make(chan struct{})
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { return nil, errors.New("sad") },
		impatient, longLock, func(c *Config) {
			c.StuckAfter = 20 * time.Millisecond
			c.OnFailure = func(context.Context, Failure) { close(hooked); <-release }
		})
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.AttemptsMax = 1 })
	receive(t, hooked, "the failure hook")
	r.cancel()
	eventually(t, "the last results are awaited", func() bool {
		r.engine.acker.mu.Lock()
		defer r.engine.acker.mu.Unlock()
		return r.engine.acker.closed
	})
	time.AfterFunc(50*time.Millisecond, func() { close(release) }) // an acker that does not wait has ended by then
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if job := r.job(id); job.State != driver.Failed {
		t.Errorf("the job is %v; its result was lost", job.State)
	}
}

func TestAResultWhoseHookDoesNotEndIsReportedAsNotStored(t *testing.T) {
	hooked := make(chan struct{})
	release := make(chan struct{})
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { return nil, errors.New("sad") },
		impatient, longLock, func(c *Config) {
			c.StuckAfter, c.StopMargin = 20*time.Millisecond, 100*time.Millisecond
			c.OnFailure = func(context.Context, Failure) { close(hooked); <-release }
		})
	defer close(release)
	id := r.enqueue(1)
	receive(t, hooked, "the failure hook")
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if n := r.log.count("before the store took all results", "runs=1"); n != 1 || r.job(id).State != driver.Active {
		t.Errorf("the lost result was logged %d times, and the job is %v:\n%s", n, r.job(id).State, r.log)
	}
}

func TestAnEngineThatIsStoppedBeforeItStartsDoesNothing(t *testing.T) {
	r := newRig(t, noop)
	r.enqueue(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.engine.Run(ctx); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if n := r.store.Calls("Claim"); n != 0 {
		t.Errorf("%d claims were made", n)
	}
}

func TestEnginesMayStopAtAnyMoment(t *testing.T) {
	for range 60 {
		r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
			if run.Job.Seq%7 == 0 {
				time.Sleep(time.Millisecond)
			}
			return nil, nil
		}, longLock)
		r.enqueue(100)
		r.start()
		eventually(t, "some jobs ran", func() bool { return r.store.Calls("Ack") > 0 })
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(r.cancel)
		}
		stops.Wait()
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if counts := r.counts(); counts.Active != 0 || counts.Waiting+counts.Completed != 100 {
			t.Fatalf("the stop left %+v", counts)
		}
	}
}

func TestAnEngineStopsWhileEveryCallFails(t *testing.T) {
	r := newRig(t, noop)
	defer r.store.Fail(true)()
	r.enqueue(1)
	r.start()
	eventually(t, "claims fail", func() bool { return r.store.Calls("Claim") > 1 })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

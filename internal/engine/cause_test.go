package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// causedRun is a started run of a job with a timeout, whose context was ended with
// cause so long after the deadline; before it, if negative. Both times are past.
func causedRun(r *rig, cause error, afterDeadline time.Duration) *run {
	made := r.engine.newRun(r.engine.queues[0], &driver.Job{
		ID: "a", Spec: driver.Spec{Name: "job", Queue: "q", AttemptsMax: 3, Timeout: driver.Some[driver.Millis](1000)},
	}, "t")
	made.start(0)
	made.deadline = time.Now().Add(-time.Minute)
	made.end(cause, func(r *run) { r.shutdown = errors.Is(cause, ErrShutdown) })
	made.causeAt = made.deadline.Add(afterDeadline)
	return made
}

func TestWhatEndedAContextFirstIsItsCause(t *testing.T) {
	r := newRig(t, noop)
	var timeout *TimeoutError
	for _, cause := range []error{ErrCancelRequested, ErrLockLost, ErrShutdown} {
		early := causedRun(r, cause, -time.Second)
		// The handler looks at its context only now that the timeout is over, too.
		if got := context.Cause(&early.ctx); !errors.Is(got, cause) {
			t.Errorf("%v came before the timeout; the cause is %v", cause, got)
		}
		if since, got := early.overdue(time.Now()); !errors.Is(got, cause) || !since.Equal(early.causeAt) {
			t.Errorf("%v came before the timeout; the run is overdue because of %v", cause, got)
		}
		late := causedRun(r, cause, time.Second)
		if got := context.Cause(&late.ctx); !errors.As(got, &timeout) {
			t.Errorf("%v came after the timeout; the cause is %v", cause, got)
		}
		if since, got := late.overdue(time.Now()); !errors.As(got, &timeout) || !since.Equal(late.deadline) {
			t.Errorf("%v came after the timeout; the run is overdue because of %v", cause, got)
		}
	}
}

func TestAnErrorAfterAShutdownIsNoTimeoutUnlessTheTimeoutCameFirst(t *testing.T) {
	r := newRig(t, noop)
	for name, c := range map[string]struct {
		afterDeadline time.Duration
		want          driver.AckKind
	}{
		"shutdown, then timeout": {-time.Second, driver.AckRelease},
		"timeout, then shutdown": {time.Second, driver.AckRetry},
	} {
		t.Run(name, func(t *testing.T) {
			made := causedRun(r, ErrShutdown, c.afterDeadline)
			inTime := made.finish()
			if inTime {
				t.Fatal("the run says that it was in time")
			}
			r.engine.decide(made, nil, errors.New("interrupted"), inTime)
			if made.ack.Kind != c.want {
				t.Errorf("the ack is %v, want %v", made.ack.Kind, c.want)
			}
		})
	}
}

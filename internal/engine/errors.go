package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/plural"
)

// The causes that context.Cause reports in a handler whose context was cancelled;
// a timeout's cause is a [*TimeoutError].
var (
	// ErrCancelRequested: somebody cancelled the job.
	ErrCancelRequested = errors.New("braid: the job's cancel was requested")
	// ErrLockLost: the job is no longer this run's; whatever it returns is dropped.
	ErrLockLost = driver.ErrLockLost
	// ErrShutdown: the worker's grace period is over.
	ErrShutdown = errors.New("braid: the worker is shutting down")
)

// ErrStarted: an engine runs only once.
var ErrStarted = errors.New("braid: this worker was started before; make a new one")

// TimeoutError is the cause of a context whose run took too long, and the error of
// the failed attempt. It matches context.DeadlineExceeded.
type TimeoutError struct {
	After time.Duration // the run's time limit
	Err   error         // what the handler returned in the end; nil as a cause, or if it returned a result too late
}

func (e *TimeoutError) Error() string {
	text := "braid: the run timed out after " + e.After.String()
	if e.Err == nil {
		return text
	}
	// A handler may return the cause of its context, which says the same.
	if inner := errorText(e.Err); inner != text {
		text += ": " + inner
	}
	return text
}

// Unwrap returns what the handler returned.
func (e *TimeoutError) Unwrap() error { return e.Err }

// Is reports whether target is context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout returns true, as net.Error asks.
func (e *TimeoutError) Timeout() bool { return true }

// PanicError is the error of a handler, or of another function that Braid calls,
// that panicked or called runtime.Goexit.
type PanicError struct {
	Value any    // the value of the panic; nil for Goexit
	Stack []byte // of the goroutine, at the panic
	Exit  bool   // runtime.Goexit, not a panic
}

func (e *PanicError) Error() string {
	if e.Exit {
		return "braid: the handler ended its goroutine (runtime.Goexit)"
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Unrecoverable marks err: the job fails at once, whatever attempts are left.
// Unrecoverable(nil) is nil.
func Unrecoverable(err error) error {
	if err == nil {
		return nil
	}
	return &unrecoverableError{err: err}
}

type unrecoverableError struct{ err error }

func (e *unrecoverableError) Error() string { return e.err.Error() }
func (e *unrecoverableError) Unwrap() error { return e.err }

// Snooze is not a failure: the job runs again after d, and no attempt is used. A
// d of 0 or less runs it as soon as its turn comes.
func Snooze(d time.Duration) error { return &snoozeError{after: d} }

type snoozeError struct{ after time.Duration }

func (e *snoozeError) Error() string { return "braid: snoozed for " + e.after.String() }

// EncodeError says that a handler's result cannot be stored. The job fails and is
// not retried, because its side effects have happened.
type EncodeError struct{ Err error }

func (e *EncodeError) Error() string {
	return "braid: the job ran, but its result cannot be stored: " + errorText(e.Err)
}

// Unwrap returns the cause.
func (e *EncodeError) Unwrap() error { return e.Err }

// FanOutDone is what a flow parent's first phase returns instead of a result: its
// children are staged under the run's token, and the run is acked with
// [driver.AckFanOut].
type FanOutDone struct {
	FailFast bool
	Children int64
	// Landed, if not nil, is called once the fan-out is stored, in a goroutine of its
	// own, with the state that the parent is in; or with no state (0), when the answer
	// to the ack was lost, and it is only known that the run has ended. Its context ends
	// when the worker's grace period does.
	Landed func(ctx context.Context, state driver.State)
}

func (e *FanOutDone) Error() string {
	return "braid: the flow fanned out into " + plural.Of(e.Children, "child", "children")
}

// AbandonedError is returned by Run when handlers ignored the end of their
// context: they still run, their locks lapse, and what they return is dropped.
type AbandonedError struct{ Runs []StuckRun }

func (e *AbandonedError) Error() string {
	text := fmt.Sprintf("braid: the worker stopped, but %s ignored the end of %s context:",
		plural.Of(len(e.Runs), "handler", "handlers"), plural.Word(len(e.Runs), "its", "their"))
	for i, r := range e.Runs {
		if i == 10 {
			return text + " …"
		}
		text += fmt.Sprintf(" %s %q", r.Name, r.JobID)
	}
	return text
}

// errorText is err.Error(), also for an error whose method panics.
func errorText(err error) (text string) {
	if err == nil {
		return "nil"
	}
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("%T (its Error method panicked: %v)", err, v)
		}
	}()
	return err.Error()
}

package braid

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
	"github.com/braidmq/braid/internal/plural"
)

// Errors that calls return; test for them with errors.Is.
var (
	// ErrNotFound: there is no such job or schedule.
	ErrNotFound = driver.ErrNotFound
	// ErrInvalid: bad input; errors.As to [*InvalidError] tells the field. Nothing
	// was stored.
	ErrInvalid = driver.ErrInvalid
	// ErrNotRetryable, ErrNotCancellable, ErrNotPromotable: the job is in a state in
	// which that cannot be done; errors.As to [*StateError] tells which.
	ErrNotRetryable   = driver.ErrNotRetryable
	ErrNotCancellable = driver.ErrNotCancellable
	ErrNotPromotable  = driver.ErrNotPromotable
	// ErrListOrderUnsupported: the store cannot list in this order with these filters.
	ErrListOrderUnsupported = driver.ErrListOrderUnsupported
	// ErrListIndexDisabled: the list needs an index that is switched off in the store.
	ErrListIndexDisabled = driver.ErrListIndexDisabled
	// ErrStoreClosed: the store was closed.
	ErrStoreClosed = driver.ErrClosed

	// ErrCancelled: the job that was waited for was cancelled.
	ErrCancelled = errors.New("braid: the job was cancelled")
	// ErrRemoved: the job that was waited for was removed before it finished.
	ErrRemoved = errors.New("braid: the job was removed")
	// ErrResultNotKept: the job has finished, or was removed, and its retention left
	// nothing to tell which; see [Keep].
	ErrResultNotKept = errors.New("braid: the job is gone and its result was not kept")
	// ErrWorkerRunning: Run was called a second time.
	ErrWorkerRunning = errors.New("braid: the worker was started before")
	// ErrKeeperRunning: the keeper's Run was called a second time.
	ErrKeeperRunning = errors.New("braid: the keeper was started before")
	// ErrClientClosed: the client was closed.
	ErrClientClosed = errors.New("braid: the client is closed")
)

// Causes of a handler's cancelled context, as context.Cause tells them. A run that
// is out of time has a [*TimeoutError].
var (
	// ErrCancelRequested: somebody cancelled the job.
	ErrCancelRequested = engine.ErrCancelRequested
	// ErrLockLost: the job is not this run's any more; nothing it does counts.
	ErrLockLost = driver.ErrLockLost
	// ErrShutdown: the worker is stopping, and the grace period is over.
	ErrShutdown = engine.ErrShutdown
)

type (
	// InvalidError tells which field of a request was refused and why. It matches
	// ErrInvalid.
	InvalidError = driver.InvalidError
	// StateError tells the state that stands in an operation's way.
	StateError = driver.StateError
	// StoreError is a failure in the store's database or on the way to it; it says
	// whether trying again can help, and whether the outcome is unknown.
	StoreError = driver.StoreError
	// PartialError tells how far a batch got before it failed.
	PartialError = driver.PartialError
	// TimeoutError is the cause of a run's context that ended because of [Timeout].
	TimeoutError = engine.TimeoutError
	// PanicError is what [Job.RetryIf] and [WorkerOptions].OnFailure get of a handler
	// that panicked, or called runtime.Goexit; it has the stack.
	PanicError = engine.PanicError
	// EncodeError is what [WorkerOptions].OnFailure gets of a run whose result cannot
	// be encoded or stored. The job is not run again.
	EncodeError = engine.EncodeError
	// AbandonedError is what [Worker.Run] returns of handlers that ignored the end of
	// their contexts. Their locks run out, and their jobs run again elsewhere.
	AbandonedError = engine.AbandonedError
	// AbandonedRun is one of those handlers.
	AbandonedRun = engine.StuckRun
)

// ErrStalled is what [WorkerOptions].OnFailure gets of a job that failed because it
// lost its worker more often than [WorkerOptions].MaxStalled.
var ErrStalled = errors.New("braid: " + driver.StalledReason)

// Unrecoverable marks err so that the job fails at once, whatever attempts it has
// left. The text and the chain of err are kept. Unrecoverable(nil) is nil.
func Unrecoverable(err error) error {
	if err == nil {
		return nil
	}
	return engine.Unrecoverable(err)
}

// Snooze, returned by a handler, puts the job off by d without using an attempt. A
// d of zero or less runs it again at once.
func Snooze(d time.Duration) error { return engine.Snooze(d) }

// JobError is how a failed job ended: what its last run's handler returned.
type JobError struct {
	ID      string // of the job
	Message string // the error's text
	// Type is the error's Go type, or "panic", "goexit" (the handler ended its
	// goroutine), "timeout" or "encode" (its result cannot be stored); it may be empty.
	Type     string
	Stack    string // for a panic: the stack of the handler
	Attempts int    // how many attempts the job has used; 0: not known
}

func (e *JobError) Error() string {
	if e.Attempts <= 1 {
		return fmt.Sprintf("braid: job %q failed: %s", shortID(e.ID), bare(e.Message))
	}
	return fmt.Sprintf("braid: job %q failed after %s: %s", shortID(e.ID), plural.Of(e.Attempts, "attempt", "attempts"), bare(e.Message))
}

// shortID is an id for people. That of a flow's child has those of all its parents
// in it, and its error may be told in that of its parent, and so on.
func shortID(id string) string {
	const most = 64
	if len(id) <= most {
		return id
	}
	return strings.ToValidUTF8(id[:most], "") + "…"
}

// errorPrefix begins the text of every error of Braid's, once.
const errorPrefix = "braid: "

func bare(text string) string { return strings.TrimPrefix(text, errorPrefix) }

// ItemError tells which item of a batch was refused, or failed; it wraps the cause.
type ItemError struct {
	Index int // counted from 0
	Err   error
}

func (e *ItemError) Error() string {
	return errorPrefix + "request " + strconv.Itoa(e.Index) + ": " + bare(e.Err.Error())
}

// Unwrap returns the cause.
func (e *ItemError) Unwrap() error { return e.Err }

// within wraps err, and puts what was being done in front of its text.
func within(err error, format string, args ...any) error {
	doing := fmt.Sprintf(format, args...)
	// The text is written out to drop err's prefix; %.0w wraps it and adds no text.
	return fmt.Errorf(errorPrefix+"%s: %s%.0w", doing, bare(err.Error()), err)
}

// jobError decodes the exit of a failed run, or the reason that the store gave.
func jobError(id string, exit []byte, failedReason string, attempts int32) *JobError {
	e := &JobError{ID: id, Message: failedReason, Attempts: int(attempts)}
	if len(exit) == 0 {
		return e
	}
	var fields struct {
		engine.ErrorExit
		Message *string `json:"message"` // nil: the exit is not one of an error, but it may be empty
	}
	if err := json.Unmarshal(exit, &fields); err != nil || fields.Message == nil {
		e.Message = string(exit)
		return e
	}
	e.Message, e.Type, e.Stack = *fields.Message, fields.Type, fields.Stack
	return e
}

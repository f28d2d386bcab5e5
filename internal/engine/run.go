package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
)

// Run is one run of a job, as its handler sees it.
type Run struct {
	Job     *driver.Job // as claimed; not to be changed
	Token   string      // the lock token, unique to this claim
	Attempt int         // 1-based, in the job's current budget
	Worker  string      // the worker's id
	Store   string      // the store's name
	Log     *slog.Logger
}

// Logger logs with the job's id, queue and attempt.
func (r *Run) Logger() *slog.Logger {
	log := r.Log
	if log == nil {
		log = slog.Default()
	}
	return log.With("job", r.Job.ID, "name", r.Job.Name, "queue", r.Job.Queue, "attempt", r.Attempt)
}

// CurrentRun returns the run whose handler ctx belongs to.
func CurrentRun(ctx context.Context) (*Run, bool) {
	run, ok := ctx.Value(runKey{}).(*Run)
	return run, ok
}

// WithRun returns a context that belongs to run, to call a handler without an
// engine.
func WithRun(ctx context.Context, run *Run) context.Context {
	return context.WithValue(ctx, runKey{}, run)
}

type runKey struct{}

// runState is how far a run is.
type runState uint8

const (
	runQueued   runState = iota // claimed, waits for an executor
	runRunning                  // in its handler
	runFinished                 // its result waits to be acked, or is dropped
)

// run is a claimed job on its way through the engine.
type run struct {
	Run
	ctx      runContext
	queue    *queue
	handler  *Handler
	claim    *claim
	index    int           // in claim.runs
	timeout  time.Duration // 0: none
	observed bool          // times are taken for the observer

	mu              sync.Mutex // guards what follows, until the run is finished
	state           runState
	inner           context.Context // made when somebody needs more than values
	cancel          context.CancelCauseFunc
	release         context.CancelFunc
	cause           error     // why the context was cancelled first, timeouts apart
	causeAt         time.Time // when
	lost            bool
	cancelRequested bool
	shutdown        bool
	deadline        time.Time // zero: none
	goroutine       int64     // the executor's, while running
	stuck           *StuckRun // set once it was found stuck
	abandoned       bool      // the engine has stopped without it

	// What follows belongs to the goroutine that has the run: executor, then acker.
	started, ended time.Time
	ack            driver.Ack // Kind 0: nothing to ack
	landed         func(context.Context, driver.State)
	result         driver.State // what the ack led to; 0: unknown
	maybeApplied   bool         // an earlier send had an unknown outcome
	settled        bool         // the result is stored or dropped
	contended      int          // how often the store put the result off
}

// start moves a queued run into its handler. It says no if the run must not start;
// then it is finished.
func (r *run) start(goroutine int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause != nil {
		r.state = runFinished
		return false
	}
	r.state = runRunning
	r.goroutine = goroutine
	if r.timeout > 0 || r.observed {
		r.started = time.Now()
	}
	if r.timeout > 0 {
		r.deadline = r.started.Add(r.timeout)
	}
	return true
}

// finish ends the run's context, and says whether the result came in time.
func (r *run) finish() (inTime bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = runFinished
	if r.timeout > 0 || r.observed {
		r.ended = time.Now()
	}
	if r.inner != nil {
		r.cancel(context.Canceled)
		r.release()
	}
	return r.deadline.IsZero() || r.ended.Before(r.deadline)
}

// end cancels the context of a run that is not finished; it reports whether that
// was so. note runs with the lock held.
func (r *run) end(cause error, note func(*run)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == runFinished {
		return false
	}
	note(r)
	if r.cause == nil {
		r.cause, r.causeAt = cause, time.Now()
	}
	if r.inner != nil {
		r.cancel(cause)
	}
	return true
}

// overdue tells since when, and why, the context of a running run has been over.
func (r *run) overdue(now time.Time) (since time.Time, cause error) {
	if r.state != runRunning {
		return time.Time{}, nil
	}
	if !r.deadline.IsZero() && now.After(r.deadline) && (r.cause == nil || r.deadline.Before(r.causeAt)) {
		return r.deadline, &TimeoutError{After: r.timeout}
	}
	return r.causeAt, r.cause
}

// summary tells the observer how the run ended.
func (r *run) summary() RunEnd {
	end := RunEnd{Job: r.Job, Outcome: OutcomeOf(r.ack.Kind, r.result), State: r.result}
	if !r.started.IsZero() {
		end.Run = r.ended.Sub(r.started)
	}
	if at, set := r.Job.ProcessedAt.Get(); set {
		end.Wait = max(at.Sub(r.Job.RunAt).Std(), 0)
	}
	return end
}

// runContext is the context of a run. Most handlers only hand it on, so the real
// context behind it, which can be cancelled, is made when somebody asks for it.
type runContext struct{ run *run }

func (c *runContext) Deadline() (time.Time, bool) {
	r := c.run
	r.mu.Lock()
	mine := r.deadline
	r.mu.Unlock()
	return mine, !mine.IsZero()
}

func (c *runContext) Done() <-chan struct{} { return c.real().Done() }

func (c *runContext) Err() error {
	r := c.run
	r.mu.Lock()
	untouched := r.inner == nil && r.state == runRunning && r.cause == nil && r.deadline.IsZero()
	r.mu.Unlock()
	if untouched {
		return nil
	}
	return c.real().Err()
}

func (c *runContext) Value(key any) any {
	if _, ok := key.(runKey); ok {
		return &c.run.Run
	}
	// The context package finds the cause of a cancellation by a value, too.
	return c.real().Value(key)
}

// real returns the context that can be cancelled.
func (c *runContext) real() context.Context {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inner != nil {
		return r.inner
	}
	ctx, cancel := context.WithCancelCause(r.queue.engine.config.BaseContext)
	release := context.CancelFunc(func() {})
	if r.cause != nil && (r.deadline.IsZero() || r.causeAt.Before(r.deadline)) {
		cancel(r.cause) // it came before the timeout, so it is the cause
	}
	if !r.deadline.IsZero() {
		ctx, release = context.WithDeadlineCause(ctx, r.deadline, &TimeoutError{After: r.timeout})
	}
	if r.cause != nil {
		cancel(r.cause)
	}
	if r.state == runFinished {
		cancel(context.Canceled)
		release()
	}
	r.inner, r.cancel, r.release = ctx, cancel, release
	return ctx
}

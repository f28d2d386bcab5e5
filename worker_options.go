package braid

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
	"github.com/braidmq/braid/internal/maintain"
)

// WorkerOptions configures a worker. The zero value is ready to use.
type WorkerOptions struct {
	// Concurrency is how many jobs of each queue run at once. 0 is 10; at most
	// 1,000,000.
	Concurrency int
	// Queues are the queues to work on, each with its own concurrency, of at most
	// 1,000,000; a value of 0 is Concurrency. Nil: the queues of the definitions that have handlers.
	Queues map[string]int
	// Timeout bounds the runs of jobs that have no [Timeout] of their own. 0 is none.
	Timeout time.Duration
	// Backoff is for jobs that have none of their own. The zero value is
	// Exponential(1s).Cap(1h).Jitter(0.2).
	Backoff BackoffPolicy
	// ShutdownGrace is how long handlers may go on after the worker was told to stop,
	// before their contexts end. 0 is 25 s: the rest of a stop takes up to 4 s more,
	// which fits the 30 s that orchestrators give.
	ShutdownGrace time.Duration
	// LockDuration is how long a job stays with a worker that does not renew its lock,
	// that is, how soon a dead worker's jobs run elsewhere. It is renewed at half of
	// it. 0 is 30 s; at least 100 ms.
	LockDuration time.Duration
	// MaxStalled is how often a job may lose its worker and run again, before it
	// fails. 0 is 3. See FailStalled.
	MaxStalled int
	// FailStalled fails a job as soon as it loses its worker.
	FailStalled bool
	// SweepInterval is how often the worker looks for jobs whose worker was lost, and
	// for flows that a crash left half-way. 0 is 30 s; at least 100 ms.
	SweepInterval time.Duration
	// OnFailure is called after every failed attempt, on the goroutine that ran it. It
	// is also called, by whichever worker finds it, of a job that failed because it
	// lost its worker too often: then Err is ErrStalled. A panic in it is logged.
	OnFailure func(ctx context.Context, failure Failure)
	// Middleware wraps every handler, the first one outermost.
	Middleware []Middleware
	// PresenceInterval is how often the worker tells its stores that it is alive, for
	// [Client.Workers] and [Client.Why]; it counts as gone after three of them, or when
	// it stops. 0 is 10 s; at least 100 ms.
	PresenceInterval time.Duration
	// Version is shown in the list of workers. Empty: that of the program's main module,
	// as the build knows it.
	Version string
	// ID names the worker in jobs and ledgers. Empty: host, process and a random
	// part. It must be unique among the workers of a store.
	ID string
	// Logger is where the worker logs. Nil: the client's.
	Logger *slog.Logger
}

// Middleware wraps the run of a handler: it calls next, and returns its error, or
// another. [Current] tells the job.
type Middleware func(ctx context.Context, next func(context.Context) error) error

// Failure is one failed attempt.
type Failure struct {
	// Job is the job as it was claimed; a stalled one as it is now, of which only the
	// id is known if it was not kept.
	Job *JobInfo
	Err error // of the handler, or what stands for it: a panic, a timeout
	// WillRetry tells whether the job gets another attempt, RetryIn how soon.
	WillRetry bool
	RetryIn   time.Duration
}

const (
	defaultConcurrency = 10
	mostConcurrency    = 1_000_000
	defaultGrace       = 25 * time.Second
	defaultLock        = 30 * time.Second
	shortestLock       = 100 * time.Millisecond
	defaultSweep       = 30 * time.Second
	shortestSweep      = 100 * time.Millisecond
	defaultMaxStalled  = 3
	defaultPresence    = 10 * time.Second
	shortestPresence   = 100 * time.Millisecond
)

func (o WorkerOptions) withDefaults(client *Client) WorkerOptions {
	o.Queues = maps.Clone(o.Queues)
	o.Middleware = slices.Clone(o.Middleware)
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Backoff == (BackoffPolicy{}) {
		o.Backoff = defaultBackoff()
	}
	if o.ShutdownGrace == 0 {
		o.ShutdownGrace = defaultGrace
	}
	if o.LockDuration == 0 {
		o.LockDuration = defaultLock
	}
	if o.SweepInterval == 0 {
		o.SweepInterval = defaultSweep
	}
	if o.MaxStalled == 0 && !o.FailStalled {
		o.MaxStalled = defaultMaxStalled
	}
	if o.PresenceInterval == 0 {
		o.PresenceInterval = defaultPresence
	}
	if o.Version == "" {
		o.Version = buildVersion()
	}
	if o.ID == "" {
		o.ID = engine.NewWorkerID()
	}
	return o
}

func (o WorkerOptions) validate() error {
	refuse := func(field, value, reason string) error {
		return &driver.InvalidError{Field: "WorkerOptions." + field, Value: value, Reason: reason}
	}
	switch {
	case o.Concurrency < 1:
		return refuse("Concurrency", strconv.Itoa(o.Concurrency), "use 1 or more, or 0 for 10")
	case o.Concurrency > mostConcurrency:
		return refuse("Concurrency", strconv.Itoa(o.Concurrency), "use at most "+strconv.Itoa(mostConcurrency))
	case o.Queues != nil && len(o.Queues) == 0:
		return refuse("Queues", "", "is empty; name the queues to work on, or leave it nil for those of the definitions")
	case o.Timeout < 0:
		return refuse("Timeout", o.Timeout.String(), "use a positive duration, or 0 for none")
	case o.ShutdownGrace < 0:
		return refuse("ShutdownGrace", o.ShutdownGrace.String(), "use a positive duration, or 0 for 25s")
	case o.LockDuration < shortestLock:
		return refuse("LockDuration", o.LockDuration.String(), "use at least 100ms, or 0 for 30s")
	case o.SweepInterval < shortestSweep:
		return refuse("SweepInterval", o.SweepInterval.String(), "use at least 100ms, or 0 for 30s")
	case o.PresenceInterval < shortestPresence:
		return refuse("PresenceInterval", o.PresenceInterval.String(), "use at least 100ms, or 0 for 10s")
	case len(o.Version) > driver.MaxKeyBytes || !utf8.ValidString(o.Version):
		return refuse("Version", o.Version, "use at most 255 bytes of UTF-8, or leave it empty for that of the build")
	case o.MaxStalled < 0 || o.MaxStalled > math.MaxInt32:
		return refuse("MaxStalled", strconv.Itoa(o.MaxStalled), "use 1 or more, or 0 for 3; FailStalled allows none")
	case o.FailStalled && o.MaxStalled > 0:
		return refuse("MaxStalled", strconv.Itoa(o.MaxStalled), "contradicts FailStalled; set one of them")
	}
	for i, middleware := range o.Middleware {
		if middleware == nil {
			return refuse("Middleware["+strconv.Itoa(i)+"]", "", "is nil; give it a function, or leave it out")
		}
	}
	for queue, slots := range o.Queues {
		if err := driver.CheckText("WorkerOptions.Queues", queue, driver.MaxNameBytes); err != nil {
			return err
		}
		if slots < 0 {
			return refuse("Queues["+queue+"]", strconv.Itoa(slots), "use 1 or more, or 0 for Concurrency")
		}
		if slots > mostConcurrency {
			return refuse("Queues["+queue+"]", strconv.Itoa(slots), "use at most "+strconv.Itoa(mostConcurrency))
		}
	}
	if err := driver.CheckText("WorkerOptions.ID", o.ID, driver.MaxKeyBytes); err != nil {
		return err
	}
	return o.Backoff.validate()
}

// through runs a handler inside the middleware.
func (o *WorkerOptions) through(ctx context.Context, handler func(context.Context) error) error {
	for _, middleware := range slices.Backward(o.Middleware) {
		next := handler
		handler = func(ctx context.Context) error { return middleware(ctx, next) }
	}
	return handler(ctx)
}

// build makes what runs for one store.
func (o *WorkerOptions) build(ctx context.Context, client *Client, h *storeHandlers, flows *flowUpkeep) (storeWorker, error) {
	logger := o.logger(client, h.store.name)
	o.warn(h, logger)
	// A span lasts for as long as the program would hold all of its runs.
	base := context.WithoutCancel(trace.ContextWithSpanContext(ctx, trace.SpanContext{}))
	backoff := o.Backoff.policy
	config := engine.Config{
		Store: h.store.driver, StoreName: h.store.name, Clock: h.store.clock, WorkerID: o.ID,
		Queues: o.queues(h), Handlers: h.handlers, PresenceInterval: o.PresenceInterval, Version: o.Version,
		LockDuration: o.LockDuration, Grace: o.ShutdownGrace, CallTimeout: callTimeout,
		Timeout: o.Timeout, Backoff: &backoff, Logger: logger, BaseContext: base,
		ChildEnded: func(parentStore string) { flows.pulseRelay(h.store.name, parentStore) },
	}
	if hook := o.OnFailure; hook != nil {
		config.OnFailure = func(ctx context.Context, f engine.Failure) {
			hook(ctx, Failure{Job: newJobInfo(f.Job), Err: f.Err, WillRetry: f.WillRetry, RetryIn: f.RetryIn})
		}
	}
	upkeep := maintain.Config{
		Store: h.store.driver, StoreName: h.store.name, Now: h.store.clock.Now,
		Logger: logger, MaxStalled: int32(o.MaxStalled), CallTimeout: callTimeout,
		Intervals: maintain.Intervals{Stalls: o.SweepInterval, Flows: o.SweepInterval},
		OnRecovered: func(jobs []driver.Recovered) {
			flows.pulseFrom(h.store.name)
			o.tellStalled(base, h.store, logger, jobs)
		},
	}
	if observer := client.shared.metrics.observer(h.store.name); observer != nil {
		config.Observer, upkeep.Observer = observer, observer
	}
	e, err := engine.New(config)
	if err != nil {
		return storeWorker{}, err
	}
	return storeWorker{store: h.store, engine: e, upkeep: maintain.New(upkeep)}, nil
}

// warn logs which handlers wait for jobs that will not come.
func (o *WorkerOptions) warn(h *storeHandlers, logger *slog.Logger) {
	for _, name := range slices.Sorted(maps.Keys(h.queues)) {
		if _, worked := o.Queues[h.queues[name]]; !worked && o.Queues != nil {
			logger.Warn("braid: the queue of a handler is not in WorkerOptions.Queues; only its jobs of the queues there run on this worker",
				"job", name, "queue", h.queues[name])
		}
	}
}

// queues returns the queues to work on for one store, with their slots.
func (o *WorkerOptions) queues(h *storeHandlers) []engine.Queue {
	var queues []engine.Queue
	if o.Queues == nil {
		for _, name := range slices.Compact(slices.Sorted(maps.Values(h.queues))) {
			queues = append(queues, engine.Queue{Name: name, Slots: o.Concurrency})
		}
		return queues
	}
	for _, name := range slices.Sorted(maps.Keys(o.Queues)) {
		slots := o.Queues[name]
		if slots == 0 {
			slots = o.Concurrency
		}
		queues = append(queues, engine.Queue{Name: name, Slots: slots})
	}
	return queues
}

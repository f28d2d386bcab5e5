package braid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
	"github.com/braidmq/braid/internal/maintain"
)

// Worker runs the handlers of the jobs that were registered with [Job.Handle]. It
// also does the housekeeping of the stores that it works on: schedules, lost
// workers, retention. Register first, then Run, once.
type Worker struct {
	client   *Client
	options  WorkerOptions
	handlers map[string]*storeHandlers // by store name
	flows    []*flowDefinition         // to look after
	err      []error                   // problems in options and registrations

	mu       sync.Mutex
	started  bool
	stopping chan struct{} // closed by Stop
	stopOnce sync.Once
	done     chan struct{} // closed when Run has returned
	parts    []storeWorker // while it runs
	upkeep   *flowUpkeep   // while it runs
}

// storeHandlers are the registrations for one store.
type storeHandlers struct {
	store    *boundStore
	handlers map[string]engine.Handler
	queues   map[string]string // of the definitions, by job name
}

// storeWorker is what runs for one store.
type storeWorker struct {
	store  *boundStore
	engine *engine.Engine
	upkeep *maintain.Maintainer
}

// NewWorker returns a worker on a client's stores. Problems in the options are
// returned by Run.
func NewWorker(client *Client, options WorkerOptions) *Worker {
	w := &Worker{
		client: client, handlers: make(map[string]*storeHandlers),
		stopping: make(chan struct{}), done: make(chan struct{}),
	}
	if err := client.made(); err != nil {
		w.client = nil
		w.refuse(err)
		return w
	}
	w.refuse(client.shared.err)
	w.options = options.withDefaults(client)
	w.refuse(w.options.validate())
	return w
}

func (w *Worker) refuse(err error) {
	if err != nil && w.made() {
		w.err = append(w.err, err)
	}
}

// Handle registers the function that runs the jobs of this definition. The context
// ends with a cause (context.Cause) when the run shall: a [*TimeoutError],
// ErrCancelRequested, ErrLockLost or ErrShutdown. An error, a panic and a timeout
// are failed attempts; see [Unrecoverable], [Snooze] and [Job.RetryIf]. Problems,
// such as a second handler, are returned by [Worker.Run].
func (j *Job[P, R]) Handle(w *Worker, handler func(ctx context.Context, payload P) (R, error)) {
	if handler == nil {
		w.refuse(&driver.InvalidError{Field: "handler", Value: j.Name(), Reason: "is nil; give it a function"})
		return
	}
	run := func(ctx context.Context, run *engine.Run) ([]byte, error) {
		if run.Job.Flow != nil {
			return nil, strayParent(run)
		}
		payload, err := decode[P](run.Job.Payload)
		if err != nil {
			return nil, fmt.Errorf("braid: payload of job %q: %w", run.Job.ID, err)
		}
		var result R
		err = w.observe(ctx, run, func(ctx context.Context) (err error) {
			result, err = handler(ctx, payload)
			return err
		})
		if err != nil {
			return nil, err
		}
		encoded, err := encode(result)
		return w.checkResult(encoded, err)
	}
	handle := engine.Handler{Run: run}
	if j != nil {
		handle.Retryable = j.retryIf
	}
	w.register(j.definition(), handle)
}

// observe runs a handler inside its span and the middleware.
func (w *Worker) observe(ctx context.Context, run *engine.Run, handler func(context.Context) error) error {
	return w.client.shared.tracing.run(ctx, run.Job, run.Attempt, func(ctx context.Context) error {
		return w.options.through(ctx, handler)
	})
}

// checkResult marks what is wrong with a result, for which the job must not run
// again.
func (w *Worker) checkResult(exit []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, &engine.EncodeError{Err: err}
	}
	if limit := w.client.shared.maxPayload; len(exit) > limit {
		return nil, &engine.EncodeError{Err: fmt.Errorf("it is %d bytes long; the limit is %d (see braid.WithMaxPayload)", len(exit), limit)}
	}
	return exit, nil
}

// register files a handler under the definition's store.
func (w *Worker) register(s *settings, handler engine.Handler) {
	if !w.made() || w.client == nil {
		return
	}
	if s.err != nil {
		w.refuse(s.err)
		return
	}
	name := s.spec.Name
	client := w.client.forDefinition(s.store)
	if err := client.ready(); err != nil {
		w.refuse(fmt.Errorf("braid: handler of job %q: %w", name, err))
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		w.client.shared.logger.Error("braid: a handler was registered after the worker was started; it is ignored", "job", name)
		return
	}
	h := w.handlers[client.store.name]
	if h == nil {
		h = &storeHandlers{store: client.store, handlers: make(map[string]engine.Handler), queues: make(map[string]string)}
		w.handlers[client.store.name] = h
	}
	if _, taken := h.handlers[name]; taken {
		w.refuse(&driver.InvalidError{Field: "handler", Value: name, Reason: "is registered twice; every job name has one handler"})
		return
	}
	h.handlers[name] = handler
	h.queues[name] = s.spec.Queue
}

// Run works until ctx ends or Stop is called. Then it takes no more jobs, gives
// running handlers the grace period, ends their contexts, and returns. A handler
// that ends with an error because of that gives its job back, without using an
// attempt. Run returns nil after a stop, the problems in options and
// registrations before anything has started, or an error that names the handlers
// that did not end, an [*AbandonedError]. The contexts of handlers and hooks have
// the values of ctx, but not its end, nor its span.
func (w *Worker) Run(ctx context.Context) error {
	if !w.made() {
		return &driver.InvalidError{Field: "worker", Reason: "is nil or empty; make one with braid.NewWorker"}
	}
	w.mu.Lock()
	if w.started {
		w.mu.Unlock()
		return ErrWorkerRunning
	}
	w.started = true
	err := w.assemble(ctx)
	w.mu.Unlock()
	defer close(w.done)
	if err != nil {
		return err
	}

	for _, part := range w.parts {
		stop, err := w.client.shared.metrics.observeWorker(part)
		if err != nil {
			return err
		}
		defer stop()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-w.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	w.client.shared.addPulse(w.upkeep)
	defer w.client.shared.removePulse(w.upkeep)
	var running sync.WaitGroup
	running.Go(func() { w.upkeep.Run(ctx) })
	errs := make([]error, len(w.parts))
	for i, part := range w.parts {
		running.Go(func() { errs[i] = part.engine.Run(ctx) })
		running.Go(func() { part.upkeep.Run(ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// Stop ends Run and waits until it has returned, or ctx ends. It may be called
// several times, from anywhere but a handler; before Run it keeps Run from working.
func (w *Worker) Stop(ctx context.Context) error {
	if !w.made() {
		return nil
	}
	w.stopOnce.Do(func() { close(w.stopping) })
	w.mu.Lock()
	started := w.started
	w.mu.Unlock()
	if !started {
		return nil
	}
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// made reports whether the worker comes from NewWorker.
func (w *Worker) made() bool { return w != nil && w.stopping != nil }

// assemble checks the registrations and builds what runs.
func (w *Worker) assemble(ctx context.Context) error {
	if len(w.err) == 0 && len(w.handlers) == 0 {
		w.refuse(&driver.InvalidError{Field: "worker", Reason: "has no handlers; register them with Job.Handle before Run"})
	}
	if len(w.err) > 0 {
		return errors.Join(w.err...)
	}
	w.upkeep = newFlowUpkeep(w)
	for _, h := range w.handlers {
		part, err := w.options.build(ctx, w.client, h, w.upkeep)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, part)
	}
	return nil
}

// logger is where a worker's log lines go.
func (o WorkerOptions) logger(client *Client, store string) *slog.Logger {
	logger := o.Logger
	if logger == nil {
		logger = client.shared.logger
	}
	if store != DefaultStore {
		logger = logger.With("store", store)
	}
	return logger
}

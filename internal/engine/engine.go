package engine

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid/driver"
)

// Engine works on one store's queues. Make it with New; Run it once.
type Engine struct {
	config   Config
	names    []string // of the handlers, sorted
	byName   map[string]*Handler
	queues   []*queue
	registry registry
	acker    *acker
	cancels  *cancels

	loops         []*loop // fixed once New has returned
	heartbeatLoop *loop
	cancelLoop    *loop
	stuckLoop     *loop
	presenceLoop  *loop
	beatSignal    chan struct{} // buffered

	stuckMu sync.Mutex // held while stuck handlers are looked for

	tokenPrefix string
	tokens      atomic.Uint64
	started     atomic.Bool
	alive       atomic.Bool
	listed      atomic.Bool  // the store has heard of the worker
	lastCall    atomic.Int64 // when claims of unknown outcome are given up, Unix nanoseconds; 0: not stopping

	// hard outlives the end of Run's context: results are stored after it.
	hard         context.Context
	endHard      context.CancelFunc
	afterContext context.Context
	endAfter     context.CancelFunc
	aftermath    sync.WaitGroup
}

// New returns an engine, or an [*driver.InvalidError] about its config.
func New(config Config) (*Engine, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		config: config, names: slices.Sorted(maps.Keys(config.Handlers)),
		byName: make(map[string]*Handler, len(config.Handlers)), cancels: newCancels(),
		beatSignal: make(chan struct{}, 1), tokenPrefix: randomHex(8) + "-",
	}
	for name, handler := range config.Handlers {
		e.byName[name] = &handler
	}
	e.acker = newAcker(e)
	e.heartbeatLoop = e.newLoop("heartbeat", config.LockDuration/2)
	e.cancelLoop = e.newLoop("cancel requests", config.CallTimeout)
	e.stuckLoop = e.newLoop("stuck handlers", time.Second)
	e.presenceLoop = e.newLoop("presence", config.PresenceInterval)
	e.cancelLoop.rest()
	for _, q := range config.Queues {
		e.queues = append(e.queues, newQueue(e, q))
	}
	return e, nil
}

// Run works until ctx ends, then shuts down: it claims nothing more, gives back
// what has not started, lets handlers finish for the grace period, cancels their
// contexts, and stores what they return. It returns after everything it started
// has ended: nil, or an [*AbandonedError] if handlers ignore their context, or
// ErrStarted at the second call.
func (e *Engine) Run(ctx context.Context) error {
	if e.started.Swap(true) {
		return ErrStarted
	}
	e.hard, e.endHard = context.WithCancel(context.WithoutCancel(ctx))
	defer e.endHard()
	e.afterContext, e.endAfter = context.WithCancel(e.config.BaseContext)
	defer e.endAfter()
	if ctx.Err() != nil {
		return nil
	}
	for _, l := range e.loops {
		l.begin()
	}
	e.alive.Store(true)
	defer e.alive.Store(false)

	var background, fetchers sync.WaitGroup
	delivered := make(chan struct{})
	background.Go(func() {
		defer close(delivered)
		e.acker.loop.run(e.hard, func() { e.acker.deliver(e.hard) })
	})
	background.Go(func() { e.heartbeatLoop.run(e.hard, func() { e.heartbeat(e.hard) }) })
	background.Go(func() { e.presenceLoop.run(e.hard, func() { e.announce(e.hard) }) })
	background.Go(func() { e.stuckLoop.run(e.hard, func() { e.watchStuck(e.hard) }) })
	if watcher, ok := e.config.Store.(driver.CancelWatcher); ok {
		background.Go(func() { e.cancelLoop.run(e.hard, func() { e.watchCancels(e.hard, watcher) }) })
		background.Go(func() { e.handOutCancels(e.hard) })
	}
	if len(e.names) > 0 {
		for _, q := range e.queues {
			fetchers.Go(func() { q.loop.run(ctx, func() { q.fetch(ctx) }) })
		}
	} else {
		for _, q := range e.queues {
			q.loop.rest()
		}
	}
	<-ctx.Done()
	abandoned := e.shutDown(&fetchers, delivered)
	background.Wait()
	e.unlist(ctx)
	if len(abandoned) > 0 {
		return &AbandonedError{Runs: abandoned}
	}
	return nil
}

// newRun prepares the run of a claimed job.
func (e *Engine) newRun(q *queue, job *driver.Job, token string) *run {
	r := &run{
		Run: Run{
			Job: job, Token: token, Attempt: int(job.AttemptsMade) + 1,
			Worker: e.config.WorkerID, Store: e.config.StoreName, Log: e.config.Logger,
		},
		queue: q, handler: e.byName[job.Name], observed: e.config.Observer != nil,
	}
	r.ctx.run = r
	if r.handler == nil {
		r.handler = &unknownHandler
	}
	r.timeout = e.timeoutOf(job, r.handler)
	return r
}

// unknownHandler stands in for the handler of a job that no claim should have
// brought; the job is left for a worker that knows it.
var unknownHandler = Handler{Run: func(_ context.Context, run *Run) ([]byte, error) {
	run.Logger().Error("braid: the store gave out a job that this worker has no handler for")
	return nil, Snooze(30 * time.Second)
}}

// newToken returns a lock token that nobody else has, nor can guess.
func (e *Engine) newToken() string {
	return e.tokenPrefix + strconv.FormatUint(e.tokens.Add(1), 36)
}

package maintain

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Runner runs loops side by side. Its methods may be called from any goroutine.
// Use NewRunner.
type Runner struct {
	logger    *slog.Logger
	onFailure func(loop string, err error)
	wall      func() time.Time // the wall clock, without a monotonic reading
	loops     []*loopState
	began     sync.Once
	started   atomic.Bool // the loops' good instants are set
}

// LoopHealth is how a loop gets on.
type LoopHealth struct {
	Name      string
	Interval  time.Duration
	LastStart time.Time // zero: never started
	LastOK    time.Time // the end of the last run without error; zero: none yet
	LastErr   error     // of the last run that ended; nil if that was good
	// Overdue: there was no good run for three intervals, be it that runs fail, that
	// one is stuck in a call, or that the machine slept and none came since. It is
	// false before Run.
	Overdue bool
}

// NewRunner returns a runner of loops. A nil logger is [slog.Default]. onFailure,
// if not nil, is told of every failed run, on the loop's goroutine.
func NewRunner(loops []Loop, logger *slog.Logger, onFailure func(loop string, err error)) *Runner {
	if logger == nil {
		logger = slog.Default()
	}
	r := &Runner{logger: logger, onFailure: onFailure, wall: func() time.Time { return time.Now().Round(0) }}
	for _, l := range loops {
		r.loops = append(r.loops, &loopState{Loop: l, pulse: make(chan struct{}, 1)})
	}
	return r
}

// Run runs the loops until ctx ends, and returns when the last of them has.
// It runs them once: a second call only waits for the first to return.
func (r *Runner) Run(ctx context.Context) {
	r.began.Do(func() {
		begin := r.instant()
		for _, l := range r.loops {
			l.good = begin
		}
		r.started.Store(true)
		var running sync.WaitGroup
		for _, l := range r.loops {
			running.Go(func() { r.run(ctx, l) })
		}
		running.Go(func() { r.watchClock(ctx) })
		running.Wait()
	})
}

// Pulse makes a loop run soon: at once, or after the run or the backoff that it is
// in. Pulses that wait for the same run are one. An unknown name does nothing.
func (r *Runner) Pulse(name string) {
	for _, l := range r.loops {
		if l.Name == name {
			l.signal()
		}
	}
}

// Health returns how each loop gets on, in the order in which they were given.
func (r *Runner) Health() []LoopHealth {
	health := make([]LoopHealth, len(r.loops))
	for i, l := range r.loops {
		l.mu.Lock()
		health[i] = LoopHealth{
			Name: l.Name, Interval: l.Interval,
			LastStart: l.lastStart, LastOK: l.lastOK, LastErr: l.lastErr,
			Overdue: r.started.Load() && r.since(l.good) > overdueAfter*l.Interval,
		}
		l.mu.Unlock()
	}
	return health
}

func (l *loopState) signal() {
	select {
	case l.pulse <- struct{}{}:
	default:
	}
}

const (
	// clockEvery is how often the two clocks are compared.
	clockEvery = time.Second
	// clockDrift is by how much they must differ to tell of a sleep, or of a clock
	// that was set.
	clockDrift = time.Second
)

// watchClock pulses every loop when the wall clock has moved and the monotonic one
// has not: the machine slept, and timers slept with it.
func (r *Runner) watchClock(ctx context.Context) {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	for last := r.instant(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := r.instant()
		drift := now.wall.Sub(last.wall) - now.mono.Sub(last.mono)
		last = now
		if drift.Abs() <= clockDrift {
			continue
		}
		r.logger.Info("the clock jumped; upkeep runs now", slog.Duration("by", drift))
		for _, l := range r.loops {
			l.signal()
		}
	}
}

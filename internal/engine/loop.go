package engine

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// logEvery is how often one loop repeats that the store fails.
const logEvery = 30 * time.Second

// loop is how one of the engine's loops is doing: it spaces out calls to a store
// that fails, keeps the log short meanwhile, and answers for its health.
type loop struct {
	name     string
	interval time.Duration // how often it should succeed
	logger   *slog.Logger

	mu       sync.Mutex
	last     time.Time // of the latest success
	resting  bool      // has nothing to do
	failures int       // in a row
	since    time.Time // of the first of them
	err      error     // the latest of them
	logged   time.Time // when a failure was last logged
	told     bool      // the log's last word is that it fails
}

func (e *Engine) newLoop(name string, interval time.Duration) *loop {
	l := &loop{name: name, interval: interval, logger: e.config.Logger, last: time.Now()}
	e.loops = append(e.loops, l)
	return l
}

// begin starts the clock of a loop that has not run yet.
func (l *loop) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
}

// ok notes a success.
func (l *loop) ok() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.resting = time.Now(), false
	if l.failures == 0 {
		return
	}
	if l.told {
		l.logger.Info("braid: the store is back", "loop", l.name, "failures", l.failures,
			"after", l.last.Sub(l.since).Round(time.Millisecond))
	}
	l.failures, l.err, l.told = 0, nil, false
}

// rest notes that there is nothing to do for now, which is healthy.
func (l *loop) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resting = l.failures == 0
}

// fail notes a failure and returns how long to wait before the next call.
func (l *loop) fail(err error) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.failures++
	l.err, l.resting = err, false
	if l.failures == 1 {
		l.since = now
	}
	if l.logged.IsZero() || now.Sub(l.logged) >= logEvery {
		l.logged, l.told = now, true
		l.logger.Warn("braid: calls to the store fail; trying again", "loop", l.name,
			"error", logText(err), "failures", l.failures, "since", l.since)
	}
	return outageWait(l.failures)
}

func (l *loop) health(now time.Time) LoopHealth {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := LoopHealth{Name: l.name, Last: l.last, Interval: l.interval, Failures: l.failures}
	h.OK = l.resting || now.Sub(l.last) <= 3*l.interval
	if l.err != nil {
		h.Err = errorText(l.err)
	}
	return h
}

// run runs body until it returns, again after a panic.
func (l *loop) run(ctx context.Context, body func()) {
	for ctx.Err() == nil {
		ended := func() (ended bool) {
			defer func() {
				if v := recover(); v != nil {
					pause(ctx, l.fail(&PanicError{Value: v, Stack: debug.Stack()}))
				}
			}()
			body()
			return true
		}()
		if ended {
			return
		}
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

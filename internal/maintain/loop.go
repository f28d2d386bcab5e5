package maintain

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Loop is a recurring piece of upkeep.
type Loop struct {
	Name string // unique among the loops of a Runner
	// Interval is the longest wait between two runs; each wait is up to a tenth
	// shorter. It is positive.
	Interval time.Duration
	// Run does the work once. It returns soon after its context ends. It is never
	// called by two goroutines at once.
	Run func(ctx context.Context) error
}

const (
	// firstBackoff and longestBackoff bound the wait after a failed run, so that an
	// outage costs little, and ends for every loop soon after it ended for the store.
	firstBackoff   = 250 * time.Millisecond
	longestBackoff = 5 * time.Second

	// logEvery is how often a loop that goes on failing says so.
	logEvery = 30 * time.Second

	// overdueAfter is how many intervals may pass without a good run.
	overdueAfter = 3
)

// loopState is a loop with what its runs left behind.
type loopState struct {
	Loop
	pulse chan struct{} // holds at most one pulse

	// Of the loop's own goroutine.
	failures     int // in a row
	failingSince time.Time
	loggedAt     time.Time

	mu        sync.Mutex // guards what follows
	lastStart time.Time
	lastOK    time.Time
	lastErr   error
	good      instant // when the last good run ended, or else when the loop began
}

// instant is one moment on both clocks: the monotonic one, which may stand still
// while the machine sleeps, and the wall clock.
type instant struct {
	mono time.Time
	wall time.Time
}

// since is how long ago the instant was by the clock that says longer.
func (r *Runner) since(i instant) time.Duration {
	return max(time.Since(i.mono), r.wall().Sub(i.wall))
}

func (r *Runner) instant() instant { return instant{mono: time.Now(), wall: r.wall()} }

// run runs one loop until ctx ends.
func (r *Runner) run(ctx context.Context, l *loopState) {
	// Processes that start together begin their sweeps at different times.
	timer := time.NewTimer(time.Duration(rand.Float64() * float64(l.Interval) / 10))
	defer timer.Stop()
	for {
		pulse := l.pulse
		if l.failures > 0 {
			pulse = nil // a pulse does not cut a backoff short
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-pulse:
		}
		select { // the run that begins now serves every pulse until here
		case <-l.pulse:
		default:
		}
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		l.lastStart = time.Now()
		l.mu.Unlock()
		err := runOnce(ctx, l.Loop)
		if ctx.Err() != nil {
			return
		}
		timer.Reset(r.settle(l, err))
	}
}

// runOnce turns a panic of the loop into an error.
func runOnce(ctx context.Context, l Loop) (err error) {
	defer func() {
		if p := recover(); p != nil {
			text := strings.ToValidUTF8(fmt.Sprint(p), "\uFFFD")
			err = fmt.Errorf("braid: panic in the %s loop: %s\n%s", l.Name, text, debug.Stack())
		}
	}()
	return l.Run(ctx)
}

// settle records how a run ended and returns how long to wait for the next.
func (r *Runner) settle(l *loopState, err error) time.Duration {
	l.mu.Lock()
	l.lastErr = err
	if err == nil {
		l.good = r.instant()
		l.lastOK = l.good.mono
	}
	l.mu.Unlock()

	if err == nil {
		if l.failures > 0 {
			r.logger.Info("upkeep works again", slog.String("loop", l.Name),
				slog.Int("failures", l.failures), slog.Duration("after", time.Since(l.failingSince)))
			l.failures = 0
		}
		return jitter(l.Interval, 0.1)
	}
	l.failures++
	if r.onFailure != nil {
		r.onFailure(l.Name, err)
	}
	if l.failures == 1 {
		l.failingSince = time.Now()
	}
	if l.failures == 1 || time.Since(l.loggedAt) >= logEvery {
		l.loggedAt = time.Now()
		r.logger.Error("upkeep failed; it is tried again", slog.String("loop", l.Name),
			slog.Int("failures", l.failures), slog.Any("error", err))
	}
	return jitter(min(firstBackoff<<min(l.failures-1, 16), longestBackoff), 0.5)
}

// jitter returns a random part of d, at least (1 − share) of it.
func jitter(d time.Duration, share float64) time.Duration {
	return d - time.Duration(rand.Float64()*share*float64(d))
}

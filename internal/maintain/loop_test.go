package maintain

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoopRunsOncePerIntervalWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs []time.Time
		r := NewRunner([]Loop{{Name: "a", Interval: 10 * time.Second, Run: func(context.Context) error {
			runs = append(runs, time.Now())
			return nil
		}}}, (&logBook{}).logger(), nil)
		began := time.Now()
		stop := start(t, r.Run)
		pass(10 * time.Minute)
		stop()
		if first := runs[0].Sub(began); first > time.Second {
			t.Errorf("the first run came after %v, want at most a tenth of the interval", first)
		}
		distinct := map[time.Duration]bool{}
		for i := range runs[1:] {
			wait := runs[i+1].Sub(runs[i])
			if wait < 9*time.Second || wait > 10*time.Second {
				t.Errorf("a wait of %v, want 9 to 10 s", wait)
			}
			distinct[wait] = true
		}
		if len(runs) < 60 || len(distinct) < 10 {
			t.Errorf("%d runs with %d different waits", len(runs), len(distinct))
		}
	})
}

func TestPulseRunsALoopSoonAndOnlyThatOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b atomic.Int32
		r := NewRunner([]Loop{
			{Name: "a", Interval: time.Hour, Run: func(context.Context) error { a.Add(1); return nil }},
			{Name: "b", Interval: time.Hour, Run: func(context.Context) error { b.Add(1); return nil }},
		}, nil, nil)
		start(t, r.Run)
		pass(7 * time.Minute)
		for range 3 {
			r.Pulse("a")
		}
		r.Pulse("unknown")
		pass(time.Millisecond)
		if a.Load() != 2 || b.Load() != 1 {
			t.Errorf("after a pulse: a ran %d times, b %d; want 2 and 1", a.Load(), b.Load())
		}
	})
}

func TestPulseDuringARunLeadsToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		release := make(chan struct{})
		r := NewRunner([]Loop{{Name: "a", Interval: time.Hour, Run: func(context.Context) error {
			runs.Add(1)
			<-release
			return nil
		}}}, nil, nil)
		stop := start(t, r.Run)
		pass(7 * time.Minute)
		r.Pulse("a")
		r.Pulse("a")
		release <- struct{}{}
		synctest.Wait()
		if runs.Load() != 2 {
			t.Errorf("%d runs, want 2", runs.Load())
		}
		close(release)
		synctest.Wait()
		if runs.Load() != 2 {
			t.Errorf("%d runs after two pulses for one run, want 2", runs.Load())
		}
		stop()
	})
}

func TestLoopSurvivesErrorsAndPanicsAtLowCost(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("the server is away") },
		"panic": func() error { panic("the server is away") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs, observed atomic.Int32
				var broken atomic.Bool
				broken.Store(true)
				book := &logBook{}
				r := NewRunner([]Loop{{Name: "a", Interval: 750 * time.Millisecond, Run: func(context.Context) error {
					runs.Add(1)
					if broken.Load() {
						return fail()
					}
					return nil
				}}}, book.logger(), func(loop string, err error) {
					if loop == "a" && strings.Contains(err.Error(), "the server is away") {
						observed.Add(1)
					}
				})
				start(t, r.Run)
				for range 60 {
					r.Pulse("a") // must not turn the backoff into a busy loop
					pass(time.Second)
				}
				if n := runs.Load(); n < 12 || n > 35 || observed.Load() != n {
					t.Errorf("%d runs and %d observed failures in a minute of outage", n, observed.Load())
				}
				if n := book.count("upkeep failed"); n < 2 || n > 3 {
					t.Errorf("%d log lines in a minute of outage:\n%s", n, book)
				}
				if h := r.Health()[0]; !h.Overdue || h.LastErr == nil || !h.LastOK.IsZero() || h.LastStart.IsZero() {
					t.Errorf("health during the outage: %+v", h)
				}
				broken.Store(false)
				before := runs.Load()
				pass(longestBackoff + 2*time.Second)
				if n := runs.Load() - before; n < 2 {
					t.Errorf("%d runs after the outage, want the usual rhythm", n)
				}
				if n := book.count("upkeep works again"); n != 1 {
					t.Errorf("%d lines tell of the recovery:\n%s", n, book)
				}
				if h := r.Health()[0]; h.Overdue || h.LastErr != nil || h.LastOK.IsZero() {
					t.Errorf("health after the outage: %+v", h)
				}
			})
		})
	}
}

func TestAPanicTellsWhere(t *testing.T) {
	err := runOnce(context.Background(), Loop{Name: "a", Run: func(context.Context) error { panic("bad \xff") }})
	if err == nil || !strings.Contains(err.Error(), "loop_test.go") || !strings.Contains(err.Error(), "bad \uFFFD") {
		t.Errorf("got %v", err)
	}
}

func TestHealthTurnsRedWhileALoopIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stuck atomic.Bool
		release := make(chan struct{})
		r := NewRunner([]Loop{
			{Name: "stuck", Interval: 10 * time.Second, Run: func(context.Context) error {
				if stuck.Load() {
					<-release
				}
				return nil
			}},
			{Name: "fine", Interval: 10 * time.Second, Run: func(context.Context) error { return nil }},
		}, nil, nil)
		if h := r.Health(); h[0].Overdue || h[1].Overdue {
			t.Error("overdue before Run")
		}
		stop := start(t, r.Run)
		pass(time.Minute)
		if h := r.Health(); h[0].Overdue || h[1].Overdue {
			t.Errorf("overdue while all is well: %+v", h)
		}
		stuck.Store(true)
		pass(45 * time.Second)
		if h := r.Health(); !h[0].Overdue || h[1].Overdue {
			t.Errorf("one loop is stuck: %+v", h)
		}
		stuck.Store(false)
		release <- struct{}{}
		synctest.Wait()
		if h := r.Health(); h[0].Overdue || h[0].LastErr != nil {
			t.Errorf("the loop goes on: %+v", h)
		}
		stop()
	})
}

func TestLoopsTickSoonAfterTheMachineSlept(t *testing.T) {
	for _, slept := range []time.Duration{8 * time.Hour, -8 * time.Hour} {
		t.Run(slept.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a, b atomic.Int32
				var stuck atomic.Bool
				release := make(chan struct{})
				book := &logBook{}
				r := NewRunner([]Loop{
					{Name: "a", Interval: time.Hour, Run: func(context.Context) error { a.Add(1); return nil }},
					{Name: "b", Interval: time.Hour, Run: func(context.Context) error {
						b.Add(1)
						if stuck.Load() {
							<-release
						}
						return nil
					}},
				}, book.logger(), nil)
				var jump atomic.Int64
				r.wall = func() time.Time { return time.Now().Round(0).Add(time.Duration(jump.Load())) }
				stop := start(t, r.Run)
				pass(10 * time.Minute)
				stuck.Store(true)

				// The wall clock moves on, timers and the monotonic clock stood still.
				jump.Store(int64(slept))
				if h := r.Health(); slept > 0 && (!h[0].Overdue || !h[1].Overdue) {
					t.Errorf("green though nothing ran for hours: %+v", h)
				}
				pass(clockEvery)
				if a.Load() != 2 || b.Load() != 2 {
					t.Errorf("a second after waking, a ran %d times and b %d; want 2 and 2", a.Load(), b.Load())
				}
				if h := r.Health(); h[0].Overdue || slept > 0 && !h[1].Overdue {
					t.Errorf("want a green, and b red while it does not come back: %+v", h)
				}
				close(release)
				pass(time.Second)
				if h := r.Health(); h[0].Overdue || h[1].Overdue {
					t.Errorf("want both green: %+v", h)
				}
				pass(10 * time.Minute)
				if a.Load() != 2 || book.count("clock jumped") != 1 {
					t.Errorf("one sleep led to %d runs:\n%s", a.Load(), book)
				}
				stop()
			})
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		var cause atomic.Value
		book := &logBook{}
		r := NewRunner([]Loop{{Name: "a", Interval: time.Second, Run: func(ctx context.Context) error {
			runs.Add(1)
			<-ctx.Done()
			cause.Store(ctx.Err())
			return ctx.Err()
		}}}, book.logger(), func(string, error) { t.Error("the end of the context was reported as a failure") })
		stop := start(t, r.Run)
		pass(time.Minute)
		stop()
		if runs.Load() != 1 || !errors.Is(cause.Load().(error), context.Canceled) || book.String() != "" {
			t.Errorf("%d runs, cause %v, log %q", runs.Load(), cause.Load(), book)
		}
		r.Run(context.Background()) // a second call has nothing to wait for
	})
}

func TestRunWithAnEndedContextRunsNothing(t *testing.T) {
	r := NewRunner([]Loop{{Name: "a", Interval: time.Nanosecond, Run: func(context.Context) error {
		t.Error("the loop ran")
		return nil
	}}}, nil, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.Run(ctx)
}

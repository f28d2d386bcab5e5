package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// worldClock is a made-up world: local clocks, and a server with its own.
type worldClock struct {
	driver.Store
	mu        sync.Mutex
	wall      time.Time
	monotonic time.Duration
	server    driver.Time
	trip      time.Duration // of a call to the server
	down      bool
	asked     int
}

func newWorld(t *testing.T) (*worldClock, *Clock) {
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	w := &worldClock{Store: store, wall: time.UnixMilli(5_000_000), server: 1_000_000}
	c := NewClock(w)
	c.read = func() (time.Time, time.Duration) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.wall, w.monotonic
	}
	return w, c
}

// pass lets time pass everywhere; asleep, the monotonic clock stands still.
func (w *worldClock) pass(d time.Duration, asleep bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wall = w.wall.Add(d)
	w.server = w.server.Add(driver.MillisOf(d))
	if !asleep {
		w.monotonic += d
	}
}

func (w *worldClock) ServerTime(context.Context) (driver.Time, error) {
	w.pass(w.trip/2, false)
	w.mu.Lock()
	told, down := w.server, w.down
	w.asked++
	w.mu.Unlock()
	w.pass(w.trip-w.trip/2, false)
	if down {
		return 0, errors.New("down")
	}
	return told, nil
}

func (w *worldClock) expect(t *testing.T, c *Clock, asked int) {
	t.Helper()
	got := c.Now()
	if got != w.server {
		t.Errorf("the clock says %d, the server %d", got, w.server)
	}
	if w.asked != asked {
		t.Errorf("the server was asked %d times, want %d", w.asked, asked)
	}
}

func TestTheClockFollowsTheServerAndMeasuresEveryMinute(t *testing.T) {
	w, c := newWorld(t)
	w.trip = 40 * time.Millisecond
	w.expect(t, c, 1)
	w.pass(59*time.Second, false)
	w.expect(t, c, 1)
	w.pass(2*time.Second, false)
	w.server += 300 // the server's clock was set
	w.expect(t, c, 2)
}

func TestTheClockMeasuresAtOnceAfterTheMachineSlept(t *testing.T) {
	w, c := newWorld(t)
	w.expect(t, c, 1)
	w.pass(10*time.Second, true)
	w.expect(t, c, 2)
	w.pass(10*time.Second, true)
	w.down = true
	w.expect(t, c, 3) // the wall clock bridges it
}

func TestTheClockMeasuresAtOnceAfterTheWallClockWasSet(t *testing.T) {
	for _, by := range []time.Duration{10 * time.Second, -10 * time.Second} {
		w, c := newWorld(t)
		w.expect(t, c, 1)
		w.wall = w.wall.Add(by)
		w.server += 300 // it was set along with this machine's
		w.expect(t, c, 2)
		w.expect(t, c, 2)
	}
}

func TestTheClockAsksAgainAfterASlowRoundTrip(t *testing.T) {
	w, c := newWorld(t)
	w.trip = 500 * time.Millisecond
	c.Now()
	if w.asked != 3 {
		t.Errorf("the server was asked %d times, want 3", w.asked)
	}
}

func TestWithoutAnAnswerTheClockKeepsTheDistanceAndAsksNowAndThen(t *testing.T) {
	w, c := newWorld(t)
	w.expect(t, c, 1)
	w.down = true
	for range 100 {
		w.pass(time.Minute, false)
		w.mu.Lock()
		asked := w.asked
		w.mu.Unlock()
		w.expect(t, c, asked+1)
		for range 4 {
			w.pass(time.Second, false)
			w.expect(t, c, asked+1)
		}
	}
	w.down = false
	w.server -= 700
	w.pass(10*time.Second, false)
	w.expect(t, c, w.asked+1)
}

func TestAStoreWithoutAServerHasTheLocalTime(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	before := time.Now().UnixMilli()
	got := int64(NewClock(store).Now())
	if after := time.Now().UnixMilli(); got < before || got > after {
		t.Errorf("the clock says %d, between %d and %d", got, before, after)
	}
	if got := FuncClock(func() driver.Time { return 7 }).Now(); got != 7 {
		t.Errorf("the made-up clock says %d", got)
	}
}

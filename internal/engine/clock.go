package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid/driver"
)

// Clock tells the time that client and worker pass to a store. For a store that
// shares a server with other processes it is the local monotonic clock plus the
// measured distance to the server's time; for others it is the local wall clock.
// It is safe for concurrent use.
type Clock struct {
	now    func() driver.Time // given: a made-up time
	server driver.ServerClock // nil: the local wall clock
	read   func() (wall time.Time, monotonic time.Duration)

	anchor atomic.Pointer[anchor]
	mu     sync.Mutex // held while measuring
	retry  time.Duration
}

// anchor ties the server's time to the local clocks at one moment.
type anchor struct {
	server    time.Duration // since the epoch
	wall      time.Time
	monotonic time.Duration
}

const (
	measureEvery   = time.Minute
	measureTimeout = 2 * time.Second
	measureRetry   = 5 * time.Second
	maxDrift       = time.Second
	slowRoundTrip  = 200 * time.Millisecond
)

// NewClock returns the clock for calls to store. The first Now measures.
func NewClock(store driver.Store) *Clock {
	c := &Clock{read: readClocks}
	c.server, _ = store.(driver.ServerClock)
	return c
}

// FuncClock returns a clock that tells a made-up time.
func FuncClock(now func() driver.Time) *Clock { return &Clock{now: now} }

// Now returns the time. It measures first, with calls to the store of at most 2 s
// each, if that has never been done, is a minute old, or if the wall and the
// monotonic clock have drifted apart, as they do when the machine was suspended.
func (c *Clock) Now() driver.Time {
	if c.now != nil {
		return c.now()
	}
	wall, monotonic := c.read()
	if c.server == nil {
		return driver.TimeOf(wall)
	}
	a := c.anchor.Load()
	if a == nil || a.drifted(wall, monotonic) || monotonic-a.monotonic >= measureEvery {
		a = c.remeasure(a)
		_, monotonic = c.read()
	}
	return driver.Time((a.server + monotonic - a.monotonic).Milliseconds())
}

func (a *anchor) drifted(wall time.Time, monotonic time.Duration) bool {
	drift := wall.Sub(a.wall) - (monotonic - a.monotonic)
	return drift > maxDrift || drift < -maxDrift
}

// remeasure replaces the anchor stale. Callers for whom stale is merely old go on
// with it while one measures; the others wait.
func (c *Clock) remeasure(stale *anchor) *anchor {
	wall, monotonic := c.read()
	if stale != nil && !stale.drifted(wall, monotonic) {
		if !c.mu.TryLock() {
			return stale
		}
	} else {
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	if latest := c.anchor.Load(); latest != stale {
		return latest
	}
	if stale != nil && !stale.drifted(wall, monotonic) && monotonic < c.retry {
		return stale
	}
	fresh := c.measure()
	if fresh == nil {
		fresh = c.assume(stale)
	}
	c.anchor.Store(fresh)
	return fresh
}

// measure asks the server for its time; nil if it does not answer. The answer is
// taken to have been true half a round trip ago; after a slow round trip it asks
// again, and keeps the quickest.
func (c *Clock) measure() *anchor {
	var best *anchor
	var bestTrip time.Duration
	for range 3 {
		_, before := c.read()
		ctx, cancel := context.WithTimeout(context.Background(), measureTimeout)
		told, err := c.server.ServerTime(ctx)
		cancel()
		wall, after := c.read()
		if err != nil {
			break
		}
		if trip := after - before; best == nil || trip < bestTrip {
			best, bestTrip = &anchor{server: time.Duration(told)*time.Millisecond + trip/2, wall: wall, monotonic: after}, trip
		}
		if bestTrip <= slowRoundTrip {
			break
		}
	}
	return best
}

// assume makes an anchor without the server: the distance between wall clock and
// server is as it was, or zero if it is not known. The next measurement is due
// soon.
func (c *Clock) assume(stale *anchor) *anchor {
	wall, monotonic := c.read()
	c.retry = monotonic + measureRetry
	fresh := &anchor{server: time.Duration(wall.UnixNano()), wall: wall, monotonic: monotonic}
	if stale != nil {
		fresh.server += stale.server - time.Duration(stale.wall.UnixNano())
	}
	// Old from the start, so that Now asks again as soon as retry allows.
	fresh.monotonic -= measureEvery
	fresh.wall = fresh.wall.Add(-measureEvery)
	fresh.server -= measureEvery
	return fresh
}

var processStart = time.Now()

func readClocks() (time.Time, time.Duration) {
	now := time.Now()
	return now.Round(0), now.Sub(processStart)
}

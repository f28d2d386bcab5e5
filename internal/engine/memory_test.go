package engine

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// A leak of 30 bytes per job is seen.
func TestManyJobsLeaveNothingBehind(t *testing.T) {
	const perRound, rounds, leak = 5_000, 4, 30
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		if run.Attempt == 1 && run.Job.Seq%100 == 0 {
			return nil, errors.New("now and then")
		}
		return run.Job.Payload, nil
	}, func(c *Config) {
		c.Queues[0].Slots = 50
		c.LockDuration = 30 * time.Second
		c.Logger = slog.New(slog.DiscardHandler)
	})
	keepNone := &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}}
	round := func() (heap int64, goroutines int) {
		for range perRound / 1000 {
			r.enqueue(1000, func(q *driver.EnqueueRequest) { q.Keep, q.Payload = keepNone, make([]byte, 1024) })
		}
		eventually(t, "the round's jobs are done", func() bool { return r.counts().Total() == 0 })
		eventually(t, "the engine holds nothing", func() bool { return r.engine.registry.len() == 0 })
		runtime.GC()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		return int64(memory.HeapAlloc), runtime.NumGoroutine()
	}
	r.start()
	round() // makes what is used again
	before, _ := round()
	var after int64
	var goroutines int
	for range rounds {
		after, goroutines = round()
	}
	if after-before > perRound*rounds*leak {
		t.Errorf("over %d jobs the heap grew from %d to %d bytes", perRound*rounds, before, after)
	}
	if most := 50 + 20; goroutines > most { // an executor per slot, and some loops
		t.Errorf("%d goroutines are left, want at most %d", goroutines, most)
	}
	stats := r.engine.Stats().Queues[0]
	if stats.Running+stats.Queued+stats.Unacked != 0 {
		t.Errorf("the idle engine says %+v", stats)
	}
}

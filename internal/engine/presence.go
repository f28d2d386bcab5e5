package engine

import (
	"context"
	"os"
	"time"

	"github.com/braidmq/braid/driver"
)

// beatsToLive is how many beats may fail until a worker counts as gone.
const beatsToLive = 3

// secondBeat is when the second beat comes at the latest: at the first, a worker has no
// jobs yet.
const secondBeat = time.Second

// farewell bounds the call that takes a worker off the list when it stops.
const farewell = 500 * time.Millisecond

// announce tells the store again and again that the worker is alive, while anything of
// it is: also while it stops.
func (e *Engine) announce(hard context.Context) {
	l := e.presenceLoop
	host, _ := os.Hostname() // unknown is empty
	since := e.config.Clock.Now()
	for first := true; ; first = false {
		wait := beatIn(l.interval)
		if first {
			wait = min(wait, secondBeat)
		}
		err := e.beatWorker(hard, host, since)
		switch {
		case err == nil:
			e.listed.Store(true)
			l.ok()
		case hard.Err() == nil:
			wait = min(l.fail(err), l.interval)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-hard.Done():
			timer.Stop()
			return
		}
	}
}

func (e *Engine) beatWorker(hard context.Context, host string, since driver.Time) error {
	now := e.config.Clock.Now()
	record := driver.WorkerRecord{
		ID: e.config.WorkerID, Host: cleanText(host, 255), Version: e.config.Version, PID: os.Getpid(),
		Names: e.names, Since: since, ExpiresAt: now.Add(beatsToLive * driver.MillisOf(e.config.PresenceInterval)),
	}
	for _, q := range e.queues {
		stats := q.stats()
		record.Queues = append(record.Queues, driver.WorkerQueue{Name: q.name, Slots: q.slots, InFlight: stats.Running + stats.Queued})
	}
	ctx, cancel := context.WithTimeout(hard, e.config.CallTimeout)
	defer cancel()
	return guarded(ctx, func(ctx context.Context) error { return e.config.Store.BeatWorker(ctx, now, record) })
}

// unlist takes the worker off the list. If that fails, its record expires.
func (e *Engine) unlist(ctx context.Context) {
	if !e.listed.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := guarded(ctx, func(ctx context.Context) error { return e.config.Store.ForgetWorker(ctx, e.config.WorkerID) }); err != nil {
		e.config.Logger.Warn("braid: a worker that stopped is listed until its record expires", "worker", e.config.WorkerID, "error", err)
	}
}

package engine

import (
	"context"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// listed returns the workers that the store lists.
func (r *rig) listed() []driver.WorkerRecord {
	r.t.Helper()
	page, err := r.memory.Workers(context.Background(), driver.TimeOf(time.Now()), "", 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return page.Workers
}

func (r *rig) awaitListed(ok func([]driver.WorkerRecord) bool) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok(r.listed()) {
		if time.Now().After(deadline) {
			r.t.Fatalf("the store lists %+v", r.listed())
		}
		time.Sleep(time.Millisecond)
	}
}

func oftenPresent(c *Config) { c.PresenceInterval, c.Version = 20*time.Millisecond, "v1" }

func TestAWorkerIsListedWhileItRuns(t *testing.T) {
	release := make(chan struct{})
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { <-release; return nil, nil }, oftenPresent)
	r.awaitListed(func(w []driver.WorkerRecord) bool { return len(w) == 1 })
	r.enqueue(2)
	r.awaitListed(func(w []driver.WorkerRecord) bool { return len(w) == 1 && w[0].Queues[0].InFlight == 2 })
	w := r.listed()[0]
	if w.ID != "w" || w.Version != "v1" || w.PID == 0 || w.Queues[0].Name != "q" || w.Queues[0].Slots != 4 || len(w.Names) != 1 || w.Names[0] != "job" {
		t.Errorf("the worker is listed as %+v", w)
	}
	if lives := w.ExpiresAt.Sub(w.BeatAt); lives != 60 || w.Since > w.BeatAt {
		t.Errorf("the worker beats every 20 ms, and lives for %d ms from %d on, since %d", lives, w.BeatAt, w.Since)
	}
	close(release)
	r.awaitListed(func(w []driver.WorkerRecord) bool { return len(w) == 1 && w[0].Queues[0].InFlight == 0 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if left := r.listed(); len(left) != 0 {
		t.Errorf("a worker that stopped is listed: %+v", left)
	}
}

func TestAWorkerIsListedWhileItStops(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { close(running); <-release; return nil, nil }, oftenPresent)
	r.enqueue(1)
	<-running
	r.cancel()
	before := r.store.Calls("BeatWorker")
	if err := r.store.AwaitCalls(t.Context(), "BeatWorker", before+2); err != nil {
		t.Fatal(err)
	}
	close(release)
}

func TestAWorkerIsListedAgainAfterAnOutage(t *testing.T) {
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { return nil, nil }, oftenPresent)
	r.awaitListed(func(w []driver.WorkerRecord) bool { return len(w) == 1 })
	end := r.store.Fail(true, "BeatWorker")
	r.awaitListed(func(w []driver.WorkerRecord) bool { return len(w) == 0 })
	end()
	r.awaitListed(func(w []driver.WorkerRecord) bool { return len(w) == 1 })
}

func TestAStoreThatHangsDelaysTheEndOfAWorkerByLittle(t *testing.T) {
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { return nil, nil }, oftenPresent)
	r.awaitListed(func(w []driver.WorkerRecord) bool { return len(w) == 1 })
	r.store.BlackHole("ForgetWorker")
	begin := time.Now()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took > farewell+time.Second {
		t.Errorf("the stop took %v", took)
	}
}

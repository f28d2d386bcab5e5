package braid

import (
	"context"
	"slices"
	"time"

	"github.com/braidmq/braid/driver"
)

// WorkerInfo is a worker that is alive, as it last told of itself.
type WorkerInfo struct {
	ID      string        `json:"id"`
	Host    string        `json:"host,omitempty"`
	PID     int           `json:"pid,omitempty"`
	Version string        `json:"version,omitempty"` // of its program
	Queues  []WorkerQueue `json:"queues"`
	Names   []string      `json:"names"` // of the jobs that it can run
	Since   time.Time     `json:"since"`
	BeatAt  time.Time     `json:"beatAt"` // when it last told
	// ExpiresAt is when it counts as gone if it does not tell again.
	ExpiresAt time.Time `json:"expiresAt"`
}

// WorkerQueue is a queue that a worker works on.
type WorkerQueue struct {
	Name     string `json:"name"`
	Slots    int    `json:"slots"`    // how many of its jobs run at once
	InFlight int    `json:"inFlight"` // how many do
}

// Runs reports whether the worker works on that queue and can run jobs of that name.
func (w *WorkerInfo) Runs(queue, name string) bool {
	return w.WorksOn(queue) && slices.Contains(w.Names, name)
}

// WorksOn reports whether the worker works on that queue.
func (w *WorkerInfo) WorksOn(queue string) bool {
	return slices.ContainsFunc(w.Queues, func(q WorkerQueue) bool { return q.Name == queue })
}

// mostWorkers bounds a list of workers, so that it always fits into memory.
const mostWorkers = 10_000

// Workers returns the workers of the store that are alive, in order of their ids: those
// that told so within the last half minute (see [WorkerOptions].PresenceInterval), and
// those that leased jobs lately. At most 10,000 are listed.
func (c *Client) Workers(ctx context.Context) ([]WorkerInfo, error) {
	workers := []WorkerInfo{}
	err := c.eachWorker(ctx, func(w WorkerInfo) bool {
		workers = append(workers, w)
		return len(workers) < mostWorkers
	})
	return workers, err
}

// eachWorker calls visit for each worker that is alive, until it says no.
func (c *Client) eachWorker(ctx context.Context, visit func(WorkerInfo) bool) error {
	for after := ""; ; {
		page, err := c.workerPage(ctx, after)
		if err != nil {
			return err
		}
		for _, record := range page.Workers {
			if !visit(newWorkerInfo(record)) {
				return nil
			}
			after = record.ID
		}
		if !page.More || len(page.Workers) == 0 {
			return nil
		}
	}
}

func (c *Client) workerPage(ctx context.Context, after string) (driver.WorkerPage, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return driver.WorkerPage{}, err
	}
	defer cancel()
	return c.store.driver.Workers(ctx, c.now(), after, 0)
}

func newWorkerInfo(w driver.WorkerRecord) WorkerInfo {
	info := WorkerInfo{
		ID: w.ID, Host: w.Host, PID: w.PID, Version: w.Version, Names: slices.Clone(w.Names), Queues: make([]WorkerQueue, len(w.Queues)),
		Since: w.Since.Std(), BeatAt: w.BeatAt.Std(), ExpiresAt: w.ExpiresAt.Std(),
	}
	for i, q := range w.Queues {
		info.Queues[i] = WorkerQueue{Name: q.Name, Slots: q.Slots, InFlight: q.InFlight}
	}
	return info
}

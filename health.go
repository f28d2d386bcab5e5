package braid

import (
	"errors"
	"fmt"
	"time"

	"github.com/braidmq/braid/internal/maintain"
)

// Health is how a worker is getting on. It is cheap to ask for.
type Health struct {
	Loops    []LoopHealth   `json:"loops"`    // what must run again and again
	InFlight map[string]int `json:"inFlight"` // handlers that run, by queue
	Unacked  int            `json:"unacked"`  // finished runs whose result is not stored yet
	Stuck    []StuckHandler `json:"stuck"`    // handlers that ignored the end of their context
}

// LoopHealth is how one of a worker's loops is getting on.
type LoopHealth struct {
	Store    string        `json:"store"`
	Name     string        `json:"name"`
	Interval time.Duration `json:"interval"`
	LastOK   time.Time     `json:"lastOk,omitzero"` // when it last ran well
	LastErr  string        `json:"lastErr,omitempty"`
	Overdue  bool          `json:"overdue"` // it has not run well for three intervals
}

// StuckHandler is a handler that goes on although its context ended some time ago.
// It keeps its slot and its lock.
type StuckHandler struct {
	Store string    `json:"store"`
	JobID string    `json:"jobId"`
	Name  string    `json:"name"`
	Queue string    `json:"queue"`
	Since time.Time `json:"since"` // when its context ended
	Stack string    `json:"stack"` // where it stands
}

// Err returns nil if every loop runs, or an error that names those that do not.
func (h Health) Err() error {
	var errs []error
	for _, loop := range h.Loops {
		if !loop.Overdue {
			continue
		}
		since := "since the worker started"
		if !loop.LastOK.IsZero() {
			since = "since " + loop.LastOK.Format(time.RFC3339)
		}
		err := fmt.Errorf("braid: the %s loop of store %q has not run well %s", loop.Name, loop.Store, since)
		if loop.LastErr != "" {
			err = fmt.Errorf("%w: %s", err, loop.LastErr)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Health tells how the worker is getting on; of a worker that has not been started,
// nothing.
func (w *Worker) Health() Health {
	if !w.made() {
		return Health{}
	}
	w.mu.Lock()
	parts, upkeep := w.parts, w.upkeep
	w.mu.Unlock()
	h := Health{InFlight: make(map[string]int)}
	for _, part := range parts {
		part.addTo(&h)
	}
	if upkeep != nil {
		for _, loop := range upkeep.Health() {
			h.addLoop("", loop)
		}
	}
	return h
}

func (h *Health) addLoop(store string, loop maintain.LoopHealth) {
	lh := LoopHealth{Store: store, Name: loop.Name, Interval: loop.Interval, LastOK: loop.LastOK, Overdue: loop.Overdue}
	if loop.LastErr != nil {
		lh.LastErr = loop.LastErr.Error()
	}
	h.Loops = append(h.Loops, lh)
}

func (p storeWorker) addTo(h *Health) {
	for _, loop := range p.engine.Health().Loops {
		h.Loops = append(h.Loops, LoopHealth{
			Store: p.store.name, Name: loop.Name, Interval: loop.Interval,
			LastOK: loop.Last, LastErr: loop.Err, Overdue: !loop.OK,
		})
	}
	for _, loop := range p.upkeep.Health() {
		h.addLoop(p.store.name, loop)
	}
	stats := p.engine.Stats()
	for _, queue := range stats.Queues {
		h.InFlight[queue.Queue] += queue.Running
		h.Unacked += queue.Unacked
	}
	for _, stuck := range stats.Stuck {
		h.Stuck = append(h.Stuck, StuckHandler{
			Store: p.store.name, JobID: stuck.JobID, Name: stuck.Name, Queue: stuck.Queue, Since: stuck.Since, Stack: stuck.Stack,
		})
	}
}

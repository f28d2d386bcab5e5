package braidtest

import (
	"context"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// journal is what happened in the stores of a test.
type journal struct {
	changed chan struct{} // holds a signal if there may be news

	mu       sync.Mutex
	enqueues []record
}

// record is one enqueue.
type record struct {
	store     string
	at        time.Time
	request   driver.EnqueueRequest
	id        string
	duplicate bool
}

func newJournal() *journal { return &journal{changed: make(chan struct{}, 1)} }

func (j *journal) signal() {
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

func (j *journal) add(r record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.enqueues = append(j.enqueues, r)
}

// enqueued returns what was enqueued, oldest first; under a name, if one is given.
func (j *journal) enqueued(name string) []record {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []record
	for _, r := range j.enqueues {
		if name == "" || r.request.Name == name {
			found = append(found, r)
		}
	}
	return found
}

// recorder is a store that writes the journal.
type recorder struct {
	*memstore.Store
	name    string
	journal *journal
}

// Enqueue implements [driver.Producer].
func (s *recorder) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	defer s.journal.signal()
	results, err := s.Store.Enqueue(ctx, now, batch)
	for i, r := range results {
		s.journal.add(record{store: s.name, at: now.Std(), request: batch[i], id: r.ID, duplicate: r.Duplicate})
	}
	return results, err
}

// Tick implements [driver.Scheduler].
func (s *recorder) Tick(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
	defer s.journal.signal()
	fired, err := s.Store.Tick(ctx, now, req)
	if fired {
		s.journal.add(record{store: s.name, at: now.Std(), request: req.Job, id: req.Job.ID})
	}
	return fired, err
}

// Ack implements [driver.Consumer].
func (s *recorder) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	defer s.journal.signal()
	return s.Store.Ack(ctx, now, batch)
}

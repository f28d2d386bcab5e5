package memstore

import (
	"cmp"
	"context"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// lapsesPerBeat is how many expired records a beat deletes at most.
const lapsesPerBeat = 10

// workerBook keeps the workers' records. A stored record never changes: a new one
// takes its place.
type workerBook struct {
	byID     *btree.Map[string, driver.WorkerRecord]
	expiring *btree.BTreeG[workerExpiry]
}

type workerExpiry struct {
	at driver.Time
	id string
}

func newWorkerBook() workerBook {
	return workerBook{
		byID: &btree.Map[string, driver.WorkerRecord]{},
		expiring: newTree(func(a, b workerExpiry) bool {
			if a.at != b.at {
				return a.at < b.at
			}
			return a.id < b.id
		}),
	}
}

func (b *workerBook) remove(id string) {
	if old, ok := b.byID.Delete(id); ok {
		b.expiring.Delete(workerExpiry{old.ExpiresAt, id})
	}
}

// BeatWorker implements [driver.WorkerRegistry].
func (s *Store) BeatWorker(ctx context.Context, now driver.Time, w driver.WorkerRecord) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for range lapsesPerBeat {
		first, ok := s.workers.expiring.Min()
		if !ok || first.at > now {
			break
		}
		s.workers.remove(first.id)
	}
	w.BeatAt = now
	s.workers.remove(w.ID)
	s.workers.byID.Set(w.ID, w)
	s.workers.expiring.Set(workerExpiry{w.ExpiresAt, w.ID})
	return nil
}

// ForgetWorker implements [driver.WorkerRegistry].
func (s *Store) ForgetWorker(ctx context.Context, id string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.workers.remove(id)
	return nil
}

// Workers implements [driver.WorkerRegistry].
func (s *Store) Workers(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error) {
	var page driver.WorkerPage
	if err := s.lock(ctx); err != nil {
		return page, err
	}
	defer s.mu.Unlock()
	limit = cmp.Or(limit, driver.DefaultWorkerLimit)
	s.workers.byID.Ascend(after, func(id string, w driver.WorkerRecord) bool {
		if id == after || w.ExpiresAt <= now {
			return true
		}
		page.More = len(page.Workers) == limit
		if !page.More {
			page.Workers = append(page.Workers, w)
		}
		return !page.More
	})
	return page, nil
}

package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/braidmq/braid/driver"
)

// lapsesPerBeat is how many expired records a beat deletes at most.
const lapsesPerBeat = 10

// BeatWorker implements [driver.WorkerRegistry].
func (s *Store) BeatWorker(ctx context.Context, now driver.Time, w driver.WorkerRecord) error {
	w.BeatAt = now
	record, err := json.Marshal(w)
	if err != nil {
		return storeError("BeatWorker", err)
	}
	return s.write(ctx, "BeatWorker", 1, func(t *tx) error {
		if _, err := t.exec("workers_lapse", now, lapsesPerBeat); err != nil {
			return err
		}
		_, err := t.exec("worker_put", w.ID, w.ExpiresAt, string(record))
		return err
	})
}

// ForgetWorker implements [driver.WorkerRegistry].
func (s *Store) ForgetWorker(ctx context.Context, id string) error {
	return s.write(ctx, "ForgetWorker", 1, func(t *tx) error {
		_, err := t.affect("worker_delete", id)
		return err
	})
}

// Workers implements [driver.WorkerRegistry].
func (s *Store) Workers(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error) {
	limit = cmp.Or(limit, driver.DefaultWorkerLimit)
	var page driver.WorkerPage
	size := 0
	err := s.read(ctx, "Workers", func(on session) error {
		return on.query("workers_after", func(r row) error {
			record := r.text(0)
			size += len(record)
			if page.More = len(page.Workers) == limit || len(page.Workers) > 0 && size > driver.ChunkBytes; page.More {
				return errEnough
			}
			var w driver.WorkerRecord
			if err := json.Unmarshal([]byte(record), &w); err != nil {
				return err
			}
			page.Workers = append(page.Workers, w)
			return nil
		}, after, now, limit+1)
	})
	return page, err
}

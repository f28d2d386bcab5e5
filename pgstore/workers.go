package pgstore

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// lapsesPerBeat is how many expired records a beat deletes at most.
const lapsesPerBeat = 10

// BeatWorker implements [driver.WorkerRegistry].
func (s *Store) BeatWorker(ctx context.Context, now driver.Time, w driver.WorkerRecord) error {
	w.BeatAt = now
	record, err := json.Marshal(w)
	if err != nil {
		return s.storeError(ctx, "BeatWorker", err, false)
	}
	return s.pipeline(ctx, "BeatWorker", now, func(t *tx) {
		t.exec("worker_put", w.ID, w.ExpiresAt, string(record))
		t.exec("workers_lapse", now, w.ID, lapsesPerBeat)
	})
}

// ForgetWorker implements [driver.WorkerRegistry].
func (s *Store) ForgetWorker(ctx context.Context, id string) error {
	return s.pipeline(ctx, "ForgetWorker", 0, func(t *tx) { t.exec("worker_delete", id) })
}

// Workers implements [driver.WorkerRegistry].
func (s *Store) Workers(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error) {
	limit = cmp.Or(limit, driver.DefaultWorkerLimit)
	var page driver.WorkerPage
	err := s.pipeline(ctx, "Workers", now, func(t *tx) {
		page = driver.WorkerPage{}
		t.query("workers_after", func(rows pgx.Rows) error {
			var record *string
			if err := rows.Scan(&record); err != nil || page.More {
				return err
			}
			if page.More = record == nil || len(page.Workers) == limit; page.More {
				return nil
			}
			var w driver.WorkerRecord
			err := json.Unmarshal([]byte(*record), &w)
			page.Workers = append(page.Workers, w)
			return err
		}, after, now, limit+1, driver.ChunkBytes)
	})
	return page, err
}

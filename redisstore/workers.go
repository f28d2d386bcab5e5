package redisstore

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/braidmq/braid/driver"
)

var (
	workerBeatScript   = loadScript("worker_beat")
	workerForgetScript = loadScript("worker_forget")
	workerListScript   = loadScript("worker_list")
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
	_, err = s.run(ctx, "BeatWorker", call{script: workerBeatScript, now: packTime(now),
		args: []any{w.ID, packTime(w.ExpiresAt), record, lapsesPerBeat}})
	return err
}

// ForgetWorker implements [driver.WorkerRegistry].
func (s *Store) ForgetWorker(ctx context.Context, id string) error {
	_, err := s.run(ctx, "ForgetWorker", call{script: workerForgetScript, args: []any{id}})
	return err
}

// Workers implements [driver.WorkerRegistry].
func (s *Store) Workers(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error) {
	const op = "Workers"
	limit = cmp.Or(limit, driver.DefaultWorkerLimit)
	var page driver.WorkerPage
	for begin := lexAfter(after); ; {
		reply, err := s.run(ctx, op, call{script: workerListScript, now: packTime(now),
			args: []any{begin, limit + 1 - len(page.Workers), driver.ChunkBytes}})
		if err != nil {
			return driver.WorkerPage{}, err
		}
		strings, err := texts(op, reply)
		if err != nil {
			return driver.WorkerPage{}, err
		}
		for _, record := range strings[1:] {
			if page.More = len(page.Workers) == limit; page.More {
				return page, nil
			}
			var w driver.WorkerRecord
			if err := json.Unmarshal([]byte(record), &w); err != nil {
				return driver.WorkerPage{}, storeError(op, err)
			}
			page.Workers = append(page.Workers, w)
		}
		if strings[0] == "" {
			return page, nil
		}
		begin = lexAfter(strings[0])
	}
}

// lexAfter is the beginning of a range by lex behind a member; the empty one stands
// before all.
func lexAfter(member string) string {
	if member == "" {
		return "-"
	}
	return "(" + member
}

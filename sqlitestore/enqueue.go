package sqlitestore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
	"github.com/braidmq/braid/internal/storekit"
)

// maxIDCollisions is how many assigned ids may turn out to be taken until an
// enqueue gives up.
const maxIDCollisions = 100

// largePayload is from how many bytes on a payload lies beside its job's row, which
// every transition rewrites.
const largePayload = 1000

// Enqueue implements [driver.Producer]. A chunk is one transaction, which calls of
// other goroutines may share.
func (s *Store) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	results := make([]driver.EnqueueResult, len(batch))
	if len(batch) == 0 {
		return results, s.serves(ctx)
	}
	for from := 0; from < len(batch); {
		to := storekit.ChunkEnd(from, len(batch), driver.ChunkJobs, func(i int) int { return requestSize(&batch[i]) })
		err := s.write(ctx, "Enqueue", to-from, func(t *tx) error {
			st := step{tx: t, now: now}
			return st.enqueueAll(batch[from:to], results[from:to])
		})
		if err != nil {
			return results[:from], storekit.Partial(from, err)
		}
		from = to
	}
	return results, nil
}

func requestSize(r *driver.EnqueueRequest) int {
	size := len(r.ID) + len(r.Payload)
	for key, text := range r.Metadata {
		size += len(key) + len(text)
	}
	return size
}

func (st step) enqueueAll(batch []driver.EnqueueRequest, results []driver.EnqueueResult) error {
	for together := true; len(batch) > 0; {
		n := 1
		if together && st.plain(batch) {
			inserted, err := st.insertTen(batch[:ten], results)
			if err != nil {
				return err
			}
			// Where one id was taken, others will be: such a batch is repeated.
			if together = inserted; inserted {
				n = ten
			}
		}
		if n == 1 {
			var err error
			if results[0], err = st.enqueue(&batch[0]); err != nil {
				return err
			}
		}
		batch, results = batch[n:], results[n:]
	}
	return nil
}

// enqueue applies one request.
func (st step) enqueue(req *driver.EnqueueRequest) (driver.EnqueueResult, error) {
	if req.Dedupe != nil {
		if req.ID != "" {
			switch exists, err := st.exists(req.ID); {
			case err != nil:
				return driver.EnqueueResult{}, err
			case exists:
				return driver.EnqueueResult{ID: req.ID, Duplicate: true}, nil
			}
		}
		switch id, duplicate, err := st.meetDedupe(req); {
		case err != nil:
			return driver.EnqueueResult{}, err
		case duplicate:
			return driver.EnqueueResult{ID: id, Duplicate: true}, nil
		}
	}
	var job int64
	var err error
	id := req.ID
	if id != "" {
		if job, err = st.insertJob(id, req); err == nil && job == 0 {
			return driver.EnqueueResult{ID: id, Duplicate: true}, nil
		}
	} else {
		id, job, err = st.insertAssigned(req)
	}
	if err != nil {
		return driver.EnqueueResult{}, err
	}
	if req.Dedupe != nil {
		if err := st.takeDedupe(req.Name, req.Dedupe.Key, id, job, req.Dedupe.TTL); err != nil {
			return driver.EnqueueResult{}, err
		}
	}
	return driver.EnqueueResult{ID: id}, nil
}

func (t *tx) exists(id string) (bool, error) {
	return first(t, "job_exists", func(row) {}, id)
}

// insertAssigned makes the request a job with an id that no other has.
func (st step) insertAssigned(req *driver.EnqueueRequest) (id string, job int64, err error) {
	for range maxIDCollisions {
		if generate := st.store.generateID; generate != nil {
			st.store.ids.Lock()
			id = generate()
			st.store.ids.Unlock()
		} else {
			id = st.nextID()
		}
		if id == "" {
			continue
		}
		if job, err = st.insertJob(id, req); err != nil || job != 0 {
			return id, job, err
		}
	}
	return "", 0, &driver.StoreError{Op: "Enqueue", Retryable: st.store.generateID == nil,
		Err: fmt.Errorf("%d assigned ids in a row were taken; name the ids, or use a generator with more of them", maxIDCollisions)}
}

// nextID draws an id from the counter.
func (st step) nextID() string { return "j-" + strconv.FormatInt(draw(&st.counters.ids), 10) }

// insertJob makes the request a job, whatever its dedup key, and wakes its queue. It
// returns the job's row, or 0 if the id is taken.
func (st step) insertJob(id string, req *driver.EnqueueRequest) (int64, error) {
	result, err := st.session.exec("job_insert", st.columns(nil, id, req, st.counters.seq+1)...)
	if err != nil {
		return 0, err
	}
	if inserted, err := result.RowsAffected(); err != nil || inserted == 0 {
		return 0, err
	}
	st.changed = true
	st.counters.seq++
	job, err := result.LastInsertId()
	if err != nil {
		return 0, err
	}
	if isLarge(req) {
		if _, err := st.exec("payload_insert", job, req.Payload); err != nil {
			return 0, err
		}
	}
	st.tell(req)
	return job, nil
}

// tell counts a new job, and wakes its queue.
func (st step) tell(req *driver.EnqueueRequest) {
	state := driver.Waiting
	if req.Delay > 0 {
		state = driver.Delayed
	}
	st.count(req.Queue, req.Name, int64(state), 1)
	st.queueJobs(req.Queue, 1)
	st.wake(req.Queue)
}

func isLarge(req *driver.EnqueueRequest) bool { return len(req.Payload) >= largePayload }

// columns appends the values of a new job's columns, as job_insert has them.
func (st step) columns(args []any, id string, req *driver.EnqueueRequest, seq int64) []any {
	state, runAt := driver.Waiting, st.now
	if req.Delay > 0 {
		state, runAt = driver.Delayed, st.now.Add(req.Delay)
	}
	var dedupeKey any
	dedupeTTL := false
	if req.Dedupe != nil {
		dedupeKey, dedupeTTL = optional(req.Dedupe.Key), req.Dedupe.TTL.Set
	}
	payload, large := req.Payload, isLarge(req)
	if large {
		payload = nil
	}
	return append(args, id, state, req.Queue, req.Name, -int64(req.Priority), seq,
		req.AttemptsMax, runAt, st.now, dedupeKey, dedupeTTL, optional(rowcodec.EncodeMetadata(req.Metadata)),
		optional(rowcodec.EncodeSettings(req.Backoff, req.Keep, req.Timeout)), optional(rowcodec.EncodeTrace(req.Trace)),
		optional(rowcodec.EncodeEnvelope(req.Parent)), large, payload)
}

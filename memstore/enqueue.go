package memstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// maxIDCollisions is how many assigned ids may turn out to be taken until an
// enqueue gives up.
const maxIDCollisions = 100

// Enqueue implements [driver.Producer].
func (s *Store) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	results := make([]driver.EnqueueResult, 0, len(batch))
	var failed error
	done, err := s.inChunks(ctx, len(batch), driver.ChunkJobs, func(from, to int) {
		for i := from; i < to && failed == nil; i++ {
			var result driver.EnqueueResult
			if result, failed = s.enqueue(now, &batch[i]); failed == nil {
				results = append(results, result)
			}
		}
	})
	switch {
	case failed != nil:
		return results, partial(len(results), failed)
	case err != nil:
		return results[:done], err
	}
	return results, nil
}

// enqueue applies one request.
func (s *Store) enqueue(now driver.Time, req *driver.EnqueueRequest) (driver.EnqueueResult, error) {
	if req.ID != "" && s.jobs[req.ID] != nil {
		return driver.EnqueueResult{ID: req.ID, Duplicate: true}, nil
	}
	if req.Dedupe != nil {
		if id, duplicate := s.meetDedupe(now, req); duplicate {
			return driver.EnqueueResult{ID: id, Duplicate: true}, nil
		}
	}
	id := req.ID
	if id == "" {
		var err error
		if id, err = s.assignID(); err != nil {
			return driver.EnqueueResult{}, err
		}
	}
	rec := s.insert(now, id, req)
	if req.Dedupe != nil {
		s.takeDedupe(now, rec, req.Dedupe)
	}
	return driver.EnqueueResult{ID: id}, nil
}

// insert makes the request a job, whatever its dedup key, and wakes its queue.
func (s *Store) insert(now driver.Time, id string, req *driver.EnqueueRequest) *record {
	s.seq++
	rec := newRecord(now, id, s.seq, req, s.laneFor(req.Queue, req.Name))
	rec.lane.size++
	s.jobs[id] = rec
	s.mostJobs = max(s.mostJobs, len(s.jobs))
	s.attach(rec)
	s.wake(req.Queue)
	return rec
}

// assignID draws an id that no job has.
func (s *Store) assignID() (string, error) {
	for range maxIDCollisions {
		var id string
		if s.generateID != nil {
			id = s.generateID()
		} else {
			s.idCounter++
			id = "j-" + strconv.FormatInt(s.idCounter, 10)
		}
		if id != "" && s.jobs[id] == nil {
			return id, nil
		}
	}
	return "", &driver.StoreError{Op: "Enqueue", Retryable: s.generateID == nil,
		Err: fmt.Errorf("%d assigned ids in a row were taken; name the ids, or use a generator with more of them", maxIDCollisions)}
}

// delete removes a job and everything that hangs on it.
func (s *Store) delete(rec *record) {
	s.release(rec)
	s.detach(rec)
	s.freeDedupe(rec)
	s.forgetDeduped(rec)
	if rec.flow != nil {
		s.abandon(rec.flow)
	}
	s.dropJob(rec.job.ID)
	s.leaveLane(rec.lane)
	s.announceEnd(driver.Finished{ID: rec.job.ID})
}

// roomyJobs is from how many jobs on the map of them is worth to be made anew.
const roomyJobs = 1 << 12

// dropJob takes the job out of the map. A map keeps the room of the most that it ever
// held, so one that was large is replaced once it is empty.
func (s *Store) dropJob(id string) {
	delete(s.jobs, id)
	if len(s.jobs) == 0 && s.mostJobs >= roomyJobs {
		s.jobs, s.mostJobs = map[string]*record{}, 0
	}
}

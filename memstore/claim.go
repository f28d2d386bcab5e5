package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// claim is what one lock token holds.
type claim struct {
	// recs are the records in the order in which they were claimed; nil where one is
	// held no more, so that a finished job is not kept in memory by its neighbours.
	recs []*record
	held int // how many are not nil
}

// Claim implements [driver.Consumer]. It promotes up to [driver.ChunkJobs] due
// jobs for each so many that it claims.
func (s *Store) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	var result driver.ClaimResult
	size := 0
	for first := true; ; first = false {
		if err := s.lock(ctx); err != nil {
			if first {
				return driver.ClaimResult{}, err
			}
			return result, nil
		}
		if first && req.Resume {
			size = s.resume(&req, &result)
		}
		again := s.claimChunk(now, &req, &result, &size)
		s.mu.Unlock()
		if !again {
			return result, nil
		}
	}
}

// resume returns the jobs still held under the request's token, and their size.
func (s *Store) resume(req *driver.ClaimRequest, result *driver.ClaimResult) (size int) {
	held := s.claims[req.Token]
	if held == nil {
		return 0
	}
	for _, rec := range held.recs {
		if len(result.Jobs) == req.Limit {
			break
		}
		if rec != nil && rec.queue() == req.Queue {
			result.Jobs = append(result.Jobs, rec.snapshot())
			size += rec.size()
		}
	}
	return size
}

// claimChunk is one atomic step of a claim. It reports whether there is reason for
// another one.
func (s *Store) claimChunk(now driver.Time, req *driver.ClaimRequest, result *driver.ClaimResult, size *int) bool {
	result.NextRunAt = driver.Opt[driver.Time]{}
	q := s.queues[req.Queue]
	if q == nil {
		result.Cursor = s.wakes.cursor()
		return false
	}
	s.promoteDue(now, q)
	// The wakes of the step's own promotions come before the cursor: the step sees
	// those jobs itself.
	result.Cursor = s.wakes.cursor()
	if q.paused {
		return false
	}
	took, full := 0, false
	lanes := s.lanesWaiting(q, req.Names)
	for !lanes.empty() && !full && len(result.Jobs) < req.Limit && took < driver.ChunkJobs {
		best := lanes.top()
		next := best.head.rec
		if full = len(result.Jobs) > 0 && *size+next.size() > driver.ChunkBytes; full {
			break
		}
		*size += next.size()
		s.hold(now, req, next)
		result.Jobs = append(result.Jobs, next.snapshot())
		took++
		if best.refresh() {
			lanes.fixTop()
		} else {
			lanes.dropTop()
		}
	}
	if len(result.Jobs) >= req.Limit {
		return false
	}
	due, delayed := q.delayed.first()
	switch {
	case full:
		result.NextRunAt = driver.Some(now)
	case !delayed:
	case due.major <= int64(now):
		result.NextRunAt = driver.Some(now)
	default:
		result.NextRunAt = driver.Some(driver.Time(due.major))
	}
	return took == driver.ChunkJobs && !full
}

// promoteDue makes due delayed jobs waiting, up to a bound.
func (s *Store) promoteDue(now driver.Time, q *queue) {
	for range driver.ChunkJobs {
		due, ok := q.delayed.first()
		if !ok || due.major > int64(now) {
			return
		}
		s.sendBack(due.rec, driver.Opt[driver.Time]{}, driver.Waiting, false)
	}
}

// laneHead is a lane with a waiting job, and the best of them.
type laneHead struct {
	lane *lane
	head rank
}

// refresh looks for the lane's best job again, and reports whether there is one.
func (h *laneHead) refresh() (ok bool) {
	h.head, ok = h.lane.waiting.first()
	return ok
}

// lanesWaiting merges the queue's lanes of those names.
func (s *Store) lanesWaiting(q *queue, names []string) *minHeap[laneHead] {
	heads := &minHeap[laneHead]{
		items: make([]laneHead, 0, min(len(names), len(q.lanes))),
		less:  func(a, b laneHead) bool { return before(a.head, b.head) },
	}
	s.visits++ // so that a name that is given twice counts once
	for _, name := range names {
		l := q.lanes[name]
		if l == nil || l.visit == s.visits {
			continue
		}
		l.visit = s.visits
		head := laneHead{lane: l}
		if head.refresh() {
			heads.items = append(heads.items, head)
		}
	}
	heads.init()
	return heads
}

// hold locks a waiting job for the claim.
func (s *Store) hold(now driver.Time, req *driver.ClaimRequest, rec *record) {
	s.detach(rec)
	rec.begin()
	held := s.claims[req.Token]
	if held == nil {
		held = &claim{}
		s.claims[req.Token] = held
	}
	rec.claim, rec.claimIndex = held, len(held.recs)
	held.recs = append(held.recs, rec)
	held.held++
	rec.token = req.Token
	rec.job.State = driver.Active
	rec.lockedBy = req.Worker
	rec.lockExpiresAt = driver.Some(now.Add(req.LockDuration))
	rec.processedAt = driver.Some(now)
	s.attach(rec)
}

package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// Claim implements [driver.Consumer]. It promotes up to [driver.ChunkJobs] due jobs
// for each so many that it claims.
func (s *Store) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	names := unique(req.Names)
	found := page{store: s, limit: req.Limit}
	resume := req.Resume
	for {
		var result driver.ClaimResult
		var again bool
		held := len(found.jobs)
		err := s.write(ctx, "Claim", min(req.Limit, driver.ChunkJobs), func(t *tx) (err error) {
			st := step{tx: t, now: now}
			if resume {
				if err := st.resume(&req, &found); err != nil {
					return err
				}
			}
			result, again, err = st.claimChunk(&req, names, &found)
			return err
		})
		switch {
		case err != nil && held == 0:
			return driver.ClaimResult{}, err
		case err != nil:
			// What was claimed before is the caller's.
			return driver.ClaimResult{Jobs: found.jobs[:held], NextRunAt: driver.Some(now)}, nil //nolint:nilerr // the next claim meets it
		case !again:
			result.Jobs = found.jobs
			return result, nil
		}
		resume = false
	}
}

// unique returns the names, each once.
func unique(names []string) []string {
	if len(names) < 2 {
		return names
	}
	seen := make(map[string]bool, len(names))
	var all []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	return all
}

// resume adds the jobs still held under the request's token.
func (st step) resume(req *driver.ClaimRequest, found *page) error {
	err := st.query("claim_resume", func(r row) error {
		if room, err := found.add(r); err != nil || !room {
			return orEnough(err)
		}
		return nil
	}, req.Queue, req.Token, req.Limit)
	if err != nil {
		return err
	}
	return found.complete(st)
}

// orEnough ends a query, with an error if there is one.
func orEnough(err error) error {
	if err != nil {
		return err
	}
	return errEnough
}

// claimChunk is one atomic step of a claim. It reports whether there is reason for
// another one.
func (st step) claimChunk(req *driver.ClaimRequest, names []string, found *page) (result driver.ClaimResult, again bool, err error) {
	if err := st.promoteDue(req.Queue); err != nil {
		return result, false, err
	}
	// The wakes of the step's own promotions come before the cursor: the step sees
	// those jobs itself.
	result.Cursor = driver.WakeCursor(st.counters.wakes)
	paused, err := first(st, "queue_paused", func(row) {}, req.Queue)
	if err != nil || paused {
		return result, false, err
	}
	took, full, err := st.takeBest(req, names, found)
	if err != nil || len(found.jobs) >= req.Limit {
		return result, false, err
	}
	if full {
		result.NextRunAt = driver.Some(st.now)
		return result, false, nil
	}
	_, err = first(st, "delayed_first", func(r row) {
		result.NextRunAt = driver.Some(max(r.time(0), st.now))
	}, req.Queue)
	return result, took == driver.ChunkJobs, err
}

// promoteDue makes due delayed jobs waiting, up to a bound.
func (st step) promoteDue(queue string) error {
	promoted := false
	err := st.query("delayed_promote", func(r row) error {
		promoted = true
		st.move(queue, r.text(0), driver.Delayed, driver.Waiting)
		return nil
	}, queue, st.now, driver.ChunkJobs)
	if promoted {
		st.changed = true
		st.wake(queue)
	}
	return err
}

// waitingJob is a waiting job's place among those of its queue.
type waitingJob struct {
	job        int64
	precedence int64
	seq        int64
}

// takeBest claims the best waiting jobs of those names, as many as the request and
// the chunk have room for. full tells that the page's size ended it.
func (st step) takeBest(req *driver.ClaimRequest, names []string, found *page) (took int, full bool, err error) {
	want := min(req.Limit-len(found.jobs), driver.ChunkJobs)
	if want <= 0 || len(names) == 0 {
		return 0, false, nil
	}
	best, err := st.best(req.Queue, names, want)
	if err != nil || len(best) == 0 {
		return 0, false, err
	}
	held := len(found.jobs)
	rows := make([]int64, len(best))
	for i, w := range best {
		rows[i] = w.job
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return 0, false, err
	}
	err = st.query("records_of_rows", func(r row) error {
		if at := len(found.jobs) - held; r.integer(recJob) != rows[at] {
			return fmt.Errorf("row %d came where %d was due", r.integer(recJob), rows[at])
		}
		room, err := found.add(r)
		full = !room
		if err != nil || !room {
			return orEnough(err)
		}
		job := found.jobs[len(found.jobs)-1]
		job.State, job.LockedBy = driver.Active, req.Worker
		job.LockExpiresAt, job.ProcessedAt = driver.Some(st.now.Add(req.LockDuration)), driver.Some(st.now)
		return nil
	}, string(list))
	if err != nil {
		return 0, false, err
	}
	took = len(found.jobs) - held
	if list, err = json.Marshal(rows[:took]); err != nil {
		return 0, false, err
	}
	if _, err := st.exec("claim_hold", string(list), req.Token, req.Worker, st.now.Add(req.LockDuration), st.now, st.counters.turns+1); err != nil {
		return 0, false, err
	}
	st.counters.turns += int64(took)
	for _, job := range found.jobs[held:] {
		st.move(job.Queue, job.Name, driver.Waiting, driver.Active)
	}
	return took, full, found.complete(st)
}

// best returns the best waiting jobs of those names, in order. It merges the names'
// own orders, reading each in pages, so that it costs as much as it returns and a
// seek per name.
func (st step) best(queue string, names []string, want int) ([]waitingJob, error) {
	pageSize := max(4, min(want, 2*want/len(names)+1))
	merged := merge[waitingJob]{less: func(a, b waitingJob) bool {
		if a.precedence != b.precedence {
			return a.precedence < b.precedence
		}
		return a.seq < b.seq
	}}
	for _, name := range names {
		err := merged.enter(func(after *waitingJob) (read []waitingJob, err error) {
			read = make([]waitingJob, 0, pageSize)
			each := func(r row) error {
				read = append(read, waitingJob{job: r.integer(0), precedence: r.integer(1), seq: r.integer(2)})
				return nil
			}
			if after == nil {
				err = st.query("waiting_first", each, queue, name, pageSize)
			} else {
				err = st.query("waiting_after", each, queue, name, after.precedence, after.seq, pageSize)
			}
			return read, err
		}, pageSize)
		if err != nil {
			return nil, err
		}
	}
	best := make([]waitingJob, 0, want)
	for len(best) < want {
		next, ok, err := merged.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		best = append(best, next)
	}
	return best, nil
}

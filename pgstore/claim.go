package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// claimAtOnce is how many jobs one transaction claims. It writes no more than that, and
// what is claimed is locked before it is known to be too large.
const claimAtOnce = driver.ChunkJobs

// Claim implements [driver.Consumer]. It promotes up to [driver.ChunkJobs] due jobs
// for each so many that it claims.
func (s *Store) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	if err := s.hub.listen(ctx); err != nil {
		return driver.ClaimResult{}, err
	}
	c := claiming{store: s, now: now, req: &req, names: unique(req.Names)}
	if req.Resume {
		if err := c.resume(ctx); err != nil {
			return driver.ClaimResult{}, err
		}
	}
	for {
		held := len(c.jobs)
		result, again, err := c.step(ctx)
		switch {
		case err != nil && held == 0:
			return driver.ClaimResult{}, err
		case err != nil:
			// What was claimed before is the caller's.
			return driver.ClaimResult{Jobs: c.jobs[:held], NextRunAt: driver.Some(now)}, nil //nolint:nilerr // the next claim meets it
		case !again:
			result.Jobs = c.jobs
			return result, nil
		}
	}
}

// unique returns the names, each once.
func unique(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// claiming is a claim under way.
type claiming struct {
	store *Store
	now   driver.Time
	req   *driver.ClaimRequest
	names []string
	jobs  []*driver.Job
	size  int64 // of the jobs, in bytes
	left  bool  // whether the latest step has left candidates
}

func (c *claiming) add(rows pgx.Rows) error {
	var size, place int64
	job, err := c.store.readJob(rows, &size, &place)
	switch {
	case err != nil:
		return err
	case job.ID == "":
		c.left = true
		return nil
	}
	c.jobs = append(c.jobs, job)
	c.size += size
	return nil
}

// resume reads the jobs still held under the request's token.
func (c *claiming) resume(ctx context.Context) error {
	return c.store.pipeline(ctx, "Claim", c.now, func(t *tx) {
		c.jobs, c.size = nil, 0
		t.query("claim_resume", c.add, c.req.Queue, c.req.Token, c.req.Limit)
	})
}

// step is one transaction of a claim. It reports whether there is reason for another.
func (c *claiming) step(ctx context.Context) (result driver.ClaimResult, again bool, err error) {
	held, size := len(c.jobs), c.size
	want := min(c.req.Limit-held, claimAtOnce)
	var promoted int
	var paused, moreDue bool
	var next *int64
	var promotedNames, promotedIDs []string
	before := c.store.hub.cursor()
	from := c.store.heads.of(c.req.Queue, c.names)
	promote := driver.ChunkJobs
	if from.anyLong {
		// These become strays, which are to be claimed before more come.
		promote = max(want, 1)
	}
	began := time.Now()
	err = c.store.pipeline(ctx, "Claim", c.now, func(t *tx) {
		c.jobs, c.size, c.left, promoted, next = c.jobs[:held], size, false, 0, nil
		t.scan("claim_promote", nil, []any{&promoted, &moreDue, &next, &paused, &promotedNames, &promotedIDs}, c.req.Queue, c.now, promote, from.anyLong, from.due)
		if want > 0 && len(c.names) > 0 {
			t.query("claim_hold", c.add, c.req.Queue, from.names, want, min(want+want/2+16, 4*driver.ChunkJobs), c.req.Token, c.req.Worker,
				c.now, c.now.Add(c.req.LockDuration), driver.ChunkBytes-c.size, held == 0,
				from.lows, from.highs, from.placeNames, from.placePriorities, from.places, from.strays)
		}
		t.settled = func() { t.counted = promoted > 0 || len(c.jobs) > held }
	})
	if err != nil {
		return result, false, err
	}
	strays := make([]stray, len(promotedIDs))
	for i, id := range promotedIDs {
		strays[i] = stray{c.req.Queue, promotedNames[i], id}
	}
	c.store.heads.add(strays)
	c.store.heads.took(c.req.Queue, c.jobs[held:], time.Since(began))
	if !moreDue {
		c.store.heads.promoted(c.req.Queue, c.now, promoted, time.Since(began))
	}
	result.Cursor = c.store.hub.promoted(c.req.Queue, promoted > 0, before)
	took := len(c.jobs) - held
	if paused || len(c.jobs) >= c.req.Limit {
		return result, false, nil
	}
	switch {
	case moreDue, took < want && (c.left || len(strays) > 0):
		// Candidates are left: others held them, the page is full, or they were promoted to
		// places that this claim did not look at.
		result.NextRunAt = driver.Some(c.now)
	case next != nil:
		result.NextRunAt = driver.Some(driver.Time(*next))
	}
	return result, took == claimAtOnce, nil
}

package redisstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var claimScript = loadScript("claim")

// claimHeader is how many strings of a claim's reply come before the records.
const claimHeader = 4

// Claim implements [driver.Consumer]. It promotes up to [driver.ChunkJobs] due jobs for
// each so many that it claims.
func (s *Store) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	var result driver.ClaimResult
	resume := req.Resume
	chunk, err := s.claimChunk(ctx, now, &req, resume, &result)
	for err == nil && chunk.full && !chunk.early && len(result.Jobs) < req.Limit {
		resume = resume && chunk.held == chunk.claimed
		chunk, err = s.claimChunk(ctx, now, &req, resume, &result)
	}
	if err != nil && len(result.Jobs) > 0 && !driver.OutcomeUnknown(err) {
		// What was claimed is the caller's, and the failed step claimed nothing. With an
		// unknown outcome the caller asks again, and gets all of it.
		result.NextRunAt, err = driver.Some(now), nil
	}
	if err != nil {
		return driver.ClaimResult{}, err
	}
	return result, nil
}

// claimedChunk tells what one step of a claim did.
type claimedChunk struct {
	claimed, held int
	full          bool // it claimed as many as it might
	early         bool // there may be more that did not fit
}

// claimChunk is one atomic step of a claim.
func (s *Store) claimChunk(ctx context.Context, now driver.Time, req *driver.ClaimRequest, resume bool, result *driver.ClaimResult) (claimedChunk, error) {
	skip := ""
	if resume {
		skip = strconv.Itoa(len(result.Jobs))
	}
	limit := min(req.Limit-len(result.Jobs), driver.ChunkJobs)
	args := make([]any, 0, 8+len(req.Names))
	args = append(args, req.Queue, req.Token, req.Worker, packTime(now.Add(req.LockDuration)),
		limit, driver.ChunkBytes, driver.ChunkJobs, skip)
	for _, name := range req.Names {
		args = append(args, name)
	}
	reply, err := s.run(ctx, "Claim", call{script: claimScript, now: packTime(now), args: args})
	if err != nil {
		return claimedChunk{}, err
	}
	strings, err := texts("Claim", reply)
	if err != nil {
		return claimedChunk{}, err
	}
	if len(strings) < claimHeader {
		return claimedChunk{}, storeError("Claim", errCorrupt)
	}
	jobs, err := unpackRecords(strings[claimHeader:])
	if err != nil {
		return claimedChunk{}, storeError("Claim", err)
	}
	turn, _ := strconv.ParseUint(strings[0], 10, 64)
	result.Cursor = driver.WakeCursor(turn)
	result.Jobs = append(result.Jobs, jobs...)
	early := strings[2] == "1"
	result.NextRunAt = nextRunAt(now, strings[1], early)
	if len(result.Jobs) >= req.Limit {
		result.NextRunAt = driver.Opt[driver.Time]{}
	}
	held, _ := strconv.Atoi(strings[3])
	return claimedChunk{claimed: len(jobs), held: held, full: len(jobs) == limit, early: early}, nil
}

// nextRunAt tells when another claim may find a job: at once if there are more, else
// when the first delayed one falls due, given as the score of a sorted set.
func nextRunAt(now driver.Time, due string, more bool) driver.Opt[driver.Time] {
	if more {
		return driver.Some(now)
	}
	at, ok := scoreTime(due)
	return driver.Opt[driver.Time]{Value: at, Set: ok}
}

// scoreTime reads a score as a time.
func scoreTime(score string) (driver.Time, bool) {
	if score == "" {
		return 0, false
	}
	if exact, err := strconv.ParseInt(score, 10, 64); err == nil {
		return driver.Time(exact), true
	}
	f, err := strconv.ParseFloat(score, 64)
	switch {
	case err != nil:
		return 0, false
	case f >= 1<<63:
		return 1<<63 - 1, true
	case f <= -1<<63:
		return -1 << 63, true
	}
	return driver.Time(f), true
}

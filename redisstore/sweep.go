package redisstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

var (
	sweepHistoryScript = loadScript("sweep_history")
	sweepDedupeScript  = loadScript("sweep_dedupe")
)

// SweepHistory implements [driver.Sweeper].
func (s *Store) SweepHistory(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	ceilings := make([]any, len(keepStates))
	for i, state := range keepStates {
		ceilings[i] = ""
		if age, ok := s.ceiling.For(state).Get(); ok {
			ceilings[i] = int64(age)
		}
	}
	return s.sweep(ctx, "SweepHistory", sweepHistoryScript, now, limit, ceilings...)
}

// SweepDedupe implements [driver.Sweeper].
func (s *Store) SweepDedupe(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepDedupe", sweepDedupeScript, now, limit)
}

// sweep runs a sweep's script in chunks: its arguments are how much it may delete, and
// args; it answers how much it did, and 1 if there may be more.
func (s *Store) sweep(ctx context.Context, op string, script *script, now driver.Time, limit int, args ...any) (driver.SweepResult, error) {
	var result driver.SweepResult
	for {
		chunk := min(limit-result.Deleted, driver.ChunkJobs)
		answers, err := s.runStates(ctx, op, call{script: script, now: packTime(now), args: append([]any{chunk}, args...)}, 2)
		if err != nil {
			return result, err
		}
		result.Deleted += int(answers[0])
		result.More = answers[1] == 1
		if !result.More || result.Deleted >= limit || answers[0] == 0 {
			return result, nil
		}
	}
}

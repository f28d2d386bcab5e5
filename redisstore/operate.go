package redisstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

var (
	cancelScript  = loadScript("cancel")
	promoteScript = loadScript("promote")
	retryScript   = loadScript("retry")
	removeScript  = loadScript("remove")
	pauseScript   = loadScript("pause")
)

// Cancel implements [driver.Operator].
func (s *Store) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Cancel", cancelScript, now, ids, driver.ErrNotCancellable)
}

// Promote implements [driver.Operator].
func (s *Store) Promote(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Promote", promoteScript, now, ids, driver.ErrNotPromotable)
}

// Retry implements [driver.Operator].
func (s *Store) Retry(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return s.operate(ctx, "Retry", retryScript, now, ids, driver.ErrNotRetryable)
}

// Remove implements [driver.Operator].
func (s *Store) Remove(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
	removed := make([]bool, 0, len(ids))
	err := s.eachID(ctx, "Remove", removeScript, now, ids, func(_ string, answer int64) {
		removed = append(removed, answer == 1)
	})
	return removed, err
}

// operate runs a script that answers each job with its state or why it was refused.
func (s *Store) operate(ctx context.Context, op string, script *script, now driver.Time, ids []string, refusal error) ([]driver.OperateResult, error) {
	results := make([]driver.OperateResult, 0, len(ids))
	err := s.eachID(ctx, op, script, now, ids, func(id string, answer int64) {
		var result driver.OperateResult
		switch {
		case answer > 0:
			result.State = driver.State(answer)
		case answer <= answerState:
			result.Err = &driver.StateError{Err: refusal, ID: id, State: driver.State(answerState - answer)}
		default:
			result.Err = driver.ErrNotFound
		}
		results = append(results, result)
	})
	return results, err
}

// eachID runs a script over a batch of ids, chunk by chunk, and hands on each answer.
func (s *Store) eachID(ctx context.Context, op string, script *script, now driver.Time, ids []string, answered func(id string, answer int64)) error {
	if len(ids) == 0 {
		return s.usable(ctx)
	}
	for from := 0; from < len(ids); from += driver.ChunkJobs {
		chunk := ids[from:min(from+driver.ChunkJobs, len(ids))]
		answers, err := s.runStates(ctx, op, call{script: script, now: packTime(now), args: anys(chunk)}, len(chunk))
		if err != nil {
			return partial(from, unknownItems(err, len(chunk)), err)
		}
		for i, answer := range answers {
			answered(chunk[i], answer)
		}
	}
	return nil
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// Pause implements [driver.Operator].
func (s *Store) Pause(ctx context.Context, queue string) error {
	_, err := s.run(ctx, "Pause", call{script: pauseScript, args: []any{queue, "1"}})
	return err
}

// Resume implements [driver.Operator].
func (s *Store) Resume(ctx context.Context, queue string) error {
	_, err := s.run(ctx, "Resume", call{script: pauseScript, args: []any{queue, "0"}})
	return err
}

// PausedQueues implements [driver.Operator].
func (s *Store) PausedQueues(ctx context.Context) ([]string, error) {
	return s.members(ctx, "PausedQueues", s.keys.key("PAUSED"))
}

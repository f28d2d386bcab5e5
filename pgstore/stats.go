package pgstore

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// Acks insert what they count into rows of their own, so that none waits for another's
// transaction; the folder sums them up.

// statKey names a stat.
type statKey struct {
	minute  driver.Time
	queue   string
	outcome driver.Outcome
}

// countRun counts the run that an accepted ack ended. rec is the job's record as it was
// before.
func (t *tx) countRun(rec record, kind driver.AckKind, after driver.State) {
	outcome, ended := kind.Outcome(after)
	if !ended || t.store.withoutStats {
		return
	}
	if t.stats == nil {
		t.stats = map[statKey]driver.Stat{}
	}
	run := driver.StatOf(t.now, outcome, rec.queue, rec.runAt, rec.processedAt)
	key := statKey{run.Minute, run.Queue, run.Outcome}
	if sum, known := t.stats[key]; known {
		run.Add(sum)
	}
	t.stats[key] = run
}

func (t *tx) flushStats() {
	n := len(t.stats)
	if n == 0 {
		return
	}
	t.counted = true
	minutes, queues, outcomes := make([]int64, 0, n), make([]string, 0, n), make([]int16, 0, n)
	runs, runTimes, waitTimes := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	for key, sum := range t.stats {
		minutes, queues, outcomes = append(minutes, int64(key.minute)), append(queues, key.queue), append(outcomes, int16(key.outcome))
		runs, runTimes = append(runs, sum.Count), append(runTimes, int64(sum.RunTime))
		waitTimes = append(waitTimes, int64(sum.WaitTime))
	}
	t.exec("stats_insert", minutes, queues, outcomes, runs, runTimes, waitTimes)
}

// statMinute is the minute that ack_plain counts runs under, NULL for no counting.
func (s *Store) statMinute(now driver.Time) *int64 {
	if s.withoutStats {
		return nil
	}
	return pointer(int64(now.Minute()))
}

// Stats implements [driver.StatsKeeper].
func (s *Store) Stats(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
	limit := cmp.Or(req.Limit, driver.DefaultStatsLimit)
	var result driver.StatsResult
	err := s.pipeline(ctx, "Stats", 0, func(t *tx) {
		result = driver.StatsResult{}
		t.query("stats_range", func(rows pgx.Rows) error {
			var stat driver.Stat
			var outcome int16
			err := rows.Scan((*int64)(&stat.Minute), &stat.Queue, &outcome, &stat.Count, (*int64)(&stat.RunTime), (*int64)(&stat.WaitTime))
			if err != nil || result.Next.Set {
				return err
			}
			if n := len(result.Stats); n >= limit && result.Stats[n-1].Minute != stat.Minute {
				result.Next = driver.Some(stat.Minute)
				return nil
			}
			stat.Outcome = driver.Outcome(outcome) //nolint:gosec // an outcome
			result.Stats = append(result.Stats, stat)
			return nil
		}, req.From, req.To, req.Queues, limit)
	})
	return result, err
}

// SweepStats implements [driver.StatsKeeper]. It folds first, so that what it counts as
// deleted is stats, and under the same lock: a fold that it met halfway would wait for it.
func (s *Store) SweepStats(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepStats", now, limit, func(t *tx, most int) (deleted int, more bool, err error) {
		var folded int
		t.exec("lock", []int64{s.lockKey("fold")})
		t.scan("stats_fold", nil, []any{&folded}, foldAtOnce)
		t.scan("stats_sweep", nil, []any{&deleted, &more}, now.Add(-driver.StatsKept), most)
		err = t.send()
		return deleted, more || folded == foldAtOnce, err
	})
}

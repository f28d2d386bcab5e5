package sqlitestore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/braidmq/braid/driver"
)

// statKey names a row of braid_stats.
type statKey struct {
	minute  driver.Time
	queue   string
	outcome driver.Outcome
}

// statSums are the rows of braid_stats that a transaction adds to.
type statSums map[statKey]driver.Stat

func (sums statSums) add(run driver.Stat) {
	key := statKey{run.Minute, run.Queue, run.Outcome}
	if sum, known := sums[key]; known {
		run.Add(sum)
	}
	sums[key] = run
}

// countRun counts the run that an accepted ack ended. rec is the job's record as it
// was before.
func (st step) countRun(rec record, kind driver.AckKind, after driver.State) {
	outcome, ended := kind.Outcome(after)
	if !ended || st.store.withoutStats {
		return
	}
	if st.tx.call.stats == nil {
		st.tx.call.stats = statSums{}
	}
	st.tx.call.stats.add(driver.StatOf(st.now, outcome, rec.queue, rec.runAt, rec.processedAt))
}

// flushStats writes what was counted.
func (t *tx) flushStats() error {
	for key, sum := range t.group.stats {
		if _, err := t.exec("stats_add", key.minute, key.queue, key.outcome, sum.Count, sum.RunTime, sum.WaitTime); err != nil {
			return err
		}
	}
	return nil
}

// Stats implements [driver.StatsKeeper].
func (s *Store) Stats(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
	limit := cmp.Or(req.Limit, driver.DefaultStatsLimit)
	var result driver.StatsResult
	err := s.read(ctx, "Stats", func(on session) error {
		return on.query("stats_range", func(r row) error {
			stat := driver.Stat{Minute: r.time(0), Queue: r.text(1), Outcome: driver.Outcome(r.integer(2)), Count: r.integer(3),
				RunTime: driver.Millis(r.integer(4)), WaitTime: driver.Millis(r.integer(5))}
			if n := len(result.Stats); n >= limit && result.Stats[n-1].Minute != stat.Minute {
				result.Next = driver.Some(stat.Minute)
				return errEnough
			}
			if req.Queues == nil || slices.Contains(req.Queues, stat.Queue) {
				result.Stats = append(result.Stats, stat)
			}
			return nil
		}, req.From, req.To)
	})
	return result, err
}

// SweepStats implements [driver.StatsKeeper].
func (s *Store) SweepStats(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepStats", limit, func(t *tx, most int) (deleted int, more bool, err error) {
		for {
			var oldest driver.Time
			more, err = first(t, "stats_oldest", func(r row) { oldest = r.time(0) }, now.Add(-driver.StatsKept))
			if err != nil || !more || deleted >= most {
				return deleted, more, err
			}
			n, err := t.affect("stats_delete", oldest)
			if err != nil {
				return deleted, true, err
			}
			deleted += int(n)
		}
	})
}

// SampleDepth implements [driver.StatsKeeper].
func (s *Store) SampleDepth(ctx context.Context, now driver.Time) error {
	counts, err := s.Counts(ctx, "")
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(counts)
	if err != nil {
		return storeError("SampleDepth", err)
	}
	return s.write(ctx, "SampleDepth", 1, func(t *tx) error {
		if _, err := t.affect("depths_delete", now.Add(-driver.StatsKept)); err != nil || s.withoutStats {
			return err
		}
		_, err := t.affect("depth_put", now.Minute(), string(encoded))
		return err
	})
}

// Depths implements [driver.StatsKeeper].
func (s *Store) Depths(ctx context.Context, from, to driver.Time) ([]driver.Depth, error) {
	var found []driver.Depth
	err := s.read(ctx, "Depths", func(on session) error {
		return on.query("depths_range", func(r row) error {
			found = append(found, driver.Depth{Minute: r.time(0)})
			return json.Unmarshal([]byte(r.text(1)), &found[len(found)-1].Counts)
		}, from, to)
	})
	return found, err
}

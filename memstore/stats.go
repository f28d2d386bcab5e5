package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// statBook counts the runs that acks end, minute by minute.
type statBook struct {
	minutes btree.Map[driver.Time, minuteStats]
	latest  minuteStats // of the minute latestAt; nil before the first run
	at      driver.Time
	depths  btree.Map[driver.Time, driver.Counts]
}

type minuteStats map[statKey]*driver.Stat

type statKey struct {
	queue   string
	outcome driver.Outcome
}

// add counts a run.
func (b *statBook) add(run driver.Stat) {
	if b.latest == nil || b.at != run.Minute {
		known, ok := b.minutes.Get(run.Minute)
		if !ok {
			known = minuteStats{}
			b.minutes.Set(run.Minute, known)
		}
		b.latest, b.at = known, run.Minute
	}
	key := statKey{run.Queue, run.Outcome}
	if sum := b.latest[key]; sum != nil {
		sum.Add(run)
		return
	}
	b.latest[key] = &run
}

// runBefore is what a run that an ack may end counts with.
type runBefore struct {
	queue       string
	runAt       driver.Time
	processedAt driver.Opt[driver.Time]
}

func (r *record) runBefore() runBefore {
	return runBefore{queue: r.queue(), runAt: r.job.RunAt, processedAt: r.processedAt}
}

// countRun counts the run that an accepted ack ended.
func (s *Store) countRun(now driver.Time, run runBefore, kind driver.AckKind, after driver.State) {
	if s.withoutStats {
		return
	}
	if outcome, ended := kind.Outcome(after); ended {
		s.stats.add(driver.StatOf(now, outcome, run.queue, run.runAt, run.processedAt))
	}
}

// Stats implements [driver.StatsKeeper].
func (s *Store) Stats(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
	var result driver.StatsResult
	if err := s.lock(ctx); err != nil {
		return result, err
	}
	defer s.mu.Unlock()
	limit := cmp.Or(req.Limit, driver.DefaultStatsLimit)
	s.stats.minutes.Ascend(req.From, func(at driver.Time, known minuteStats) bool {
		if at >= req.To {
			return false
		}
		if len(result.Stats) >= limit {
			result.Next = driver.Some(at)
			return false
		}
		first := len(result.Stats)
		for _, sum := range known {
			if req.Queues == nil || slices.Contains(req.Queues, sum.Queue) {
				result.Stats = append(result.Stats, *sum)
			}
		}
		slices.SortFunc(result.Stats[first:], func(a, b driver.Stat) int {
			return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Outcome, b.Outcome))
		})
		return true
	})
	return result, nil
}

// SweepStats implements [driver.StatsKeeper].
func (s *Store) SweepStats(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	var result driver.SweepResult
	if err := s.lock(ctx); err != nil {
		return result, err
	}
	defer s.mu.Unlock()
	for {
		at, known, ok := s.stats.minutes.Min()
		result.More = ok && at <= now.Add(-driver.StatsKept)
		if !result.More || result.Deleted >= limit {
			return result, nil
		}
		s.stats.minutes.Delete(at)
		result.Deleted += len(known)
		if at == s.stats.at {
			s.stats.latest = nil
		}
	}
}

// SampleDepth implements [driver.StatsKeeper].
func (s *Store) SampleDepth(ctx context.Context, now driver.Time) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	depths := &s.stats.depths
	for {
		if at, _, ok := depths.Min(); !ok || at > now.Add(-driver.StatsKept) {
			break
		}
		depths.PopMin()
	}
	if _, known := depths.Get(now.Minute()); !known && !s.withoutStats {
		depths.Set(now.Minute(), s.counts.public())
	}
	return nil
}

// Depths implements [driver.StatsKeeper].
func (s *Store) Depths(ctx context.Context, from, to driver.Time) ([]driver.Depth, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []driver.Depth
	s.stats.depths.Ascend(from, func(at driver.Time, counts driver.Counts) bool {
		if at < to {
			found = append(found, driver.Depth{Minute: at, Counts: counts})
		}
		return at < to
	})
	return found, nil
}

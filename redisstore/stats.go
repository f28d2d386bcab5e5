package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
)

var (
	statsScript      = loadScript("stats")
	statsSweepScript = loadScript("stats_sweep")
)

const (
	minute = driver.Time(time.Minute / time.Millisecond)
	// statFields is how many fields of stats one script reads, to the end of their
	// minute.
	statFields = 3000
)

// Stats implements [driver.StatsKeeper].
func (s *Store) Stats(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
	const op = "Stats"
	limit := cmp.Or(req.Limit, driver.DefaultStatsLimit)
	first, last := (req.From+minute-1).Minute()/minute, (req.To-1).Minute()/minute
	var result driver.StatsResult
	for {
		reply, err := s.run(ctx, op, call{script: statsScript,
			args: []any{int64(first), int64(last), min(statFields, 3*(limit-len(result.Stats)))}})
		if err != nil {
			return driver.StatsResult{}, err
		}
		strings, err := texts(op, reply)
		if err != nil {
			return driver.StatsResult{}, err
		}
		for rest := strings[1:]; len(rest) > 0; {
			number, _ := strconv.ParseInt(rest[0], 10, 64)
			if len(result.Stats) >= limit {
				result.Next = driver.Some(driver.Time(number) * minute)
				return result, nil
			}
			n, err := strconv.Atoi(rest[1])
			if err != nil || len(rest) < 2+n {
				return driver.StatsResult{}, storeError(op, errCorrupt)
			}
			stats, err := unpackStats(driver.Time(number)*minute, rest[2:2+n])
			if err != nil {
				return driver.StatsResult{}, storeError(op, err)
			}
			for _, stat := range stats {
				if req.Queues == nil || slices.Contains(req.Queues, stat.Queue) {
					result.Stats = append(result.Stats, stat)
				}
			}
			rest = rest[2+n:]
		}
		if strings[0] == "" {
			return result, nil
		}
		number, err := strconv.ParseInt(strings[0], 10, 64)
		if err != nil {
			return driver.StatsResult{}, storeError(op, errCorrupt)
		}
		if first = driver.Time(number); len(result.Stats) >= limit {
			result.Next = driver.Some(first * minute)
			return result, nil
		}
	}
}

// unpackStats reads the fields of a minute, as lib/stats.lua writes them.
func unpackStats(at driver.Time, fields []string) ([]driver.Stat, error) {
	type key struct {
		queue   string
		outcome driver.Outcome
	}
	sums := make(map[key]*driver.Stat)
	for i := 0; i+1 < len(fields); i += 2 {
		field := fields[i]
		value, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil || len(field) < 2 {
			return nil, errCorrupt
		}
		of := key{queue: field[2:], outcome: driver.Outcome(field[0] - '0')}
		sum := sums[of]
		if sum == nil {
			sum = &driver.Stat{Minute: at, Queue: of.queue, Outcome: of.outcome}
			sums[of] = sum
		}
		switch field[1] {
		case 'c':
			sum.Count = value
		case 'r':
			sum.RunTime = driver.Millis(value)
		case 'w':
			sum.WaitTime = driver.Millis(value)
		}
	}
	stats := make([]driver.Stat, 0, len(sums))
	for _, sum := range sums {
		stats = append(stats, *sum)
	}
	slices.SortFunc(stats, func(a, b driver.Stat) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Outcome, b.Outcome))
	})
	return stats, nil
}

// SweepStats implements [driver.StatsKeeper].
func (s *Store) SweepStats(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	newest := now.Add(-driver.StatsKept).Minute() / minute
	answers, err := s.runStates(ctx, "SweepStats", call{script: statsSweepScript, args: []any{int64(newest), limit}}, 2)
	if err != nil {
		return driver.SweepResult{}, err
	}
	return driver.SweepResult{Deleted: int(answers[0]), More: answers[1] == 1}, nil
}

package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
)

var (
	statsScript       = loadScript("stats")
	statsSweepScript  = loadScript("stats_sweep")
	depthSampleScript = loadScript("depth_sample")
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
		found, err := texts(op, reply)
		if err != nil {
			return driver.StatsResult{}, err
		}
		for rest := found[1:]; len(rest) > 0; {
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
		if found[0] == "" {
			return result, nil
		}
		number, err := strconv.ParseInt(found[0], 10, 64)
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

// SampleDepth implements [driver.StatsKeeper].
func (s *Store) SampleDepth(ctx context.Context, now driver.Time) error {
	oldest := now.Add(-driver.StatsKept).Minute() / minute
	_, err := s.run(ctx, "SampleDepth", call{script: depthSampleScript, args: []any{int64(now.Minute() / minute), int64(oldest)}})
	return err
}

// Depths implements [driver.StatsKeeper].
func (s *Store) Depths(ctx context.Context, from, to driver.Time) ([]driver.Depth, error) {
	const op = "Depths"
	first, last := (from+minute-1).Minute()/minute, (to-1).Minute()/minute
	var members []string
	err := s.read(ctx, op, func() (err error) {
		members, err = s.client.ZRangeByScore(ctx, s.keys.key("DEPTHS"), &redis.ZRangeBy{
			Min: strconv.FormatInt(int64(first), 10), Max: strconv.FormatInt(int64(last), 10)}).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	depths := make([]driver.Depth, len(members))
	for i, member := range members {
		numbers := strings.Fields(member)
		if len(numbers) != 1+len(driver.States) {
			return nil, storeError(op, errCorrupt)
		}
		at, _ := strconv.ParseInt(numbers[0], 10, 64)
		depths[i].Minute = driver.Time(at) * minute
		for n, state := range driver.States {
			*depths[i].Counts.Of(state), _ = strconv.ParseInt(numbers[1+n], 10, 64)
		}
	}
	return depths, nil
}

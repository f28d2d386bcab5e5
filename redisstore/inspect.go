package redisstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var (
	jobsScript     = loadScript("jobs")
	attemptsScript = loadScript("attempts")
	positionScript = loadScript("position")
)

// Jobs implements [driver.Inspector].
func (s *Store) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	jobs := make([]*driver.Job, len(ids))
	for from := 0; from < len(ids); {
		chunk := ids[from:min(from+driver.ChunkJobs, len(ids))]
		reply, err := s.run(ctx, "Jobs", call{script: jobsScript, args: append([]any{driver.ChunkBytes}, anys(chunk)...)})
		if err != nil {
			return nil, err
		}
		strings, err := texts("Jobs", reply)
		if err != nil {
			return nil, err
		}
		found, err := unpackRecords(strings[1:])
		if err != nil {
			return nil, storeError("Jobs", err)
		}
		looked, _ := strconv.Atoi(strings[0])
		if looked == 0 {
			return nil, storeError("Jobs", errCorrupt)
		}
		byID := make(map[string]*driver.Job, len(found))
		for _, job := range found {
			byID[job.ID] = job
		}
		for i, id := range chunk[:looked] {
			jobs[from+i] = byID[id]
		}
		from += looked
	}
	return jobs, s.usable(ctx)
}

// Attempts implements [driver.Inspector].
func (s *Store) Attempts(ctx context.Context, id string) ([]driver.Attempt, error) {
	var attempts []driver.Attempt
	for {
		reply, err := s.run(ctx, "Attempts", call{script: attemptsScript,
			args: []any{id, len(attempts), driver.ChunkJobs, driver.ChunkBytes}})
		if err != nil {
			return nil, err
		}
		strings, err := texts("Attempts", reply)
		if err != nil {
			return nil, err
		}
		for _, entry := range strings[1:] {
			attempt, err := unpackAttempt(entry)
			if err != nil {
				return nil, storeError("Attempts", err)
			}
			attempt.Attempt = int64(len(attempts)) + 1
			attempts = append(attempts, attempt)
		}
		total, _ := strconv.Atoi(strings[0])
		if len(attempts) >= total || len(strings) == 1 {
			return attempts, nil
		}
	}
}

// unpackAttempt reads a ledger entry, as lib/ledger.lua packs it: outcome, whether it
// has a start (1 byte each), start and end (8 each), worker (behind 2 bytes of length),
// where the exit lies (1), exit (behind 4).
func unpackAttempt(entry string) (driver.Attempt, error) {
	u := unpacker{rest: entry}
	attempt := driver.Attempt{Outcome: driver.Outcome(u.byte())}
	hasStart := u.byte() == 1
	start := u.time()
	if hasStart {
		attempt.StartedAt = driver.Some(start)
	}
	attempt.FinishedAt = u.time()
	attempt.Worker = u.text(2)
	u.take(1)
	if exit := u.text(4); exit != "" {
		attempt.Exit = []byte(exit)
	}
	return attempt, u.err()
}

// Counts implements [driver.Inspector].
func (s *Store) Counts(ctx context.Context, queue string) (driver.Counts, error) {
	var counts driver.Counts
	key := s.keys.key("COUNTS")
	if queue != "" {
		key = s.keys.key("COUNTSQ", queue)
	}
	var fields map[string]string
	err := s.read(ctx, "Counts", func() (err error) {
		fields, err = s.client.HGetAll(ctx, key).Result()
		return err
	})
	if err != nil {
		return counts, err
	}
	for _, state := range driver.States {
		*counts.Of(state), _ = strconv.ParseInt(fields[strconv.Itoa(int(state))], 10, 64)
	}
	return counts, nil
}

// Queues implements [driver.Inspector].
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	busy, err := s.members(ctx, "Queues", s.keys.key("QUEUES"))
	if err != nil {
		return nil, err
	}
	paused, err := s.members(ctx, "Queues", s.keys.key("PAUSED"))
	if err != nil {
		return nil, err
	}
	queues := slices.Concat(busy, paused)
	slices.Sort(queues)
	return slices.Compact(queues), nil
}

// members returns the members of a sorted set whose scores are equal, in byte order.
func (s *Store) members(ctx context.Context, op, key string) (members []string, err error) {
	err = s.read(ctx, op, func() (err error) {
		members, err = s.client.ZRange(ctx, key, 0, -1).Result()
		return err
	})
	return members, err
}

// read makes a call that changes nothing, so its outcome is never unknown.
func (s *Store) read(ctx context.Context, op string, work func() error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	err := make(chan error, 1)
	if lostErr := await(ctx, func() { err <- work() }); lostErr != nil {
		return &driver.StoreError{Op: op, Err: lostErr}
	}
	if err := <-err; err != nil {
		return storeError(op, err)
	}
	return nil
}

// Position implements [driver.Inspector].
func (s *Store) Position(ctx context.Context, id string) (driver.Opt[int], error) {
	reply, err := s.run(ctx, "Position", call{script: positionScript, args: []any{id, driver.PositionLimit}})
	if err != nil {
		return driver.Opt[int]{}, err
	}
	switch ahead, ok := reply.(int64); {
	case !ok:
		return driver.Opt[int]{}, storeError("Position", errCorrupt)
	case ahead == -1:
		return driver.Opt[int]{}, driver.ErrNotFound
	case ahead < 0:
		return driver.Opt[int]{}, nil
	default:
		return driver.Some(int(ahead)), nil
	}
}

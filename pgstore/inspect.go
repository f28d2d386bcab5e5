package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// Jobs implements [driver.Inspector].
func (s *Store) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	jobs := make([]*driver.Job, len(ids))
	if len(ids) == 0 {
		return jobs, s.serves(ctx)
	}
	for from := 0; from < len(ids); from += driver.ChunkJobs {
		part := ids[from:min(from+driver.ChunkJobs, len(ids))]
		err := s.pipeline(ctx, "Jobs", 0, func(t *tx) {
			t.query("jobs_read", func(rows pgx.Rows) error {
				var at int
				job, err := s.readJob(rows, &at)
				if err == nil {
					jobs[from+at-1] = job
				}
				return err
			}, part)
		})
		if err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// Attempts implements [driver.Inspector].
func (s *Store) Attempts(ctx context.Context, id string) ([]driver.Attempt, error) {
	var attempts []driver.Attempt
	err := s.pipeline(ctx, "Attempts", 0, func(t *tx) {
		attempts = nil
		t.query("attempts_of", func(rows pgx.Rows) error {
			var a driver.Attempt
			var startedAt *int64
			var outcome int16
			var worker, exit *string
			err := rows.Scan(&a.Attempt, &startedAt, (*int64)(&a.FinishedAt), &outcome, &worker, &exit)
			a.StartedAt, a.Outcome = timeOf(startedAt), driver.Outcome(outcome) //nolint:gosec // an outcome
			a.Worker, a.Exit = orZero(worker), bytesOf(exit)
			attempts = append(attempts, a)
			return err
		}, id)
	})
	return attempts, err
}

// Counts implements [driver.Inspector].
func (s *Store) Counts(ctx context.Context, queue string) (driver.Counts, error) {
	var counts driver.Counts
	err := s.pipeline(ctx, "Counts", 0, func(t *tx) {
		counts = driver.Counts{}
		t.query("counts_of_queue", func(rows pgx.Rows) error {
			var state int16
			var jobs int64
			err := rows.Scan(&state, &jobs)
			if err == nil {
				*counts.Of(driver.State(state)) = jobs //nolint:gosec // a state
			}
			return err
		}, queue)
	})
	return counts, err
}

// Queues implements [driver.Inspector].
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	return s.queueNames(ctx, "Queues", "queues_all")
}

// Position implements [driver.Inspector].
func (s *Store) Position(ctx context.Context, id string) (driver.Opt[int], error) {
	var position driver.Opt[int]
	var found bool
	err := s.pipeline(ctx, "Position", 0, func(t *tx) {
		position, found = driver.Opt[int]{}, false
		t.query("job_position", func(rows pgx.Rows) error {
			found = true
			var waiting bool
			var ahead int
			err := rows.Scan(&waiting, &ahead)
			if waiting {
				position = driver.Some(ahead)
			}
			return err
		}, id, driver.PositionLimit)
	})
	if err == nil && !found {
		return position, driver.ErrNotFound
	}
	return position, err
}

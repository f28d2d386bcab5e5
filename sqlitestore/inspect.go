package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// Jobs implements [driver.Inspector].
func (s *Store) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	jobs := make([]*driver.Job, len(ids))
	err := s.read(ctx, "Jobs", func(on session) error {
		for i, id := range ids {
			found := page{store: s, limit: 1}
			err := on.query("record_of_id", func(r row) error {
				_, err := found.add(r)
				return err
			}, id)
			if err != nil {
				return err
			}
			if err := found.complete(on); err != nil {
				return err
			}
			if len(found.jobs) > 0 {
				jobs[i] = found.jobs[0]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// Attempts implements [driver.Inspector].
func (s *Store) Attempts(ctx context.Context, id string) ([]driver.Attempt, error) {
	var attempts []driver.Attempt
	err := s.read(ctx, "Attempts", func(on session) error {
		return on.query("attempts_of", func(r row) error {
			attempts = append(attempts, driver.Attempt{
				Attempt: r.integer(0), StartedAt: r.optionalTime(1), FinishedAt: r.time(2),
				Outcome: driver.Outcome(r.integer(3)), Worker: r.text(4), Exit: r.bytes(5),
			})
			return nil
		}, id)
	})
	return attempts, err
}

// Counts implements [driver.Inspector].
func (s *Store) Counts(ctx context.Context, queue string) (driver.Counts, error) {
	var counts driver.Counts
	err := s.read(ctx, "Counts", func(on session) error {
		return on.query("counts_of_queue", func(r row) error {
			*counts.Of(r.state(0)) = r.integer(1)
			return nil
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
	err := s.read(ctx, "Position", func(on session) error {
		var state driver.State
		var queue string
		var precedence, seq int64
		found, err := first(on, "job_place", func(r row) {
			state, queue, precedence, seq = r.state(0), r.text(1), r.integer(2), r.integer(3)
		}, id)
		if err != nil {
			return err
		}
		if !found {
			return driver.ErrNotFound
		}
		if state != driver.Waiting {
			return nil
		}
		var names []string
		err = on.query("counts_names_waiting", func(r row) error {
			names = append(names, r.text(0))
			return nil
		}, queue)
		if err != nil {
			return err
		}
		ahead := 0
		for _, name := range names {
			_, err := first(on, "waiting_ahead", func(r row) { ahead += int(r.integer(0)) },
				queue, name, precedence, seq, driver.PositionLimit-ahead)
			if err != nil {
				return err
			}
		}
		position = driver.Some(ahead)
		return nil
	})
	return position, err
}

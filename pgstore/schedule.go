package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// readSchedule returns the schedule of a row.
func (s *Store) readSchedule(rows pgx.Rows) (driver.Schedule, error) {
	var d driver.Schedule
	var payload, metadata, settings *string
	var overlap int16
	err := rows.Scan(&d.Key, &d.JobName, &d.Queue, &d.Cron, &d.TZ, (*int64)(&d.Every), &payload, &metadata, &d.Priority,
		&d.AttemptsMax, &settings, &overlap, &d.Group, (*int64)(&d.NextRunAt), &d.LastJobID)
	if err != nil {
		return d, err
	}
	p, err := s.plans.Plan(orZero(settings))
	if err != nil {
		return d, err
	}
	d.Payload, d.Overlap = bytesOf(payload), driver.Overlap(overlap) //nolint:gosec // an overlap
	d.Backoff, d.Keep, d.Timeout = p.Backoff, p.Keep, p.Timeout
	d.Metadata, err = rowcodec.DecodeMetadata(orZero(metadata))
	return d, err
}

// UpsertSchedule implements [driver.Scheduler].
func (s *Store) UpsertSchedule(ctx context.Context, schedule driver.Schedule) (driver.Schedule, error) {
	stored := schedule
	err := s.pipeline(ctx, "UpsertSchedule", 0, func(t *tx) {
		t.scan("schedule_put", nil, []any{(*int64)(&stored.NextRunAt), &stored.LastJobID},
			schedule.Key, schedule.JobName, schedule.Queue, schedule.Cron, schedule.TZ, schedule.Every,
			optionalBytes(schedule.Payload), optional(rowcodec.EncodeMetadata(schedule.Metadata)), schedule.Priority, schedule.AttemptsMax,
			optional(rowcodec.EncodeSettings(schedule.Backoff, schedule.Keep, schedule.Timeout)), int16(schedule.Overlap), schedule.Group, schedule.NextRunAt)
	})
	return stored, err
}

// Schedule implements [driver.Scheduler].
func (s *Store) Schedule(ctx context.Context, key string) (driver.Schedule, error) {
	found, err := s.schedules(ctx, "Schedule", "schedule_of_key", key)
	if err == nil && len(found) == 0 {
		err = driver.ErrNotFound
	}
	if err != nil {
		return driver.Schedule{}, err
	}
	return found[0], nil
}

// Schedules implements [driver.Scheduler].
func (s *Store) Schedules(ctx context.Context, f driver.ScheduleFilter) ([]driver.Schedule, error) {
	var limit *int
	if f.Limit > 0 {
		limit = &f.Limit
	}
	return s.schedules(ctx, "Schedules", "schedules_after", f.Cursor, f.JobName, f.Queue, f.Group.Set, f.Group.Value, limit)
}

// DueSchedules implements [driver.Scheduler].
func (s *Store) DueSchedules(ctx context.Context, now driver.Time, after driver.Opt[driver.ScheduleCursor], limit int) ([]driver.Schedule, error) {
	position := after.Or(driver.ScheduleCursor{NextRunAt: minTime})
	return s.schedules(ctx, "DueSchedules", "schedules_due", now, position.NextRunAt, position.Key, max(limit, 0))
}

func (s *Store) schedules(ctx context.Context, op string, query statement, args ...any) ([]driver.Schedule, error) {
	var found []driver.Schedule
	err := s.pipeline(ctx, op, 0, func(t *tx) {
		found = nil
		t.query(query, func(rows pgx.Rows) error {
			schedule, err := s.readSchedule(rows)
			found = append(found, schedule)
			return err
		}, args...)
	})
	return found, err
}

// Tick implements [driver.Scheduler].
func (s *Store) Tick(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if req.Job.ID == "" {
		return false, &driver.InvalidError{Field: "id", Reason: "is empty; a slot's job is sched/<key>/<slot in ms>"}
	}
	fired := false
	err := s.transact(ctx, "Tick", now, func(t *tx) error {
		fired = false
		var due, skip bool
		t.scan("schedule_lock", &due, []any{&skip}, req.Key, req.Expected)
		if err := t.send(); err != nil || !due {
			return err
		}
		lastJob := ""
		if !skip {
			job := req.Job
			job.Dedupe = nil
			results := make([]driver.EnqueueResult, 1)
			if err := t.enqueue([]driver.EnqueueRequest{job}, results); err != nil {
				return err
			}
			if fired = !results[0].Duplicate; fired {
				lastJob = job.ID
			}
		}
		t.exec("schedule_advance", req.Key, req.Expected, req.Next, lastJob)
		return nil
	})
	return fired && err == nil, err
}

// Advance implements [driver.Scheduler].
func (s *Store) Advance(ctx context.Context, key string, expected, next driver.Time) (bool, error) {
	return s.affects(ctx, "Advance", "schedule_advance", key, expected, next, "")
}

// RemoveSchedule implements [driver.Scheduler].
func (s *Store) RemoveSchedule(ctx context.Context, key string) (bool, error) {
	return s.affects(ctx, "RemoveSchedule", "schedule_delete", key)
}

// affects runs one statement and reports whether it changed anything.
func (s *Store) affects(ctx context.Context, op string, st statement, args ...any) (bool, error) {
	var n int64
	err := s.pipeline(ctx, op, 0, func(t *tx) { t.affect(st, &n, args...) })
	return n > 0 && err == nil, err
}

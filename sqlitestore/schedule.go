package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// readSchedule returns the schedule of a row of braid_schedules.
func (s *Store) readSchedule(r row) (driver.Schedule, error) {
	p, err := s.plans.Plan(r.text(10))
	if err != nil {
		return driver.Schedule{}, err
	}
	metadata, err := rowcodec.DecodeMetadata(r.text(7))
	if err != nil {
		return driver.Schedule{}, err
	}
	return driver.Schedule{
		Key: r.text(0), JobName: r.text(1), Queue: r.text(2), Cron: r.text(3), TZ: r.text(4),
		Every: driver.Millis(r.integer(5)), Payload: r.bytes(6), Metadata: metadata, Priority: r.int32(8),
		AttemptsMax: r.int32(9), Backoff: p.Backoff, Keep: p.Keep, Timeout: p.Timeout,
		Overlap: driver.Overlap(r.integer(11)), Group: r.text(12), NextRunAt: r.time(13), LastJobID: r.text(14),
	}, nil
}

// UpsertSchedule implements [driver.Scheduler].
func (s *Store) UpsertSchedule(ctx context.Context, schedule driver.Schedule) (driver.Schedule, error) {
	var stored driver.Schedule
	err := s.write(ctx, "UpsertSchedule", 1, func(t *tx) error {
		old, found, err := t.schedule(schedule.Key)
		if err != nil {
			return err
		}
		stored = schedule
		stored.LastJobID = ""
		if found {
			stored.LastJobID = old.LastJobID
			if old.Cron == schedule.Cron && old.TZ == schedule.TZ && old.Every == schedule.Every {
				stored.NextRunAt = old.NextRunAt
			}
		}
		_, err = t.exec("schedule_put", stored.Key, stored.JobName, stored.Queue, stored.Cron, stored.TZ, stored.Every,
			stored.Payload, optional(rowcodec.EncodeMetadata(stored.Metadata)), stored.Priority, stored.AttemptsMax,
			optional(rowcodec.EncodeSettings(stored.Backoff, stored.Keep, stored.Timeout)), int(stored.Overlap), stored.Group,
			stored.NextRunAt, stored.LastJobID)
		return err
	})
	return stored, err
}

func (t *tx) schedule(key string) (schedule driver.Schedule, found bool, err error) {
	return t.store.scheduleOf(t, key)
}

func (s *Store) scheduleOf(on session, key string) (schedule driver.Schedule, found bool, err error) {
	err = on.query("schedule_of_key", func(r row) (err error) {
		found = true
		schedule, err = s.readSchedule(r)
		return err
	}, key)
	return schedule, found, err
}

// Schedule implements [driver.Scheduler].
func (s *Store) Schedule(ctx context.Context, key string) (driver.Schedule, error) {
	var schedule driver.Schedule
	err := s.read(ctx, "Schedule", func(on session) error {
		var found bool
		var err error
		if schedule, found, err = s.scheduleOf(on, key); err == nil && !found {
			err = driver.ErrNotFound
		}
		return err
	})
	return schedule, err
}

// Schedules implements [driver.Scheduler].
func (s *Store) Schedules(ctx context.Context, f driver.ScheduleFilter) ([]driver.Schedule, error) {
	limit := f.Limit
	if limit <= 0 {
		limit = -1
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
	err := s.read(ctx, op, func(on session) error {
		return on.query(query, func(r row) error {
			schedule, err := s.readSchedule(r)
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
	err := s.write(ctx, "Tick", 1, func(t *tx) error {
		fired = false
		schedule, found, err := t.schedule(req.Key)
		if err != nil || !found || schedule.NextRunAt != req.Expected {
			return err
		}
		if schedule.Overlap == driver.OverlapSkip && schedule.LastJobID != "" {
			last, err := t.record(schedule.LastJobID)
			if err != nil {
				return err
			}
			if last != nil && !last.state.Terminal() {
				_, err := t.exec("schedule_advance", req.Key, req.Expected, req.Next)
				return err
			}
		}
		job, err := step{tx: t, now: now}.insertJob(req.Job.ID, &req.Job)
		if err != nil {
			return err
		}
		if job == 0 {
			_, err = t.exec("schedule_advance", req.Key, req.Expected, req.Next)
			return err
		}
		fired = true
		_, err = t.exec("schedule_tick", req.Key, req.Next, req.Job.ID)
		return err
	})
	return fired && err == nil, err
}

// Advance implements [driver.Scheduler].
func (s *Store) Advance(ctx context.Context, key string, expected, next driver.Time) (bool, error) {
	return s.affects(ctx, "Advance", "schedule_advance", key, expected, next)
}

// RemoveSchedule implements [driver.Scheduler].
func (s *Store) RemoveSchedule(ctx context.Context, key string) (bool, error) {
	return s.affects(ctx, "RemoveSchedule", "schedule_delete", key)
}

// affects runs one statement and reports whether it changed anything.
func (s *Store) affects(ctx context.Context, op string, st statement, args ...any) (bool, error) {
	var n int64
	err := s.write(ctx, op, 1, func(t *tx) (err error) {
		n, err = t.affect(st, args...)
		return err
	})
	return n > 0 && err == nil, err
}

package redisstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

var (
	scheduleUpsertScript  = loadScript("schedule_upsert")
	scheduleGetScript     = loadScript("schedule_get")
	scheduleListScript    = loadScript("schedule_list")
	scheduleDueScript     = loadScript("schedule_due")
	scheduleTickScript    = loadScript("schedule_tick")
	scheduleAdvanceScript = loadScript("schedule_advance")
	scheduleRemoveScript  = loadScript("schedule_remove")
)

// UpsertSchedule implements [driver.Scheduler].
func (s *Store) UpsertSchedule(ctx context.Context, schedule driver.Schedule) (driver.Schedule, error) {
	const op = "UpsertSchedule"
	packed, err := packSchedule(&schedule)
	if err != nil {
		return driver.Schedule{}, err
	}
	reply, err := s.run(ctx, op, call{script: scheduleUpsertScript, args: []any{schedule.Key, packed}})
	if err != nil {
		return driver.Schedule{}, err
	}
	packed, _ = reply.(string)
	stored, err := unpackSchedule(schedule.Key, packed)
	if err != nil {
		return driver.Schedule{}, storeError(op, err)
	}
	return stored, nil
}

// Schedule implements [driver.Scheduler].
func (s *Store) Schedule(ctx context.Context, key string) (driver.Schedule, error) {
	const op = "Schedule"
	reply, err := s.run(ctx, op, call{script: scheduleGetScript, args: []any{key}})
	if err != nil {
		return driver.Schedule{}, err
	}
	packed, _ := reply.(string)
	if packed == "" {
		return driver.Schedule{}, driver.ErrNotFound
	}
	return readSchedule(key, packed), nil
}

// schedulePage is how many schedules one script reads.
const schedulePage = driver.ChunkJobs

// Schedules implements [driver.Scheduler].
func (s *Store) Schedules(ctx context.Context, f driver.ScheduleFilter) ([]driver.Schedule, error) {
	const op = "Schedules"
	begin := "-"
	if f.Cursor != "" {
		begin = "(" + f.Cursor
	}
	var found []driver.Schedule
	for {
		page, more, err := s.schedules(ctx, op, call{script: scheduleListScript,
			args: []any{begin, schedulePage, driver.ChunkBytes}})
		if err != nil {
			return nil, err
		}
		for _, schedule := range page {
			if matches(&f, &schedule) {
				found = append(found, schedule)
				if len(found) == f.Limit {
					return found, nil
				}
			}
		}
		if !more || len(page) == 0 {
			return found, nil
		}
		begin = "(" + page[len(page)-1].Key
	}
}

// matches reports whether a filter selects a schedule.
func matches(f *driver.ScheduleFilter, schedule *driver.Schedule) bool {
	group, byGroup := f.Group.Get()
	return (f.JobName == "" || f.JobName == schedule.JobName) &&
		(f.Queue == "" || f.Queue == schedule.Queue) &&
		(!byGroup || group == schedule.Group)
}

// DueSchedules implements [driver.Scheduler].
func (s *Store) DueSchedules(ctx context.Context, now driver.Time, after driver.Opt[driver.ScheduleCursor], limit int) ([]driver.Schedule, error) {
	const op = "DueSchedules"
	var due []driver.Schedule
	for len(due) < limit {
		behind, key := "", ""
		if position, given := after.Get(); given {
			behind, key = packTime(position.NextRunAt), position.Key
		}
		page, more, err := s.schedules(ctx, op, call{script: scheduleDueScript, now: packTime(now),
			args: []any{min(limit-len(due), schedulePage), driver.ChunkBytes, behind, key}})
		if err != nil {
			return nil, err
		}
		due = append(due, page...)
		if !more || len(page) == 0 {
			break
		}
		last := page[len(page)-1]
		after = driver.Some(driver.ScheduleCursor{NextRunAt: last.NextRunAt, Key: last.Key})
	}
	return due, nil
}

// schedules runs a script that returns a page of schedules.
func (s *Store) schedules(ctx context.Context, op string, c call) (page []driver.Schedule, more bool, err error) {
	reply, err := s.runTexts(ctx, op, c, 1)
	if err != nil {
		return nil, false, err
	}
	for rest := reply[1:]; len(rest) >= 2; rest = rest[2:] {
		page = append(page, readSchedule(rest[0], rest[1]))
	}
	return page, reply[0] == "1", nil
}

// Tick implements [driver.Scheduler].
func (s *Store) Tick(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
	if req.Job.ID == "" {
		return false, &driver.InvalidError{Field: "id", Reason: "is empty; a slot's job is sched/<key>/<slot in ms>"}
	}
	job, err := jobArgs(now, &req.Job)
	if err != nil {
		return false, err
	}
	args := append([]any{req.Key, packTime(req.Expected), packTime(req.Next), req.Job.ID}, job...)
	return s.runBool(ctx, "Tick", call{script: scheduleTickScript, now: packTime(now), args: args})
}

// Advance implements [driver.Scheduler].
func (s *Store) Advance(ctx context.Context, key string, expected, next driver.Time) (bool, error) {
	return s.runBool(ctx, "Advance", call{script: scheduleAdvanceScript, args: []any{key, packTime(expected), packTime(next)}})
}

// RemoveSchedule implements [driver.Scheduler].
func (s *Store) RemoveSchedule(ctx context.Context, key string) (bool, error) {
	return s.runBool(ctx, "RemoveSchedule", call{script: scheduleRemoveScript, args: []any{key}})
}

// runBool runs a script that answers 1 or 0.
func (s *Store) runBool(ctx context.Context, op string, c call) (bool, error) {
	reply, err := s.run(ctx, op, c)
	if err != nil {
		return false, err
	}
	answer, _ := reply.(int64)
	return answer == 1, nil
}

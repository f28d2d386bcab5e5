package memstore

import (
	"context"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// scheduleBook keeps the schedules. A stored schedule never changes: a new one
// takes its place.
type scheduleBook struct {
	byKey *btree.Map[string, driver.Schedule]
	due   *btree.BTreeG[driver.ScheduleCursor]
}

func newScheduleBook() scheduleBook {
	return scheduleBook{
		byKey: &btree.Map[string, driver.Schedule]{},
		due: newTree(func(a, b driver.ScheduleCursor) bool {
			if a.NextRunAt != b.NextRunAt {
				return a.NextRunAt < b.NextRunAt
			}
			return a.Key < b.Key
		}),
	}
}

func (b *scheduleBook) put(schedule driver.Schedule) {
	b.remove(schedule.Key)
	b.byKey.Set(schedule.Key, schedule)
	b.due.Set(driver.ScheduleCursor{NextRunAt: schedule.NextRunAt, Key: schedule.Key})
}

func (b *scheduleBook) remove(key string) bool {
	old, ok := b.byKey.Delete(key)
	if ok {
		b.due.Delete(driver.ScheduleCursor{NextRunAt: old.NextRunAt, Key: key})
	}
	return ok
}

// UpsertSchedule implements [driver.Scheduler].
func (s *Store) UpsertSchedule(ctx context.Context, schedule driver.Schedule) (driver.Schedule, error) {
	if err := s.lock(ctx); err != nil {
		return driver.Schedule{}, err
	}
	defer s.mu.Unlock()
	schedule.LastJobID = ""
	if old, ok := s.schedules.byKey.Get(schedule.Key); ok {
		schedule.LastJobID = old.LastJobID
		if old.Cron == schedule.Cron && old.TZ == schedule.TZ && old.Every == schedule.Every {
			schedule.NextRunAt = old.NextRunAt
		}
	}
	s.schedules.put(schedule)
	return schedule, nil
}

// Schedule implements [driver.Scheduler].
func (s *Store) Schedule(ctx context.Context, key string) (driver.Schedule, error) {
	if err := s.lock(ctx); err != nil {
		return driver.Schedule{}, err
	}
	defer s.mu.Unlock()
	schedule, ok := s.schedules.byKey.Get(key)
	if !ok {
		return driver.Schedule{}, driver.ErrNotFound
	}
	return schedule, nil
}

// Schedules implements [driver.Scheduler].
func (s *Store) Schedules(ctx context.Context, f driver.ScheduleFilter) ([]driver.Schedule, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []driver.Schedule
	s.schedules.byKey.Ascend(f.Cursor, func(key string, schedule driver.Schedule) bool {
		group, byGroup := f.Group.Get()
		switch {
		case key == f.Cursor && f.Cursor != "":
		case f.JobName != "" && f.JobName != schedule.JobName:
		case f.Queue != "" && f.Queue != schedule.Queue:
		case byGroup && group != schedule.Group:
		default:
			found = append(found, schedule)
		}
		return f.Limit <= 0 || len(found) < f.Limit
	})
	return found, nil
}

// DueSchedules implements [driver.Scheduler].
func (s *Store) DueSchedules(ctx context.Context, now driver.Time, after driver.Opt[driver.ScheduleCursor], limit int) ([]driver.Schedule, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var due []driver.Schedule
	collect := func(at driver.ScheduleCursor) bool {
		if at.NextRunAt > now || len(due) >= limit {
			return false
		}
		if position, given := after.Get(); !given || at != position {
			schedule, _ := s.schedules.byKey.Get(at.Key)
			due = append(due, schedule)
		}
		return true
	}
	if position, given := after.Get(); given {
		s.schedules.due.Ascend(position, collect)
	} else {
		s.schedules.due.Scan(collect)
	}
	return due, nil
}

// Tick implements [driver.Scheduler].
func (s *Store) Tick(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	if req.Job.ID == "" {
		return false, &driver.InvalidError{Field: "id", Reason: "is empty; a slot's job is sched/<key>/<slot in ms>"}
	}
	schedule, ok := s.schedules.byKey.Get(req.Key)
	if !ok || schedule.NextRunAt != req.Expected {
		return false, nil
	}
	fire := s.jobs[req.Job.ID] == nil
	if last := s.jobs[schedule.LastJobID]; schedule.Overlap == driver.OverlapSkip && last != nil && !last.job.State.Terminal() {
		fire = false
	}
	if fire {
		s.insert(now, req.Job.ID, &req.Job)
		schedule.LastJobID = req.Job.ID
	}
	schedule.NextRunAt = req.Next
	s.schedules.put(schedule)
	return fire, nil
}

// Advance implements [driver.Scheduler].
func (s *Store) Advance(ctx context.Context, key string, expected, next driver.Time) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	schedule, ok := s.schedules.byKey.Get(key)
	if !ok || schedule.NextRunAt != expected {
		return false, nil
	}
	schedule.NextRunAt = next
	s.schedules.put(schedule)
	return true, nil
}

// RemoveSchedule implements [driver.Scheduler].
func (s *Store) RemoveSchedule(ctx context.Context, key string) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	return s.schedules.remove(key), nil
}

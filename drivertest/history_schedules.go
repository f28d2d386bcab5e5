package drivertest

import "github.com/braidmq/braid/driver"

// The calls of a history that concern schedules.

type upsertCall struct{ driver.Schedule }

func (c upsertCall) on(s *side, _ driver.Time) answer {
	stored, err := s.store.UpsertSchedule(s.ctx, c.Schedule)
	return texts(stored, err)
}

type dueCall struct {
	After driver.Opt[driver.ScheduleCursor]
	Limit int
}

func (c dueCall) on(s *side, now driver.Time) answer {
	due, err := s.store.DueSchedules(s.ctx, now, c.After, c.Limit)
	return texts(due, err)
}

type schedulesCall struct {
	Key string
	driver.ScheduleFilter
}

func (c schedulesCall) on(s *side, _ driver.Time) answer {
	one, oneErr := s.store.Schedule(s.ctx, c.Key)
	some, err := s.store.Schedules(s.ctx, c.ScheduleFilter)
	return texts(one, oneErr, some, err)
}

type tickCall struct{ driver.TickRequest }

func (c tickCall) on(s *side, now driver.Time) answer {
	fired, err := s.store.Tick(s.ctx, now, c.TickRequest)
	return texts(fired, err)
}

type advanceCall struct {
	Key            string
	Expected, Next driver.Time
}

func (c advanceCall) on(s *side, _ driver.Time) answer {
	advanced, err := s.store.Advance(s.ctx, c.Key, c.Expected, c.Next)
	return texts(advanced, err)
}

type removeScheduleCall struct{ Key string }

func (c removeScheduleCall) on(s *side, _ driver.Time) answer {
	removed, err := s.store.RemoveSchedule(s.ctx, c.Key)
	return texts(removed, err)
}

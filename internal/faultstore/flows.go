package faultstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// UpsertSchedule implements driver.Scheduler.
func (s *Store) UpsertSchedule(ctx context.Context, schedule driver.Schedule) (driver.Schedule, error) {
	return call(ctx, s, "UpsertSchedule", func() (driver.Schedule, error) {
		return s.inner.UpsertSchedule(ctx, schedule)
	})
}

// Schedule implements driver.Scheduler.
func (s *Store) Schedule(ctx context.Context, key string) (driver.Schedule, error) {
	return call(ctx, s, "Schedule", func() (driver.Schedule, error) {
		return s.inner.Schedule(ctx, key)
	})
}

// Schedules implements driver.Scheduler.
func (s *Store) Schedules(ctx context.Context, f driver.ScheduleFilter) ([]driver.Schedule, error) {
	return call(ctx, s, "Schedules", func() ([]driver.Schedule, error) {
		return s.inner.Schedules(ctx, f)
	})
}

// DueSchedules implements driver.Scheduler.
func (s *Store) DueSchedules(ctx context.Context, now driver.Time, after driver.Opt[driver.ScheduleCursor], limit int) ([]driver.Schedule, error) {
	return call(ctx, s, "DueSchedules", func() ([]driver.Schedule, error) {
		return s.inner.DueSchedules(ctx, now, after, limit)
	})
}

// Tick implements driver.Scheduler.
func (s *Store) Tick(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
	return call(ctx, s, "Tick", func() (bool, error) {
		return s.inner.Tick(ctx, now, req)
	})
}

// Advance implements driver.Scheduler.
func (s *Store) Advance(ctx context.Context, key string, expected, next driver.Time) (bool, error) {
	return call(ctx, s, "Advance", func() (bool, error) {
		return s.inner.Advance(ctx, key, expected, next)
	})
}

// RemoveSchedule implements driver.Scheduler.
func (s *Store) RemoveSchedule(ctx context.Context, key string) (bool, error) {
	return call(ctx, s, "RemoveSchedule", func() (bool, error) {
		return s.inner.RemoveSchedule(ctx, key)
	})
}

// StageChildren implements driver.FlowStore.
func (s *Store) StageChildren(ctx context.Context, flowID, token string, page []driver.StagedChild) error {
	return callError(ctx, s, "StageChildren", func() error { return s.inner.StageChildren(ctx, flowID, token, page) })
}

// RecordChildResults implements driver.FlowStore.
func (s *Store) RecordChildResults(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
	return call(ctx, s, "RecordChildResults", func() ([]driver.RecordResult, error) {
		return s.inner.RecordChildResults(ctx, now, reports)
	})
}

// FlowSweepWork implements driver.FlowStore.
func (s *Store) FlowSweepWork(ctx context.Context, now driver.Time, pendingAge driver.Millis, limit int) (driver.FlowWork, error) {
	return call(ctx, s, "FlowSweepWork", func() (driver.FlowWork, error) {
		return s.inner.FlowSweepWork(ctx, now, pendingAge, limit)
	})
}

// MarkChildrenCascaded implements driver.FlowStore.
func (s *Store) MarkChildrenCascaded(ctx context.Context, now driver.Time, refs []driver.ChildRef) error {
	return callError(ctx, s, "MarkChildrenCascaded", func() error { return s.inner.MarkChildrenCascaded(ctx, now, refs) })
}

// Children implements driver.FlowStore.
func (s *Store) Children(ctx context.Context, flowID string, childKeys []string) ([]*driver.Child, error) {
	return call(ctx, s, "Children", func() ([]*driver.Child, error) {
		return s.inner.Children(ctx, flowID, childKeys)
	})
}

// ListChildResults implements driver.FlowStore.
func (s *Store) ListChildResults(ctx context.Context, flowID, cursor string, limit int) (driver.ChildPage, error) {
	return call(ctx, s, "ListChildResults", func() (driver.ChildPage, error) {
		return s.inner.ListChildResults(ctx, flowID, cursor, limit)
	})
}

// PeekOutbox implements driver.FlowStore.
func (s *Store) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	return call(ctx, s, "PeekOutbox", func() ([]driver.OutboxEntry, error) {
		return s.inner.PeekOutbox(ctx, now, req)
	})
}

// DeleteOutbox implements driver.FlowStore.
func (s *Store) DeleteOutbox(ctx context.Context, ids []string) error {
	return callError(ctx, s, "DeleteOutbox", func() error { return s.inner.DeleteOutbox(ctx, ids) })
}

// OutboxBacklog implements driver.FlowStore.
func (s *Store) OutboxBacklog(ctx context.Context) (driver.OutboxBacklog, error) {
	return call(ctx, s, "OutboxBacklog", func() (driver.OutboxBacklog, error) {
		return s.inner.OutboxBacklog(ctx)
	})
}

// SweepHistory implements driver.Sweeper.
func (s *Store) SweepHistory(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return call(ctx, s, "SweepHistory", func() (driver.SweepResult, error) {
		return s.inner.SweepHistory(ctx, now, limit)
	})
}

// SweepDedupe implements driver.Sweeper.
func (s *Store) SweepDedupe(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return call(ctx, s, "SweepDedupe", func() (driver.SweepResult, error) {
		return s.inner.SweepDedupe(ctx, now, limit)
	})
}

// SweepFlows implements driver.Sweeper.
func (s *Store) SweepFlows(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return call(ctx, s, "SweepFlows", func() (driver.SweepResult, error) {
		return s.inner.SweepFlows(ctx, now, limit)
	})
}

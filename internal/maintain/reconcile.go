package maintain

import (
	"context"
	"errors"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/cron"
)

// Removal says what Reconcile does with members of the group that are not declared
// any more.
type Removal uint8

// The removals.
const (
	RemovalWarn  Removal = iota // they are returned, and go on
	RemovalPrune                // they are removed at once
)

// Reconciled is what Reconcile did.
type Reconciled struct {
	Stored []driver.Schedule // the declared schedules as the store has them
	// Undeclared are the members of the group that are not declared, in byte order of
	// their keys. To remove them later, give them to Prune then.
	Undeclared []string
	// Pruned are those of Undeclared that were removed.
	Pruned []string
}

// Reconcile makes a group of schedules what was declared: it upserts each under the
// group, with its first slot as cron.FirstSlot has it, and finds the members that
// are not declared any more. Schedules without a group, and of other groups, are
// not touched, unless they are declared here by their key.
//
// A key that is declared twice, a bad group and a cadence that never fires are
// [*driver.InvalidError]s, before anything is stored.
func Reconcile(
	ctx context.Context, store driver.Scheduler, now driver.Time, group string, declared []driver.Schedule, removal Removal,
) (Reconciled, error) {
	var result Reconciled
	prepared, err := prepare(now, group, declared)
	if err != nil {
		return result, err
	}
	keys := make([]string, len(prepared))
	for i, schedule := range prepared {
		keys[i] = schedule.Key
		stored, err := store.UpsertSchedule(ctx, schedule)
		if err != nil {
			return result, err
		}
		result.Stored = append(result.Stored, stored)
	}
	if result.Undeclared, err = Undeclared(ctx, store, group, keys); err != nil || removal != RemovalPrune {
		return result, err
	}
	result.Pruned, err = Prune(ctx, store, group, result.Undeclared)
	return result, err
}

// Undeclared returns the keys of a group's members that are not declared, in byte
// order.
func Undeclared(ctx context.Context, store driver.Scheduler, group string, declared []string) ([]string, error) {
	known := make(map[string]bool, len(declared))
	for _, key := range declared {
		known[key] = true
	}
	var undeclared []string
	const limit = driver.ChunkJobs
	for filter := (driver.ScheduleFilter{Group: driver.Some(group), Limit: limit}); ; {
		page, err := store.Schedules(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, schedule := range page {
			if !known[schedule.Key] {
				undeclared = append(undeclared, schedule.Key)
			}
		}
		if len(page) < limit {
			return undeclared, nil
		}
		filter.Cursor = page[limit-1].Key
	}
}

// Prune removes those of keys that are members of the group now, and returns the
// removed ones. A caller that waits before it prunes gives the keys that were
// undeclared when it began to wait, so that it never removes what a newer version
// of the program has declared since.
func Prune(ctx context.Context, store driver.Scheduler, group string, keys []string) ([]string, error) {
	var pruned []string
	for _, key := range keys {
		schedule, err := store.Schedule(ctx, key)
		if errors.Is(err, driver.ErrNotFound) || err == nil && schedule.Group != group {
			continue
		}
		if err != nil {
			return pruned, err
		}
		removed, err := store.RemoveSchedule(ctx, key)
		if err != nil {
			return pruned, err
		}
		if removed {
			pruned = append(pruned, key)
		}
	}
	return pruned, nil
}

// prepare checks a declared set and completes its members.
func prepare(now driver.Time, group string, declared []driver.Schedule) ([]driver.Schedule, error) {
	if err := driver.CheckText("group", group, driver.MaxNameBytes); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(declared))
	prepared := make([]driver.Schedule, len(declared))
	for i, schedule := range declared {
		if err := driver.CheckText("schedule key", schedule.Key, driver.MaxKeyBytes); err != nil {
			return nil, err
		}
		if seen[schedule.Key] {
			return nil, &driver.InvalidError{Field: "schedule key", Value: schedule.Key,
				Reason: "is declared twice in group " + group + "; give each schedule its own key"}
		}
		seen[schedule.Key] = true
		first, ok, err := cron.FirstSlot(schedule, now)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &driver.InvalidError{Field: "cron", Value: schedule.Cron,
				Reason: "never matches; choose a day of month that its months have"}
		}
		schedule.Group, schedule.NextRunAt = group, first
		prepared[i] = schedule
	}
	return prepared, nil
}

package braid

import (
	"context"
	"log/slog"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/maintain"
)

// A SyncItem is part of a declared set of schedules: an entry, from [Job.Entry], or
// an option, [Prune] or [PruneAfter].
type SyncItem interface{ addTo(*scheduleSet) }

// ScheduleEntry declares one schedule of a set.
type ScheduleEntry struct {
	key   string
	store string
	build func(*Client) (driver.Schedule, error)
}

// Prune removes the schedules of the group that are not declared any more. Without
// it they are logged, and go on.
func Prune() SyncItem { return syncOption(func(set *scheduleSet) { set.prune = true }) }

// PruneAfter is [Prune] with a delay, after which is looked again: so that old and
// new versions of a program can run side by side while one replaces the other. The
// client does it; a client that is closed before then does not.
func PruneAfter(d time.Duration) SyncItem {
	return syncOption(func(set *scheduleSet) {
		set.prune, set.after = true, d
		if d < 0 {
			set.err = &driver.InvalidError{Field: "prune after", Value: d.String(), Reason: "use 0 or a positive duration"}
		}
	})
}

// SyncSchedules declares all schedules of a group: it upserts the entries, which may
// belong to several stores, and deals with members of the group that are no longer
// declared. Schedules without a group, or of another, are never touched. Nothing is
// stored if an entry is not valid or a key is declared twice.
func SyncSchedules(ctx context.Context, client *Client, group string, items ...SyncItem) error {
	set := scheduleSet{client: client, group: group, byStore: make(map[string][]driver.Schedule)}
	if err := set.collect(items); err != nil {
		return err
	}
	for _, store := range client.Stores() {
		if err := set.sync(ctx, client.On(store)); err != nil {
			return err
		}
	}
	return nil
}

type syncOption func(*scheduleSet)

func (o syncOption) addTo(set *scheduleSet) { o(set) }

func (e ScheduleEntry) addTo(set *scheduleSet) {
	client := set.client.forDefinition(e.store)
	err := client.ready()
	if err == nil && e.build == nil {
		err = &driver.InvalidError{Field: "schedule entry", Reason: "is empty; use Job.Entry"}
	}
	var schedule driver.Schedule
	if err == nil {
		schedule, err = e.build(client)
	}
	if err != nil {
		if set.err == nil {
			set.err = err
		}
		return
	}
	schedule.Group = set.group
	set.byStore[client.store.name] = append(set.byStore[client.store.name], schedule)
}

// scheduleSet is a declared set on its way into the stores.
type scheduleSet struct {
	client  *Client
	group   string
	byStore map[string][]driver.Schedule
	prune   bool
	after   time.Duration
	err     error
}

func (set *scheduleSet) collect(items []SyncItem) error {
	if err := set.client.ready(); err != nil {
		return err
	}
	if err := driver.CheckText("group", set.group, driver.MaxNameBytes); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, item := range items {
		if entry, ok := item.(ScheduleEntry); ok {
			id := entry.store + "\x00" + entry.key
			if seen[id] {
				return &driver.InvalidError{Field: "schedule key", Value: entry.key, Reason: "is declared twice in the set; give every schedule its own key"}
			}
			seen[id] = true
		}
		if item != nil {
			item.addTo(set)
		}
	}
	return set.err
}

// sync makes one store's part of the group what was declared.
func (set *scheduleSet) sync(ctx context.Context, client *Client) error {
	ctx, cancel, err := client.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	removal := maintain.RemovalWarn
	if set.prune && set.after == 0 {
		removal = maintain.RemovalPrune
	}
	store, declared := client.store, set.byStore[client.store.name]
	result, err := maintain.Reconcile(ctx, store.driver, client.now(), set.group, declared, removal)
	if err != nil {
		return err
	}
	logger := client.shared.logger.With("group", set.group, "store", store.name)
	switch {
	case len(result.Undeclared) == 0:
	case set.prune && set.after > 0:
		logger.Info("braid: schedules are not declared any more; they will be removed", "keys", result.Undeclared, "after", set.after)
		set.pruneLater(client, result.Undeclared, logger)
	case set.prune:
		logger.Info("braid: schedules that were not declared any more were removed", "keys", result.Pruned)
	default:
		logger.Warn("braid: schedules are not declared any more, and go on; see braid.Prune", "keys", result.Undeclared)
	}
	return nil
}

// pruneLater prunes after the delay, unless the client is closed before.
func (set *scheduleSet) pruneLater(client *Client, keys []string, logger *slog.Logger) {
	client.shared.background(func(closed <-chan struct{}) {
		timer := time.NewTimer(set.after)
		defer timer.Stop()
		select {
		case <-closed:
			return
		case <-timer.C:
		}
		ctx, cancel, err := client.begin(context.Background())
		if err != nil {
			return
		}
		defer cancel()
		pruned, err := maintain.Prune(ctx, client.store.driver, set.group, keys)
		if err != nil {
			logger.Error("braid: undeclared schedules could not be removed; the next declaration removes them", "error", err)
		}
		if len(pruned) > 0 {
			logger.Info("braid: schedules that were not declared any more were removed", "keys", pruned)
		}
	})
}

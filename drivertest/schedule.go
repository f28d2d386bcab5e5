package drivertest

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

// schedule returns a plain schedule, due at 1000.
func schedule(key string) driver.Schedule {
	return driver.Schedule{
		Key: key, JobName: someName, Queue: someQueue, Every: 1000, AttemptsMax: 3, NextRunAt: 1000,
	}
}

// fullSchedule returns a schedule with every field set.
func fullSchedule(key string) driver.Schedule {
	r := request("", everything)
	return driver.Schedule{
		Key: key, JobName: "report", Queue: "reports", Cron: "0 9 * * *", TZ: "America/New_York",
		Payload: r.Payload, Metadata: r.Metadata, Priority: r.Priority, AttemptsMax: r.AttemptsMax, Backoff: r.Backoff,
		Keep: r.Keep, Timeout: r.Timeout, Overlap: driver.OverlapSkip, Group: "team-a", NextRunAt: 5000,
	}
}

// upsert stores a schedule and returns what is stored.
func (t *T) upsert(s driver.Schedule) driver.Schedule {
	t.Helper()
	stored, err := t.Store.UpsertSchedule(t.ctx, s)
	t.must("UpsertSchedule", err)
	return stored
}

// schedule returns a schedule that must exist.
func (t *T) schedule(key string) driver.Schedule {
	t.Helper()
	s, err := t.Store.Schedule(t.ctx, key)
	t.must("Schedule", err)
	return s
}

// tick ticks and returns the answer.
func (t *T) tick(now driver.Time, req driver.TickRequest) bool {
	t.Helper()
	ticked, err := t.Store.Tick(t.ctx, now, req)
	t.must("Tick", err)
	return ticked
}

// slot returns a plain tick of a schedule's slot.
func slot(key string, at, next driver.Time) driver.TickRequest {
	return driver.TickRequest{Key: key, Expected: at, Next: next, Job: request(fmt.Sprintf("sched/%s/%d", key, at))}
}

// keysOf returns the keys of the schedules of a filter.
func (t *T) keysOf(f driver.ScheduleFilter) []string {
	t.Helper()
	list, err := t.Store.Schedules(t.ctx, f)
	t.must("Schedules", err)
	return keysIn(list)
}

// due returns the keys of the due schedules.
func (t *T) due(now driver.Time, behind driver.Opt[driver.ScheduleCursor], limit int) []string {
	t.Helper()
	list, err := t.Store.DueSchedules(t.ctx, now, behind, limit)
	t.must("DueSchedules", err)
	return keysIn(list)
}

func keysIn(list []driver.Schedule) []string {
	var keys []string
	for _, s := range list {
		keys = append(keys, s.Key)
	}
	return keys
}

func init() {
	register("Schedule/EveryFieldPersists",
		"A schedule comes back with every field that it was stored with.",
		func(t *T) {
			want := fullSchedule("daily")
			t.equal("upsert", t.upsert(want), want)
			t.equal("Schedule", t.schedule("daily"), want)
			list, err := t.Store.Schedules(t.ctx, driver.ScheduleFilter{})
			t.must("Schedules", err)
			t.equal("Schedules", list, []driver.Schedule{want})
			list, err = t.Store.DueSchedules(t.ctx, 5000, driver.Opt[driver.ScheduleCursor]{}, 10)
			t.must("DueSchedules", err)
			t.equal("DueSchedules", list, []driver.Schedule{want})
			plain := schedule("plain")
			t.equal("upsert of a plain one", t.upsert(plain), plain)
			t.equal("plain", t.schedule("plain"), plain)
		})

	register("Schedule/Unknown",
		"An unknown key is ErrNotFound; nothing ticks, advances or is removed.",
		func(t *T) {
			_, err := t.Store.Schedule(t.ctx, "unknown")
			t.failsWith("Schedule", err, driver.ErrNotFound)
			t.equal("Tick", t.tick(1000, slot("unknown", 1000, 2000)), false)
			t.equal("Advance", t.advance("unknown", 1000, 2000), false)
			t.equal("Remove", t.removeSchedule("unknown"), false)
			t.equal("counts", t.counts(""), driver.Counts{})
			t.equal("keys", t.keysOf(driver.ScheduleFilter{}), []string(nil))
		})

	register("Schedule/UpsertKeepsTheSlot",
		"With an unchanged cadence an upsert keeps NextRunAt and replaces everything else.",
		func(t *T) {
			first := fullSchedule("a")
			t.upsert(first)
			second := schedule("a")
			second.Every, second.Cron, second.TZ = 0, first.Cron, first.TZ
			second.NextRunAt = 99_000
			got := t.upsert(second)
			second.NextRunAt = first.NextRunAt
			t.equal("upsert", got, second)
			t.equal("Schedule", t.schedule("a"), second)
		})

	cadences := []struct {
		name string
		edit func(s *driver.Schedule)
	}{
		{"Cron", func(s *driver.Schedule) { s.Cron = "0 10 * * *" }},
		{"Zone", func(s *driver.Schedule) { s.TZ = "Europe/Dublin" }},
		{"CronToEvery", func(s *driver.Schedule) { s.Cron, s.TZ, s.Every = "", "", 60_000 }},
	}
	for _, c := range cadences {
		register("Schedule/UpsertWithAnother"+c.name,
			"With a changed cadence the NextRunAt of the upsert counts.",
			func(t *T) {
				s := fullSchedule("a")
				t.upsert(s)
				c.edit(&s)
				s.NextRunAt = 700
				t.equal("upsert", t.upsert(s), s)
				t.equal("Schedule", t.schedule("a"), s)
				t.equal("due", t.due(700, driver.Opt[driver.ScheduleCursor]{}, 10), []string{"a"})
			})
	}

	register("Schedule/UpsertWithAnotherInterval",
		"With a changed interval the NextRunAt of the upsert counts; with the same one it is kept.",
		func(t *T) {
			s := schedule("a")
			t.upsert(s)
			s.Every, s.NextRunAt = 2000, 3000
			t.equal("another interval", t.upsert(s).NextRunAt, driver.Time(3000))
			s.NextRunAt = 9000
			t.equal("the same interval", t.upsert(s).NextRunAt, driver.Time(3000))
			t.equal("due at the old slot", t.due(2999, driver.Opt[driver.ScheduleCursor]{}, 10), []string(nil))
		})

	register("Schedule/UpsertKeepsTheLastJob",
		"An upsert keeps LastJobID, which only the store sets.",
		func(t *T) {
			s := schedule("a")
			s.LastJobID = "made up"
			t.equal("LastJobID of a new schedule", t.upsert(s).LastJobID, "")
			t.tick(1000, slot("a", 1000, 2000))
			t.equal("LastJobID after a tick", t.schedule("a").LastJobID, "sched/a/1000")
			s.Every = 5000
			t.equal("LastJobID after an upsert", t.upsert(s).LastJobID, "sched/a/1000")
		})

	register("Schedule/Filters",
		"A list filters by job name, queue and group, in byte order of the keys.",
		func(t *T) {
			for _, s := range []struct{ key, name, queue, group string }{
				{"b", "x", "p", "g"}, {"a", "x", "q", "g"}, {"B", "y", "p", "h"}, {"ä", "y", "q", ""}, {"c", "x", "p", ""},
			} {
				d := schedule(s.key)
				d.JobName, d.Queue, d.Group = s.name, s.queue, s.group
				t.upsert(d)
			}
			for _, c := range []struct {
				filter driver.ScheduleFilter
				want   []string
			}{
				{driver.ScheduleFilter{}, []string{"B", "a", "b", "c", "ä"}},
				{driver.ScheduleFilter{JobName: "x"}, []string{"a", "b", "c"}},
				{driver.ScheduleFilter{Queue: "p"}, []string{"B", "b", "c"}},
				{driver.ScheduleFilter{Group: driver.Some("g")}, []string{"a", "b"}},
				{driver.ScheduleFilter{Group: driver.Some("")}, []string{"c", "ä"}},
				{driver.ScheduleFilter{JobName: "x", Queue: "p", Group: driver.Some("g")}, []string{"b"}},
				{driver.ScheduleFilter{JobName: "unknown"}, nil},
				{driver.ScheduleFilter{Limit: 2}, []string{"B", "a"}},
				{driver.ScheduleFilter{Limit: 2, Cursor: "a"}, []string{"b", "c"}},
				{driver.ScheduleFilter{Cursor: "bb"}, []string{"c", "ä"}},
				{driver.ScheduleFilter{Cursor: "B", JobName: "x", Limit: 2}, []string{"a", "b"}},
				{driver.ScheduleFilter{Cursor: "ä"}, nil},
			} {
				t.equal(fmt.Sprintf("Schedules(%+v)", c.filter), t.keysOf(c.filter), c.want)
			}
		})

	register("Schedule/UpsertMovesBetweenFilters",
		"After an upsert a list finds the schedule under its new name, queue and group only.",
		func(t *T) {
			s := fullSchedule("a")
			t.upsert(s)
			s.JobName, s.Queue, s.Group = "new", "new", ""
			t.upsert(s)
			t.equal("old name", t.keysOf(driver.ScheduleFilter{JobName: "report"}), []string(nil))
			t.equal("old queue", t.keysOf(driver.ScheduleFilter{Queue: "reports"}), []string(nil))
			t.equal("old group", t.keysOf(driver.ScheduleFilter{Group: driver.Some("team-a")}), []string(nil))
			t.equal("new", t.keysOf(driver.ScheduleFilter{JobName: "new", Queue: "new", Group: driver.Some("")}), []string{"a"})
		})

	register("Schedule/Due",
		"Due are the schedules with NextRunAt at or before now, ascending, ties by the bytes of the key.",
		func(t *T) {
			for _, s := range []struct {
				key  string
				next driver.Time
			}{{"d", 2000}, {"b", 1000}, {"a", 2000}, {"B", 2000}, {"late", 2001}, {"zero", 0}} {
				d := schedule(s.key)
				d.NextRunAt = s.next
				t.upsert(d)
			}
			none := driver.Opt[driver.ScheduleCursor]{}
			t.equal("due at 2000", t.due(2000, none, 10), []string{"zero", "b", "B", "a", "d"})
			t.equal("due at 0", t.due(0, none, 10), []string{"zero"})
			t.equal("due at 999", t.due(999, none, 10), []string{"zero"})
			t.equal("first page", t.due(2000, none, 3), []string{"zero", "b", "B"})
			behind := driver.Some(driver.ScheduleCursor{NextRunAt: 2000, Key: "B"})
			t.equal("second page", t.due(2000, behind, 3), []string{"a", "d"})
			t.removeSchedule("B")
			t.equal("second page, though the key of the cursor is gone", t.due(2000, behind, 3), []string{"a", "d"})
			t.advance("b", 1000, 9000)
			t.equal("due after an advance", t.due(2000, none, 10), []string{"zero", "a", "d"})
		})

	register("Schedule/Advance",
		"Advance moves NextRunAt iff it is the expected one, and enqueues nothing.",
		func(t *T) {
			want := t.upsert(schedule("a"))
			t.equal("stale", t.advance("a", 999, 2000), false)
			t.equal("unchanged", t.schedule("a"), want)
			t.equal("expected", t.advance("a", 1000, 2000), true)
			want.NextRunAt = 2000
			t.equal("advanced", t.schedule("a"), want)
			t.equal("again", t.advance("a", 1000, 3000), false)
			t.equal("counts", t.counts(""), driver.Counts{})
		})

	register("Schedule/Remove",
		"Remove deletes a schedule and says whether there was one; its jobs stay, and a new one of its key starts afresh.",
		func(t *T) {
			t.upsert(schedule("a"))
			t.tick(1000, slot("a", 1000, 2000))
			t.equal("Remove", t.removeSchedule("a"), true)
			t.equal("Remove again", t.removeSchedule("a"), false)
			t.equal("keys", t.keysOf(driver.ScheduleFilter{}), []string(nil))
			t.equal("due", t.due(9000, driver.Opt[driver.ScheduleCursor]{}, 10), []string(nil))
			t.inState("sched/a/1000", driver.Waiting)
			s := schedule("a")
			s.NextRunAt = 7000
			t.equal("upsert anew", t.upsert(s), s)
		})

	register("Schedule/OddKeys",
		"Keys with any characters are kept apart.",
		func(t *T) {
			keys := []string{"a b", "a%2Fb", "a/b", "a:b", "a{b}", "a|b", "ключ", "🙂"}
			for i, key := range keys {
				s := schedule(key)
				s.Priority = int32(i)
				t.upsert(s)
			}
			t.equal("keys", t.keysOf(driver.ScheduleFilter{}), keys)
			for i, key := range keys {
				t.equal("priority of "+key, t.schedule(key).Priority, int32(i))
				t.equal("tick of "+key, t.tick(1000, slot(key, 1000, 2000)), true)
			}
			t.equal("counts", t.counts(""), driver.Counts{Waiting: int64(len(keys))})
		})
}

func (t *T) advance(key string, expected, next driver.Time) bool {
	t.Helper()
	advanced, err := t.Store.Advance(t.ctx, key, expected, next)
	t.must("Advance", err)
	return advanced
}

func (t *T) removeSchedule(key string) bool {
	t.Helper()
	removed, err := t.Store.RemoveSchedule(t.ctx, key)
	t.must("RemoveSchedule", err)
	return removed
}

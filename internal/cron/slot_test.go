package cron

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidmq/braid/driver"
)

func TestGridKeepsItsFirstSlotAndCollapsesMissedOnes(t *testing.T) {
	for _, c := range []struct {
		slot  driver.Time
		every driver.Millis
		now   driver.Time
		want  driver.Time
	}{
		{1000, 10, 1000, 1010},
		{1000, 10, 1009, 1010},
		{1000, 10, 1010, 1020},
		{1000, 10, 5555, 5560},
		{1000, 10, 0, 1010},
		{-7, 10, 0, 3},
		{0, 1, 0, 1},
		{0, math.MaxInt64, 5, math.MaxInt64},
		{math.MinInt64, 3, math.MaxInt64 - 5, math.MaxInt64 - 3},
		{math.MaxInt64 - 1, 10, math.MaxInt64 - 1, math.MaxInt64},
		{math.MaxInt64, 10, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64 - 1, 10, 0, math.MaxInt64},
	} {
		if got := NextOnGrid(c.slot, c.every, c.now); got != c.want {
			t.Errorf("NextOnGrid(%d, %d, %d) = %d, want %d", c.slot, c.every, c.now, got, c.want)
		}
	}
}

func TestGridIsTheFirstMultipleAfterNow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slot := driver.Time(rapid.Int64Range(-1e15, 1e15).Draw(t, "slot"))
		every := driver.Millis(rapid.Int64Range(1, 1e12).Draw(t, "every"))
		now := driver.Time(rapid.Int64Range(-1e15, 1e15).Draw(t, "now"))
		next := NextOnGrid(slot, every, now)
		if next <= now || next <= slot {
			t.Fatalf("%d is not after now and the slot", next)
		}
		if next.Sub(slot)%every != 0 {
			t.Fatalf("%d is not on the grid", next)
		}
		if before := next.Add(-every); before > now && before > slot {
			t.Fatalf("%d comes earlier", before)
		}
	})
}

func at(t *testing.T, text string) driver.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return driver.TimeOf(parsed)
}

func TestNextSlotIsAfterBothSlotAndNow(t *testing.T) {
	for _, c := range []struct{ name, cron, tz, slot, now, want string }{
		{"the next match", "0 9 * * *", "", "2026-03-01T09:00:00Z", "2026-03-01T09:00:00.5Z", "2026-03-02T09:00:00Z"},
		{"missed slots collapse", "0 9 * * *", "", "2026-03-01T09:00:00Z", "2026-03-09T10:00:00Z", "2026-03-10T09:00:00Z"},
		{"a clock behind the slot does not repeat it", "0 9 * * *", "", "2026-03-01T09:00:00Z", "2026-03-01T08:59:59Z", "2026-03-02T09:00:00Z"},
		{"in the zone", "0 9 * * *", "America/New_York", "2026-03-07T14:00:00Z", "2026-03-07T14:00:00Z", "2026-03-08T13:00:00Z"},
		{"with seconds", "30 0 9 * * *", "", "2026-03-01T09:00:30Z", "2026-03-01T09:00:30Z", "2026-03-02T09:00:30Z"},
		{"at a match, now exactly", "* * * * *", "", "2026-03-01T09:00:00Z", "2026-03-01T09:05:00Z", "2026-03-01T09:06:00Z"},
	} {
		got, ok, err := NextSlot(driver.Schedule{Cron: c.cron, TZ: c.tz}, at(t, c.slot), at(t, c.now))
		if err != nil || !ok || got != at(t, c.want) {
			t.Errorf("%s: got %v, %v, %v; want %s", c.name, got.Std(), ok, err, c.want)
		}
	}
	if got, ok, err := NextSlot(driver.Schedule{Every: 10}, 1000, 1033); err != nil || !ok || got != 1040 {
		t.Errorf("every: got %d, %v, %v", got, ok, err)
	}
}

func TestFirstSlot(t *testing.T) {
	now := at(t, "2026-03-01T08:00:00Z")
	if got, ok, err := FirstSlot(driver.Schedule{Cron: "0 9 * * *"}, now); err != nil || !ok || got != at(t, "2026-03-01T09:00:00Z") {
		t.Errorf("cron: got %v, %v, %v", got.Std(), ok, err)
	}
	if got, ok, err := FirstSlot(driver.Schedule{Every: 60_000}, now); err != nil || !ok || got != now+60_000 {
		t.Errorf("every: got %v, %v, %v", got, ok, err)
	}
}

func TestNextSlotTellsWhatCannotFire(t *testing.T) {
	if next, ok, err := NextSlot(driver.Schedule{Cron: "0 0 30 2 *"}, 0, 0); ok || err != nil {
		t.Errorf("30 February: got %v, %v, %v", next, ok, err)
	}
	for _, s := range []driver.Schedule{
		{Cron: "0 0 * *"}, {Cron: "0 0 * * *", TZ: "Mars/Olympus"}, {}, {Every: -1}, {Cron: "0 0 * * *", Every: 1}, {Every: 5, TZ: "UTC"},
	} {
		if next, ok, err := NextSlot(s, 0, 0); !errors.Is(err, driver.ErrInvalid) || ok {
			t.Errorf("%+v: got %v, %v, %v", s, next, ok, err)
		}
		if _, ok, err := FirstSlot(s, 0); !errors.Is(err, driver.ErrInvalid) || ok {
			t.Errorf("first slot of %+v: got %v, %v", s, ok, err)
		}
	}
}

func TestValidateRefusesWhatCannotBeACadence(t *testing.T) {
	for _, c := range []struct {
		cron, tz string
		every    driver.Millis
		opts     Options
		field    string // empty: accepted
		says     string
	}{
		{cron: "0 9 * * *"},
		{cron: "0 9 * * *", tz: "America/New_York"},
		{cron: "0 0 29 2 *"},
		{cron: "@daily", tz: "Australia/Lord_Howe"},
		{every: 1},
		{cron: "0 0 9 * * *", opts: Options{Seconds: true}},
		{field: "cron", says: "set one of them"},
		{cron: "0 9 * * *", every: 5, field: "every", says: "only one"},
		{every: -5, field: "every", says: "at least 1 ms"},
		{every: 5, tz: "UTC", field: "tz", says: "leave it out"},
		{tz: "UTC", field: "cron", says: "set one of them"},
		{cron: "0 9 * * *", tz: "Mars/Olympus", field: "tz", says: "IANA"},
		{cron: "0 9 * * *", tz: "Local", field: "tz", says: "IANA"},
		{cron: "0 9 * * *", tz: "../etc/passwd", field: "tz", says: "IANA"},
		{cron: "0 0 9 * * *", field: "cron", says: "6 fields"},
		{cron: "0 0 30 2 *", field: "cron", says: "never matches"},
		{cron: "TZ=UTC 0 9 * * *", field: "cron", says: "tz argument"},
	} {
		err := Validate(c.cron, c.tz, c.every, c.opts)
		if c.field == "" {
			if err != nil {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		var invalid *driver.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.Contains(invalid.Reason, c.says) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

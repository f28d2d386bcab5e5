package cron

import (
	"testing"
	"time"
	_ "time/tzdata" // the pinned zones do not depend on the machine

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const layout = "2006-01-02 15:04:05 -0700"

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// TestNextInZones pins, per expression and zone, the fires that follow an instant.
func TestNextInZones(t *testing.T) {
	for _, c := range []struct {
		name, zone, expr, after string
		want                    []string
	}{
		// New York: 02:00 -> 03:00 on 10 March 2024; 02:00 -> 01:00 on 3 November 2024.
		{"a fixed time in the gap fires once, at the jump", "America/New_York", "30 2 * * *", "2024-03-09 02:30:00 -0500",
			[]string{"2024-03-10 03:00:00 -0400", "2024-03-11 02:30:00 -0400"}},
		{"two fixed times in one gap fire once", "America/New_York", "15,45 2 * * *", "2024-03-09 02:45:00 -0500",
			[]string{"2024-03-10 03:00:00 -0400", "2024-03-11 02:15:00 -0400"}},
		{"fixed times in the gap and at the jump do not double", "America/New_York", "0 2,3 * * *", "2024-03-09 03:00:00 -0500",
			[]string{"2024-03-10 03:00:00 -0400", "2024-03-11 02:00:00 -0400"}},
		{"the time that the gap is not shifted onto fires too", "America/New_York", "30 2,3 * * *", "2024-03-10 01:59:59 -0500",
			[]string{"2024-03-10 03:00:00 -0400", "2024-03-10 03:30:00 -0400"}},
		{"a yearly fixed time in the gap is not lost", "America/New_York", "30 2 10 3 *", "2023-03-10 02:30:00 -0500",
			[]string{"2024-03-10 03:00:00 -0400", "2025-03-10 02:30:00 -0400"}},
		{"a fixed time with seconds in the gap fires once", "America/New_York", "*/20 30 2 * * *", "2024-03-09 02:30:40 -0500",
			[]string{"2024-03-10 03:00:00 -0400", "2024-03-11 02:30:00 -0400", "2024-03-11 02:30:20 -0400"}},
		{"a fixed time in the overlap fires once, the first time", "America/New_York", "30 1 * * *", "2024-11-02 12:00:00 -0400",
			[]string{"2024-11-03 01:30:00 -0400", "2024-11-04 01:30:00 -0500"}},
		{"asked within the second pass, it does not fire again", "America/New_York", "30 1 * * *", "2024-11-03 01:10:00 -0500",
			[]string{"2024-11-04 01:30:00 -0500"}},
		{"a list of fixed times does not repeat in the second pass", "America/New_York", "0,30 1,2 * * *", "2024-11-03 00:59:00 -0400",
			[]string{"2024-11-03 01:00:00 -0400", "2024-11-03 01:30:00 -0400", "2024-11-03 02:00:00 -0500", "2024-11-03 02:30:00 -0500"}},
		{"a fixed time at the end of the overlap", "America/New_York", "0 2 * * *", "2024-11-03 00:00:00 -0400",
			[]string{"2024-11-03 02:00:00 -0500"}},
		{"a range is fixed", "America/New_York", "30 1-3 * * *", "2024-11-03 00:00:00 -0400",
			[]string{"2024-11-03 01:30:00 -0400", "2024-11-03 02:30:00 -0500"}},
		{"an interval skips the gap", "America/New_York", "*/30 * * * *", "2024-03-10 01:15:00 -0500",
			[]string{"2024-03-10 01:30:00 -0500", "2024-03-10 03:00:00 -0400", "2024-03-10 03:30:00 -0400"}},
		{"an interval at the half hour skips the gap", "America/New_York", "30 * * * *", "2024-03-10 01:00:00 -0500",
			[]string{"2024-03-10 01:30:00 -0500", "2024-03-10 03:30:00 -0400"}},
		{"an interval within the missing hour skips the day", "America/New_York", "*/15 2 * * *", "2024-03-09 02:45:00 -0500",
			[]string{"2024-03-11 02:00:00 -0400"}},
		{"an interval goes through both repeated hours", "America/New_York", "30 * * * *", "2024-11-03 00:30:00 -0400",
			[]string{"2024-11-03 01:30:00 -0400", "2024-11-03 01:30:00 -0500", "2024-11-03 02:30:00 -0500"}},
		{"an interval within one hour goes through both", "America/New_York", "*/30 1 * * *", "2024-11-03 00:30:00 -0400",
			[]string{"2024-11-03 01:00:00 -0400", "2024-11-03 01:30:00 -0400", "2024-11-03 01:00:00 -0500", "2024-11-03 01:30:00 -0500",
				"2024-11-04 01:00:00 -0500"}},
		{"every minute from the jump on", "America/New_York", "* * * * *", "2024-03-10 01:58:30 -0500",
			[]string{"2024-03-10 01:59:00 -0500", "2024-03-10 03:00:00 -0400", "2024-03-10 03:01:00 -0400"}},

		// Santiago: 24:00 -> 01:00 into 8 September 2024; 24:00 -> 23:00 on 6 April 2024.
		{"a daily job at the missing midnight fires at 1:00", "America/Santiago", "0 0 * * *", "2024-09-07 00:00:00 -0400",
			[]string{"2024-09-08 01:00:00 -0300", "2024-09-09 00:00:00 -0300"}},
		{"a weekly job on the day without midnight fires", "America/Santiago", "30 0 * * SUN", "2024-09-02 00:00:00 -0400",
			[]string{"2024-09-08 01:00:00 -0300", "2024-09-15 00:30:00 -0300"}},
		{"a job of the next day is not pulled before it", "America/Santiago", "0 0 8 9 *", "2024-01-01 00:00:00 -0300",
			[]string{"2024-09-08 01:00:00 -0300"}},
		{"the last hour of the day exists twice, and fires once", "America/Santiago", "30 23 * * *", "2024-04-05 23:30:00 -0300",
			[]string{"2024-04-06 23:30:00 -0300", "2024-04-07 23:30:00 -0400"}},
		{"midnight after the repeated hour fires once", "America/Santiago", "0 0 * * *", "2024-04-06 12:00:00 -0300",
			[]string{"2024-04-07 00:00:00 -0400", "2024-04-08 00:00:00 -0400"}},
		{"an hourly job goes through the missing midnight", "America/Santiago", "0 * * * *", "2024-09-07 22:00:00 -0400",
			[]string{"2024-09-07 23:00:00 -0400", "2024-09-08 01:00:00 -0300"}},
		{"an hourly job goes through both last hours", "America/Santiago", "0 * * * *", "2024-04-06 22:00:00 -0300",
			[]string{"2024-04-06 23:00:00 -0300", "2024-04-06 23:00:00 -0400", "2024-04-07 00:00:00 -0400"}},

		// Lord Howe: 02:00 -> 02:30 on 6 October 2024; 02:00 -> 01:30 on 7 April 2024.
		{"a fixed time in the half-hour gap", "Australia/Lord_Howe", "15 2 * * *", "2024-10-05 02:15:00 +1030",
			[]string{"2024-10-06 02:30:00 +1100", "2024-10-07 02:15:00 +1100"}},
		{"fixed times in and at the end of the half-hour gap", "Australia/Lord_Howe", "0,30 2 * * *", "2024-10-06 00:00:00 +1030",
			[]string{"2024-10-06 02:30:00 +1100", "2024-10-07 02:00:00 +1100"}},
		{"a fixed time in the half-hour overlap", "Australia/Lord_Howe", "45 1 * * *", "2024-04-06 01:45:00 +1100",
			[]string{"2024-04-07 01:45:00 +1100", "2024-04-08 01:45:00 +1030"}},
		{"a cron at the half hour, repeated half hour", "Australia/Lord_Howe", "30 * * * *", "2024-04-07 00:30:00 +1100",
			[]string{"2024-04-07 01:30:00 +1100", "2024-04-07 01:30:00 +1030", "2024-04-07 02:30:00 +1030"}},
		{"a cron at the full hour, missing half hour", "Australia/Lord_Howe", "0 * * * *", "2024-10-06 00:00:00 +1030",
			[]string{"2024-10-06 01:00:00 +1030", "2024-10-06 03:00:00 +1100"}},
		{"a quarter-hour interval in both directions", "Australia/Lord_Howe", "*/15 * * * *", "2024-04-07 01:30:00 +1100",
			[]string{"2024-04-07 01:45:00 +1100", "2024-04-07 01:30:00 +1030", "2024-04-07 01:45:00 +1030", "2024-04-07 02:00:00 +1030"}},

		// Dublin counts winter as daylight saving, with a negative offset: 01:00 -> 02:00
		// on 31 March 2024; 02:00 -> 01:00 on 27 October 2024.
		{"a gap where summer is the standard time", "Europe/Dublin", "30 1 * * *", "2024-03-30 01:30:00 +0000",
			[]string{"2024-03-31 02:00:00 +0100", "2024-04-01 01:30:00 +0100"}},
		{"an overlap where winter is the saving time", "Europe/Dublin", "30 1 * * *", "2024-10-26 01:30:00 +0100",
			[]string{"2024-10-27 01:30:00 +0100", "2024-10-28 01:30:00 +0000"}},
		{"an interval through the same overlap", "Europe/Dublin", "30 * * * *", "2024-10-27 00:30:00 +0100",
			[]string{"2024-10-27 01:30:00 +0100", "2024-10-27 01:30:00 +0000", "2024-10-27 02:30:00 +0000"}},

		// Zones whose rules change.
		{"Caracas moves forward half an hour for good", "America/Caracas", "45 2 * * *", "2016-04-30 02:45:00 -0430",
			[]string{"2016-05-01 03:00:00 -0400", "2016-05-02 02:45:00 -0400"}},
		{"Caracas moves back half an hour for good", "America/Caracas", "45 2 * * *", "2007-12-08 02:45:00 -0400",
			[]string{"2007-12-09 02:45:00 -0400", "2007-12-10 02:45:00 -0430"}},
		{"Pyongyang drops the half hour before midnight", "Asia/Pyongyang", "45 23 * * *", "2018-05-03 23:45:00 +0830",
			[]string{"2018-05-05 00:00:00 +0900", "2018-05-05 23:45:00 +0900"}},
		{"Apia has no 30 December 2011: its fixed time is made up for once", "Pacific/Apia", "0 9 * * *", "2011-12-29 09:00:00 -1000",
			[]string{"2011-12-31 00:00:00 +1400", "2011-12-31 09:00:00 +1400"}},
		{"a midnight that does not exist and one that does are one instant", "Pacific/Apia", "0 0 * * *", "2011-12-29 00:00:00 -1000",
			[]string{"2011-12-31 00:00:00 +1400", "2012-01-01 00:00:00 +1400"}},
		{"an interval goes on behind the missing day", "Pacific/Apia", "0 */6 * * *", "2011-12-29 12:00:00 -1000",
			[]string{"2011-12-29 18:00:00 -1000", "2011-12-31 00:00:00 +1400", "2011-12-31 06:00:00 +1400"}},
		{"a day that does not exist waits for next year, if an interval", "Pacific/Apia", "0 */12 30 12 *", "2011-01-01 00:00:00 -1000",
			[]string{"2012-12-30 00:00:00 +1400"}},

		// The calendar.
		{"29 February is found across 2100", "UTC", "0 0 29 2 *", "2096-02-29 00:00:00 +0000",
			[]string{"2104-02-29 00:00:00 +0000"}},
		{"both days restricted: either matches", "UTC", "0 0 13 * FRI", "2024-09-01 00:00:00 +0000",
			[]string{"2024-09-06 00:00:00 +0000", "2024-09-13 00:00:00 +0000", "2024-09-20 00:00:00 +0000", "2024-09-27 00:00:00 +0000",
				"2024-10-04 00:00:00 +0000", "2024-10-11 00:00:00 +0000", "2024-10-13 00:00:00 +0000"}},
		{"a day field that begins with a star does not make it either", "UTC", "0 0 */2 * MON", "2024-09-01 00:00:00 +0000",
			[]string{"2024-09-09 00:00:00 +0000", "2024-09-23 00:00:00 +0000"}},
		{"the 31st skips short months", "UTC", "0 0 31 * *", "2024-03-31 00:00:00 +0000",
			[]string{"2024-05-31 00:00:00 +0000", "2024-07-31 00:00:00 +0000", "2024-08-31 00:00:00 +0000"}},
		{"? is any day", "UTC", "0 0 ? * MON", "2024-09-01 00:00:00 +0000", []string{"2024-09-02 00:00:00 +0000"}},
		{"strictly after a match", "UTC", "*/5 * * * *", "2024-09-01 00:05:00 +0000", []string{"2024-09-01 00:10:00 +0000"}},
		{"before the epoch", "UTC", "30 12 * * *", "1969-12-30 13:00:00 +0000",
			[]string{"1969-12-31 12:30:00 +0000", "1970-01-01 12:30:00 +0000"}},
		{"seconds", "UTC", "10,50 59 23 31 12 *", "2024-12-31 23:59:10 +0000",
			[]string{"2024-12-31 23:59:50 +0000", "2025-12-31 23:59:10 +0000"}},
		{"the end of a year", "UTC", "59 23 * * *", "2024-12-31 23:59:00 +0000", []string{"2025-01-01 23:59:00 +0000"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			loc := zone(t, c.zone)
			at, err := time.Parse(layout, c.after)
			if err != nil {
				t.Fatal(err)
			}
			s := mustParse(t, c.expr)
			for i, want := range c.want {
				next, ok := s.Next(at, loc)
				if !ok || next.Format(layout) != want {
					t.Fatalf("%q in %s, fire %d after %s: got %s, %v; want %s", c.expr, c.zone, i+1, at.In(loc).Format(layout),
						next.Format(layout), ok, want)
				}
				at = next
			}
		})
	}
}

func TestRareDaysAreFoundAndImpossibleOnesAreNot(t *testing.T) {
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, expr := range []string{"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "*/5 * 30 feb *", "0 0 30-31 2 *"} {
		if next, ok := mustParse(t, expr).Next(start, zone(t, "America/New_York")); ok {
			t.Errorf("%q: found %v", expr, next)
		}
	}
	// A step on a star keeps both day fields in force: 29 February on a Sunday.
	next, ok := mustParse(t, "0 0 29 2 */7").Next(time.Date(2072, time.March, 1, 0, 0, 0, 0, time.UTC), time.UTC)
	if !ok || next.Day() != 29 || next.Weekday() != time.Sunday {
		t.Errorf("29 February on a Sunday: got %v, %v", next, ok)
	}
}

func TestNextTakesFractionsAndExtremes(t *testing.T) {
	s := mustParse(t, "* * * * *")
	if next, _ := s.Next(time.UnixMilli(59_999), time.UTC); next.UnixMilli() != 60_000 {
		t.Errorf("after 59.999 s: got %v", next)
	}
	if next, _ := s.Next(time.UnixMilli(60_000), time.UTC); next.UnixMilli() != 120_000 {
		t.Errorf("after 60 s: got %v", next)
	}
	if next, _ := s.Next(time.UnixMilli(-1), time.UTC); next.UnixMilli() != 0 {
		t.Errorf("after -1 ms: got %v", next)
	}
	for _, expr := range []string{"* * * * *", "0 0 * * *"} {
		if next, ok := mustParse(t, expr).Next(time.UnixMilli(1<<63-1), zone(t, "Europe/Dublin")); ok {
			t.Errorf("%q: something follows the end of time: %v", expr, next)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	loc := zone(b, "America/New_York")
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, expr := range []string{"* * * * *", "0 9 * * MON-FRI", "0 * 29 2 *", "0 0 29 2 *", "0 0 30 2 *", "*/5 * 30 2 *"} {
		s := mustParse(b, expr)
		b.Run(expr, func(b *testing.B) {
			for b.Loop() {
				s.Next(at, loc)
			}
		})
	}
}

package cron

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fieldText draws a cron field between min and max.
func fieldText(min, max int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		most := 20 // of a step, which no field takes beyond its values
		if values := max - min + 1; values < most {
			most = values
		}
		part := func() string {
			a := rapid.IntRange(min, max).Draw(t, "low")
			b := rapid.IntRange(a, max).Draw(t, "high")
			step := rapid.IntRange(1, most).Draw(t, "step")
			switch rapid.IntRange(0, 5).Draw(t, "form") {
			case 0:
				return "*"
			case 1:
				return fmt.Sprintf("*/%d", step)
			case 2:
				return fmt.Sprintf("%d-%d", a, b)
			case 3:
				return fmt.Sprintf("%d-%d/%d", a, b, step)
			}
			return fmt.Sprint(a)
		}
		parts := make([]string, rapid.IntRange(1, 3).Draw(t, "parts"))
		for i := range parts {
			parts[i] = part()
		}
		return strings.Join(parts, ",")
	})
}

func expression() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		day := rapid.OneOf(rapid.Just("*"), fieldText(1, 31))
		weekday := rapid.OneOf(rapid.Just("*"), fieldText(0, 6))
		month := rapid.OneOf(rapid.Just("*"), fieldText(1, 12))
		return fmt.Sprintf("%s %s %s %s %s", fieldText(0, 59).Draw(t, "minute"), fieldText(0, 23).Draw(t, "hour"),
			day.Draw(t, "day"), month.Draw(t, "month"), weekday.Draw(t, "weekday"))
	})
}

// matches is the plain reading of an expression for one wall-clock minute.
func (s Schedule) matches(wall time.Time) bool {
	has := func(set uint64, v int) bool { return set>>v&1 == 1 }
	dom, dow := has(s.dom, wall.Day()), has(s.dow, int(wall.Weekday()))
	day := dom && dow
	if s.eitherDay {
		day = dom || dow
	}
	return day && has(s.month, int(wall.Month())) && has(s.hour, wall.Hour()) && has(s.minute, wall.Minute())
}

// searchByMinute looks at every minute after an instant, as a cron daemon does: it
// keeps the furthest minute that the wall clock has shown, and a fixed time fires
// when the clock first shows or passes it.
func searchByMinute(s Schedule, after time.Time, loc *time.Location, minutes int) (time.Time, bool) {
	wallOf := func(at time.Time) time.Time {
		l := at.In(loc)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	at := after.Truncate(time.Minute).Add(-48 * time.Hour)
	furthest := wallOf(at)
	for end := after.Add(time.Duration(minutes) * time.Minute); at.Before(end); {
		at = at.Add(time.Minute)
		wall := wallOf(at)
		fires := s.interval && s.matches(wall)
		for furthest.Before(wall) {
			furthest = furthest.Add(time.Minute)
			fires = fires || !s.interval && s.matches(furthest)
		}
		if fires && at.After(after) {
			return at, true
		}
	}
	return time.Time{}, false
}

func checkAgainstSearch(t *rapid.T, after time.Time, loc *time.Location) {
	expr := expression().Draw(t, "expr")
	s, err := Parse(expr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const minutes = 3 * 24 * 60
	for range 3 {
		want, found := searchByMinute(s, after, loc, minutes)
		got, ok := s.Next(after, loc)
		switch {
		case found && (!ok || !got.Equal(want)):
			t.Fatalf("%q in %v after %v: got %v, %v; the search finds %v", expr, loc, after.In(loc), got, ok, want.In(loc))
		case !found && ok && !got.After(after.Add(minutes*time.Minute)):
			t.Fatalf("%q in %v after %v: got %v; the search finds nothing", expr, loc, after.In(loc), got)
		}
		if !ok {
			return
		}
		after = got
	}
}

func TestNextAgreesWithASearchByMinuteInAFixedOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset := rapid.IntRange(-14*60, 14*60).Draw(t, "offset in minutes")
		at := time.UnixMilli(rapid.Int64Range(-1e12, 4e12).Draw(t, "after"))
		checkAgainstSearch(t, at, time.FixedZone("fixed", offset*60))
	})
}

func TestNextAgreesWithASearchByMinuteAroundTransitions(t *testing.T) {
	names := []string{"America/New_York", "America/Santiago", "Australia/Lord_Howe", "Europe/Dublin", "America/Caracas",
		"Asia/Pyongyang", "Pacific/Apia", "Africa/Casablanca", "Antarctica/Troll", "Asia/Kathmandu", "America/Sao_Paulo"}
	rapid.Check(t, func(t *rapid.T) {
		loc, err := Location(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.UnixMilli(rapid.Int64Range(5e11, 2.2e12).Draw(t, "around"))
		if _, end := at.In(loc).ZoneBounds(); !end.IsZero() {
			at = end.Add(time.Duration(rapid.Int64Range(-36*3600_000, 6*3600_000).Draw(t, "from the transition, in ms")) * time.Millisecond)
		}
		checkAgainstSearch(t, at, loc)
	})
}

func TestNextIsStrictlyIncreasingAndSkipsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc, err := Location(rapid.SampledFrom([]string{"America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(expression().Draw(t, "expr"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		after := time.UnixMilli(rapid.Int64Range(0, 2.2e12).Draw(t, "after"))
		next, ok := s.Next(after, loc)
		if !ok {
			return
		}
		if !next.After(after) {
			t.Fatalf("Next(%v) = %v", after, next)
		}
		// From any instant before the answer, the answer is the same.
		between := after.Add(time.Duration(rapid.Int64Range(0, int64(next.Sub(after))-1).Draw(t, "between")))
		if again, ok := s.Next(between, loc); !ok || !again.Equal(next) {
			t.Fatalf("Next(%v) = %v, but Next(%v) = %v", after, next, between, again)
		}
	})
}

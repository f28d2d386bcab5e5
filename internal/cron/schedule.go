package cron

import (
	"math/bits"
	"time"
)

// Schedule is a parsed cron expression. It is a value: copy and share it freely.
// The zero value matches nothing.
type Schedule struct {
	// Bit n of a set is the value n.
	second, minute, hour, dom, month, dow uint64

	interval  bool // follows elapsed time rather than fixed times of the day
	eitherDay bool // both day fields are restricted: one of them is enough
}

// horizon is how many years a search looks ahead. The rarest days that exist are
// 29 February on a certain weekday, at most 40 years apart.
const horizon = 50

// lastYear bounds all searches; times behind it have no ISO form.
const lastYear = 9999

// Next returns the first time strictly after the given one at which the schedule
// fires in loc, in loc, and false if it never does. It is a whole second.
func (s Schedule) Next(after time.Time, loc *time.Location) (time.Time, bool) {
	if s.interval {
		return s.nextInterval(after, loc)
	}
	return s.nextFixed(after, loc)
}

// nextFixed finds the first matching wall time whose instant lies after the given
// one. The order of wall times is the order of their instants, so none before the
// present wall time can be it; in the second pass of an overlap, some behind it
// have had their instant in the first.
func (s Schedule) nextFixed(after time.Time, loc *time.Location) (time.Time, bool) {
	from := segmentAt(after.Unix(), loc).wall(after.Unix())
	limit := yearOf(from) + horizon
	for {
		wall, ok := s.nextWall(from, limit)
		if !ok {
			return time.Time{}, false
		}
		if at := instantOf(wall, loc); at > after.Unix() {
			return time.Unix(at, 0).In(loc), true
		}
		from = wall + 1
	}
}

// nextInterval finds the first instant whose wall time matches, going from one
// stretch of constant offset to the next.
func (s Schedule) nextInterval(after time.Time, loc *time.Location) (time.Time, bool) {
	at := after.Unix() + 1
	seg := segmentAt(at, loc)
	limit := yearOf(seg.wall(at)) + horizon
	wall, ok := s.nextWall(seg.wall(at), limit)
	for ok {
		if at := wall - seg.offset; seg.last || at < seg.end {
			return time.Unix(at, 0).In(loc), true
		}
		old := seg
		seg = segmentAt(old.end, loc)
		// Nothing before wall matches, so wall stays the candidate, unless the clock
		// went back, or jumped past it.
		if start := seg.wall(old.end); start < old.wall(old.end) || start > wall {
			wall, ok = s.nextWall(start, limit)
		}
	}
	return time.Time{}, false
}

// nextWall returns the first matching wall time at or after from, up to the end of
// the year limit. Wall times are the seconds that UTC would count to show them.
func (s Schedule) nextWall(from int64, limit int) (int64, bool) {
	t := time.Unix(from, 0).UTC()
	year, month, day := t.Date()
	limit = min(limit, lastYear)
	if year <= limit && s.days(year, month)&(1<<day) != 0 {
		if h, m, sec, ok := s.nextClock(t.Clock()); ok {
			return time.Date(year, month, day, h, m, sec, 0, time.UTC).Unix(), true
		}
	}
	day++
	for ; year <= limit; year, month = year+1, time.January {
		for m, ok := nextBit(s.month, int(month)); ok; m, ok = nextBit(s.month, m+1) {
			if time.Month(m) != month {
				day = 1
			}
			if d, ok := nextBit(s.days(year, time.Month(m)), day); ok {
				hour, minute, second, ok := s.nextClock(0, 0, 0)
				return time.Date(year, time.Month(m), d, hour, minute, second, 0, time.UTC).Unix(), ok
			}
		}
		day = 1
	}
	return 0, false
}

// days returns the matching days of a month as a set.
func (s Schedule) days(year int, month time.Month) uint64 {
	if s.month&(1<<month) == 0 {
		return 0
	}
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	length := first.AddDate(0, 1, -1).Day()
	// The week as seen from the first of the month, laid out over 35 days.
	w := int(first.Weekday())
	week := (s.dow>>w | s.dow<<(7-w)) & 0x7f
	byWeekday := week * (1 | 1<<7 | 1<<14 | 1<<21 | 1<<28) << 1
	set := s.dom & byWeekday
	if s.eitherDay {
		set = s.dom | byWeekday
	}
	return set & (1<<(length+1) - 1)
}

// nextClock returns the first matching time of the day at or after the given one.
func (s Schedule) nextClock(h, m, sec int) (hour, minute, second int, ok bool) {
	if hour, ok = nextBit(s.hour, h); !ok {
		return 0, 0, 0, false
	}
	if hour == h {
		if minute, ok = nextBit(s.minute, m); ok {
			if minute > m {
				sec = 0
			}
			if second, ok = nextBit(s.second, sec); ok {
				return hour, minute, second, true
			}
			if minute, ok = nextBit(s.minute, minute+1); ok {
				second, ok = nextBit(s.second, 0)
				return hour, minute, second, ok
			}
		}
		if hour, ok = nextBit(s.hour, h+1); !ok {
			return 0, 0, 0, false
		}
	}
	minute, _ = nextBit(s.minute, 0)
	second, ok = nextBit(s.second, 0)
	return hour, minute, second, ok
}

// nextBit returns the lowest element of set that is at least from.
func nextBit(set uint64, from int) (int, bool) {
	rest := set >> from << from
	return bits.TrailingZeros64(rest), rest != 0
}

func yearOf(wall int64) int { return time.Unix(wall, 0).UTC().Year() }

package cron

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
)

// Validate refuses a cadence that no schedule can have, with a
// [*driver.InvalidError] that names the argument: not exactly one of cron and
// every, a bad expression, one that never matches, an unknown zone, a zone
// without cron.
func Validate(cron, tz string, every driver.Millis, opts Options) error {
	if err := checkCadence(cron, tz, every); err != nil || cron == "" {
		return err
	}
	schedule, err := Parse(cron, opts)
	if err != nil {
		return err
	}
	loc, err := Location(tz)
	if err != nil {
		return err
	}
	if _, ok := schedule.Next(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC), loc); !ok {
		return &driver.InvalidError{Field: "cron", Value: cron,
			Reason: "never matches: no such day comes; choose a day of month that its months have"}
	}
	return nil
}

// FirstSlot returns the first slot of a schedule that is declared now: the first
// match after now, or now + every. False: it never comes. An error says that the
// cadence is not valid.
func FirstSlot(s driver.Schedule, now driver.Time) (driver.Time, bool, error) {
	return NextSlot(s, now, now)
}

// NextSlot returns the slot that follows slot: the first one strictly after both
// slot and now, so slots that were missed collapse. False: none comes. An error
// says that the stored cadence is not valid.
func NextSlot(s driver.Schedule, slot, now driver.Time) (driver.Time, bool, error) {
	if err := checkCadence(s.Cron, s.TZ, s.Every); err != nil {
		return 0, false, err
	}
	if s.Cron == "" {
		return NextOnGrid(slot, s.Every, now), true, nil
	}
	schedule, err := Parse(s.Cron, stored)
	if err != nil {
		return 0, false, err
	}
	loc, err := Location(s.TZ)
	if err != nil {
		return 0, false, err
	}
	next, ok := schedule.Next(max(slot, now).Std(), loc)
	if !ok {
		return 0, false, nil
	}
	return driver.TimeOf(next), true, nil
}

// NextOnGrid returns the first of slot + every, slot + 2·every, … that is after
// now, saturating at the end of the range. every is at least 1.
func NextOnGrid(slot driver.Time, every driver.Millis, now driver.Time) driver.Time {
	if now < slot {
		return slot.Add(every)
	}
	// The distance may exceed an int64, but never a uint64.
	into := (uint64(now) - uint64(slot)) % uint64(every)
	return now.Add(every - driver.Millis(into))
}

// Location returns the zone of that IANA name; the empty name is UTC. The error
// is a [*driver.InvalidError] with the field "tz".
func Location(tz string) (*time.Location, error) {
	if tz == "" {
		return time.UTC, nil
	}
	if loc, ok := locations.Load(tz); ok {
		return loc.(*time.Location), nil
	}
	// time.LoadLocation takes Local too, which is another zone on each machine.
	if len(tz) > driver.MaxNameBytes {
		return nil, &driver.InvalidError{Field: "tz", Value: tz, Reason: fmt.Sprintf(
			"is %d bytes long; the limit is %d; use an IANA name such as \"Europe/Berlin\"", len(tz), driver.MaxNameBytes)}
	}
	loc, err := time.LoadLocation(tz)
	if err != nil || tz == "Local" {
		return nil, &driver.InvalidError{Field: "tz", Value: tz,
			Reason: `is not a known time zone; use an IANA name such as "Europe/Berlin", and make sure that the zone data is installed, or import time/tzdata`}
	}
	locations.Store(tz, loc)
	return loc, nil
}

// locations keeps loaded zones by name, since loading one reads a file.
var locations sync.Map

// stored is how a stored expression is parsed: what may be declared was decided
// when it was.
var stored = Options{Seconds: true}

// checkCadence refuses what is not exactly one of a cron, with or without a zone,
// and a positive distance.
func checkCadence(cron, tz string, every driver.Millis) error {
	switch {
	case cron == "" && every == 0:
		return &driver.InvalidError{Field: "cron", Reason: "is empty, and so is every; set one of them"}
	case cron != "" && every != 0:
		return &driver.InvalidError{Field: "every", Value: strconv.FormatInt(int64(every), 10) + " ms",
			Reason: "is set, and so is cron; set only one of them"}
	case every < 0:
		return &driver.InvalidError{Field: "every", Value: strconv.FormatInt(int64(every), 10) + " ms",
			Reason: "is negative; use at least 1 ms"}
	case cron == "" && tz != "":
		return &driver.InvalidError{Field: "tz", Value: tz, Reason: "belongs to cron; leave it out with every"}
	}
	return nil
}

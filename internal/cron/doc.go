// Package cron owns the rule by which a recurring job's next time is found: it
// parses cron expressions, answers what comes after a given instant in a time
// zone, and applies both to stored schedules.
//
// # Daylight saving
//
// The rule is that of Vixie cron. An expression with a wildcard or a step in hour
// or minute is an interval: it follows elapsed time, so it fires at every instant
// at which the wall clock matches, in both passes of a repeated hour, and never at
// a time that the clock skips. Any other expression is a set of fixed times, and
// each has one instant per day: the first at which the wall clock reaches or
// passes it. So a time that exists twice fires once, the first time; one that the
// clock skips fires at the instant of the jump, and several that fall into one gap
// fire there together, once. This holds for gaps of any length, a skipped day
// included: its fixed times are made up for, once, when the next day begins.
package cron

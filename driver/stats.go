package driver

import "context"

// Stat sums up the runs of one queue that ended in one minute with one outcome.
type Stat struct {
	Minute  Time // its first millisecond
	Queue   string
	Outcome Outcome
	Count   int64
	// RunTime is the sum of the times from claim to ack, WaitTime of those from when
	// the job could run (RunAt) to the claim. Each single one counts as 0 to
	// [StatLongest].
	RunTime  Millis
	WaitTime Millis
}

const (
	// StatsKept is how long stats are kept.
	StatsKept Millis = 24 * 60 * 60 * 1000
	// StatLongest is what a longer run or wait counts as, so that no sum overflows.
	StatLongest Millis = 30 * 24 * 60 * 60 * 1000
	// DefaultStatsLimit is the page size of a [StatsRequest] without one.
	DefaultStatsLimit = 10_000

	minute = 60_000
)

// Minute returns the first millisecond of the minute that t lies in.
func (t Time) Minute() Time {
	into := t % minute
	if into < 0 {
		into += minute
	}
	return t - into
}

// StatOf returns the stat of a single run, which was acked at now. outcome is that
// of [AckKind].Outcome; the others are the job's as they were before the ack.
func StatOf(now Time, outcome Outcome, queue string, runAt Time, processedAt Opt[Time]) Stat {
	claimed := processedAt.Or(now)
	return Stat{
		Minute: now.Minute(), Queue: queue, Outcome: outcome, Count: 1,
		RunTime:  min(max(now.Sub(claimed), 0), StatLongest),
		WaitTime: min(max(claimed.Sub(runAt), 0), StatLongest),
	}
}

// Add adds the runs of another stat to these.
func (s *Stat) Add(other Stat) {
	s.Count += other.Count
	s.RunTime += other.RunTime
	s.WaitTime += other.WaitTime
}

// Outcome returns with which outcome an accepted ack ends a run, where after is the
// state that it left the job in. A snooze and a release end no run, unless a cancel
// won.
func (k AckKind) Outcome(after State) (Outcome, bool) {
	switch {
	case k == AckComplete:
		return OutcomeCompleted, true
	case k == AckFail:
		return OutcomeFailed, true
	case after == Cancelled:
		return OutcomeCancelled, true
	case k == AckRetry:
		return OutcomeRetried, true
	case k == AckFanOut:
		return OutcomeFannedOut, true
	}
	return 0, false
}

// Depth is how many jobs a store held at some time of a minute.
type Depth struct {
	Minute Time
	Counts Counts
}

// StatsRequest asks for a page of stats.
type StatsRequest struct {
	Queues []string // nil: all
	// From and To select the minutes that begin in [From, To).
	From, To Time
	Limit    int // 0: DefaultStatsLimit
}

// StatsResult is a page of stats.
type StatsResult struct {
	// Stats are in order of minute, then queue, then outcome.
	Stats []Stat
	// Next is set if minutes are left: the From of the next page.
	Next Opt[Time]
}

// StatsKeeper counts the runs that [Consumer].Ack ends. Every accepted ack with an
// outcome counts, in the same atomic step as the ack, under the minute of its now.
// The cost is one write per minute, queue and outcome of a chunk, not one per job.
// A store's own option switches the counting off.
type StatsKeeper interface {
	// Stats returns a page of stats, which ends with a whole minute: with the one in
	// which it reaches Limit.
	Stats(ctx context.Context, req StatsRequest) (StatsResult, error)

	// SweepStats deletes the stats of minutes that began StatsKept before now, or
	// earlier, oldest minutes first, until it has deleted limit of them or more: it may
	// finish the minute that it is in.
	SweepStats(ctx context.Context, now Time, limit int) (SweepResult, error)

	// SampleDepth keeps the present Counts of the whole store as those of now's minute,
	// unless that has some already, or the counting is switched off: any number of
	// processes may call it once a minute. It deletes those that began StatsKept before
	// now, or earlier.
	SampleDepth(ctx context.Context, now Time) error

	// Depths returns the samples of the minutes that begin in [from, to), in order; those
	// of minutes in which nobody took one are missing.
	Depths(ctx context.Context, from, to Time) ([]Depth, error)
}

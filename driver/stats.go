package driver

import "context"

// StatsRetention is how long statistics stay.
const StatsRetention Millis = 24 * 60 * 60 * 1000

// StatsMinute is the length of a bucket of statistics.
const StatsMinute Millis = 60_000

// StatsBucket is what ended in one minute, in one queue, with one outcome.
type StatsBucket struct {
	Minute   Time // its beginning: a multiple of StatsMinute
	Queue    string
	Outcome  Outcome
	Count    int64
	RunTime  Millis // sum over the runs: from claim to ack
	WaitTime Millis // sum over the runs: from runnable (RunAt) to claim, none below 0
}

// StatsRequest selects statistics.
type StatsRequest struct {
	Queue string // empty: all queues, each with its own buckets
	From  Time   // the earliest minute, inclusive
	To    Time   // the latest, exclusive
}

// StatsKeeper counts how runs end.
type StatsKeeper interface {
	// Stats returns buckets that are not empty, by minute, then queue, then outcome.
	//
	// Every ack that leaves a ledger entry counts its run, in the same step, in the
	// minute of its now: with the outcome of that entry, the time from ProcessedAt to
	// now, and the time from RunAt to ProcessedAt as they were when it was claimed.
	// SweepHistory deletes buckets whose minute is StatsRetention or longer before
	// its now. A store whose statistics are switched off returns none.
	Stats(ctx context.Context, req StatsRequest) ([]StatsBucket, error)
}

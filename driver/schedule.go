package driver

import "context"

// Overlap says what happens at a slot whose predecessor's job is still not
// finished.
type Overlap uint8

// The overlap rules.
const (
	OverlapAllow Overlap = iota // enqueue all the same
	OverlapSkip                 // skip the slot
)

// Schedule is a recurring job.
type Schedule struct {
	Key     string
	JobName string
	Queue   string
	// Exactly one of Cron and Every is set. The store does not interpret them; they
	// and TZ are the cadence.
	Cron        string
	TZ          string // an IANA zone, with Cron; empty: UTC
	Every       Millis
	Payload     []byte // encoded JSON; empty: absent
	Metadata    map[string]string
	Priority    int32
	AttemptsMax int32
	Backoff     *Backoff
	Keep        *Keep
	Timeout     Opt[Millis]
	Overlap     Overlap
	Group       string // who declares it; empty: nobody
	NextRunAt   Time
	// LastJobID is the job that the latest successful Tick inserted. The store sets
	// it; an upsert keeps it.
	LastJobID string
	// Damaged: what is stored under Key cannot be read; only NextRunAt, as far as that
	// can be, is set besides. It does not fire, and keeps no other from firing. An upsert
	// replaces it. The store sets it.
	Damaged bool
}

// ScheduleFilter selects schedules. Empty fields match any.
type ScheduleFilter struct {
	JobName string
	Queue   string
	// Group matches a group if set; the empty string, if set, matches schedules
	// without one.
	Group  Opt[string]
	Cursor string // the key after which to go on; empty: the beginning
	Limit  int    // 0: all
}

// ScheduleCursor is a place in the order of due schedules.
type ScheduleCursor struct {
	NextRunAt Time
	Key       string
}

// TickRequest fires one slot of a schedule.
type TickRequest struct {
	Key      string
	Expected Time // the slot: NextRunAt as the caller read it
	Next     Time // the slot after it
	// Job is the slot's job. Its ID is sched/<key>/<slot ms>; it has no Dedupe.
	Job EnqueueRequest
}

// Scheduler keeps schedules. It does not compute slots: callers do.
type Scheduler interface {
	// UpsertSchedule inserts or replaces a schedule by key, and returns what is
	// stored now. With an unchanged cadence (Cron, TZ, Every) NextRunAt is kept and
	// everything else replaced; otherwise the given NextRunAt counts.
	UpsertSchedule(ctx context.Context, s Schedule) (Schedule, error)

	// Schedule returns the schedule of that key, or ErrNotFound.
	Schedule(ctx context.Context, key string) (Schedule, error)

	// Schedules returns schedules in byte order of their keys.
	Schedules(ctx context.Context, f ScheduleFilter) ([]Schedule, error)

	// DueSchedules returns up to limit schedules with NextRunAt ≤ now, ascending by
	// NextRunAt, then key, behind after, whether that still exists or not.
	DueSchedules(ctx context.Context, now Time, after Opt[ScheduleCursor], limit int) ([]Schedule, error)

	// Tick, iff the schedule's NextRunAt is Expected, atomically inserts Job and sets
	// NextRunAt to Next, and reports true. A stale Expected or an unknown key: false,
	// nothing changed. If a job with the slot's ID exists already, or if Overlap is
	// OverlapSkip and the job of LastJobID exists and is not terminal: NextRunAt
	// advances, nothing is inserted, false. A Job without ID is an [*InvalidError],
	// checked first. An inserted job wakes its queue.
	//
	// So a slot fires once for any number of callers, even when its job was pruned.
	Tick(ctx context.Context, now Time, req TickRequest) (bool, error)

	// Advance sets NextRunAt to next iff it is expected, and reports whether.
	Advance(ctx context.Context, key string, expected, next Time) (bool, error)

	// RemoveSchedule deletes a schedule and reports whether there was one. Its jobs
	// stay.
	RemoveSchedule(ctx context.Context, key string) (bool, error)
}

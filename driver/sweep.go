package driver

import (
	"context"
	"strconv"
)

// SweepResult tells how far a sweep came.
type SweepResult struct {
	Deleted int
	More    bool // whether the limit ended the call: call again
}

// Sweeper deletes what has had its time. A sweep costs in proportion to what it
// deletes, not to what it looks past; one with nothing to do is a cheap call. Any
// number of processes may sweep at once.
type Sweeper interface {
	// SweepHistory deletes up to limit terminal jobs whose FinishedAt + age ≤ now,
	// where age is the smaller of the job's own Keep age for its state and the
	// store's history ceiling; jobs with neither stay. It also deletes what Keep
	// counts left over after concurrent finishes. Flow parents that owe cascades are
	// left.
	SweepHistory(ctx context.Context, now Time, limit int) (SweepResult, error)

	// SweepDedupe deletes up to limit dedup entries that hold nothing any more.
	SweepDedupe(ctx context.Context, now Time, limit int) (SweepResult, error)

	// SweepFlows deletes up to limit dependency rows that no flow can see: of runs
	// that did not land, of parents that are gone, or are terminal without a
	// manifest. It also works off early settles in pages.
	SweepFlows(ctx context.Context, now Time, limit int) (SweepResult, error)
}

// HistoryCeiling is the longest that finished jobs stay, per state, whatever their
// own Keep says. It is a setting of the store. Absent: no ceiling.
type HistoryCeiling struct {
	Completed Opt[Millis]
	Failed    Opt[Millis]
	Cancelled Opt[Millis]
}

// CeilingForAll is one ceiling for the three terminal states.
func CeilingForAll(age Millis) HistoryCeiling {
	return HistoryCeiling{Completed: Some(age), Failed: Some(age), Cancelled: Some(age)}
}

// Check refuses a ceiling that sets no state, and negative ones.
func (c HistoryCeiling) Check() error {
	if !c.Completed.Set && !c.Failed.Set && !c.Cancelled.Set {
		return &InvalidError{Field: "history ceiling", Reason: "sets no state; set completed, failed or cancelled, or leave the option out"}
	}
	for _, s := range []State{Completed, Failed, Cancelled} {
		if age := c.For(s); age.Set && age.Value < 0 {
			return &InvalidError{Field: "history ceiling", Value: strconv.FormatInt(int64(age.Value), 10) + " ms",
				Reason: "is negative for " + s.String() + "; use 0 or more"}
		}
	}
	return nil
}

// For returns the ceiling for a terminal state; absent for any other.
func (c HistoryCeiling) For(s State) Opt[Millis] {
	switch s {
	case Completed:
		return c.Completed
	case Failed:
		return c.Failed
	case Cancelled:
		return c.Cancelled
	}
	return Opt[Millis]{}
}

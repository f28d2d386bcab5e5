package engine

import (
	"time"

	"github.com/braidmq/braid/driver"
)

// Observer is told what an engine does, for metrics. Its methods are called by
// several goroutines at once, in batches and outside of locks; they should be
// quick. A panic in one is logged and otherwise ignored.
type Observer interface {
	// Claimed: a claim of this queue gave so many jobs, 0 too.
	Claimed(queue string, jobs int)
	// RunsEnded: the results of these runs are stored, or dropped. The slice is used
	// again after the call.
	RunsEnded(runs []RunEnd)
	// LocksLost: so many runs lost their lock.
	LocksLost(runs int)
	// Stuck: so many handlers are stuck now.
	Stuck(handlers int)
}

// RunEnd is one run whose result is stored or dropped.
type RunEnd struct {
	Job     *driver.Job // as claimed
	Outcome string      // one of the Outcome constants
	// State is what the store said the job is in now; 0 if it said nothing.
	State driver.State
	Wait  time.Duration // from runnable to claimed
	Run   time.Duration // how long the handler ran; 0 if it never started
}

// The outcomes of runs, as observers see them.
const (
	OutcomeCompleted = "completed"
	OutcomeRetried   = "retried"
	OutcomeFailed    = "failed"
	OutcomeCancelled = "cancelled"
	OutcomeSnoozed   = "snoozed"
	OutcomeReleased  = "released"
	OutcomeFannedOut = "fanned-out"
	OutcomeLost      = "lost" // the lock was lost, the result dropped
)

var outcomeOfAck = [...]string{
	0:                  OutcomeLost,
	driver.AckComplete: OutcomeCompleted, driver.AckFail: OutcomeFailed,
	driver.AckCancelled: OutcomeCancelled, driver.AckRetry: OutcomeRetried,
	driver.AckSnooze: OutcomeSnoozed, driver.AckRelease: OutcomeReleased,
	driver.AckFanOut: OutcomeFannedOut,
}

// OutcomeOf names how an ack of that kind ended, given the state it led to.
func OutcomeOf(kind driver.AckKind, state driver.State) string {
	if state == driver.Cancelled {
		return OutcomeCancelled
	}
	return outcomeOfAck[kind]
}

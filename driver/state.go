package driver

import "fmt"

// State is where a job stands. The zero value is no state.
type State uint8

// The states of a job. See docs/concepts/jobs.md for how they follow each other.
const (
	// Waiting jobs can run now: higher priority first, then first in, first out.
	Waiting State = iota + 1
	// Delayed jobs do not run before their RunAt.
	Delayed
	// Active jobs are claimed: a worker holds their lock token.
	Active
	// WaitingChildren jobs are flow parents, parked until their children settle.
	// They are never claimable.
	WaitingChildren
	// Completed, Failed and Cancelled jobs are finished.
	Completed
	Failed
	Cancelled
)

// States lists every state once, in the order of the constants.
var States = [...]State{Waiting, Delayed, Active, WaitingChildren, Completed, Failed, Cancelled}

var stateNames = [...]string{
	Waiting: "waiting", Delayed: "delayed", Active: "active", WaitingChildren: "waiting-children",
	Completed: "completed", Failed: "failed", Cancelled: "cancelled",
}

// Terminal reports whether a job in this state is finished.
func (s State) Terminal() bool { return s >= Completed && s <= Cancelled }

// ChildStatus returns what the terminal state of a flow's child is to its parent.
func (s State) ChildStatus() ChildStatus {
	switch s {
	case Completed:
		return ChildCompleted
	case Failed:
		return ChildFailed
	default:
		return ChildCancelled
	}
}

// Valid reports whether s is one of [States].
func (s State) Valid() bool { return s >= Waiting && s <= Cancelled }

// String returns the state's name, as it stands in stores, logs and APIs.
func (s State) String() string {
	if !s.Valid() {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// ParseState returns the state of that name, or an [*InvalidError].
func ParseState(name string) (State, error) {
	for _, s := range States {
		if stateNames[s] == name {
			return s, nil
		}
	}
	return 0, &InvalidError{Field: "state", Value: name,
		Reason: "use waiting, delayed, active, waiting-children, completed, failed or cancelled"}
}

// MarshalText encodes the state's name.
func (s State) MarshalText() ([]byte, error) {
	if !s.Valid() {
		return nil, fmt.Errorf("braid: %v is not a job state", s)
	}
	return []byte(stateNames[s]), nil
}

// UnmarshalText decodes a state's name.
func (s *State) UnmarshalText(text []byte) (err error) {
	*s, err = ParseState(string(text))
	return err
}

// Counts is a number of jobs per state.
type Counts struct {
	Waiting         int64 `json:"waiting"`
	Delayed         int64 `json:"delayed"`
	Active          int64 `json:"active"`
	WaitingChildren int64 `json:"waiting-children"`
	Completed       int64 `json:"completed"`
	Failed          int64 `json:"failed"`
	Cancelled       int64 `json:"cancelled"`
}

// Of returns a pointer to the count of one state; it panics if s is no state.
func (c *Counts) Of(s State) *int64 {
	switch s {
	case Waiting:
		return &c.Waiting
	case Delayed:
		return &c.Delayed
	case Active:
		return &c.Active
	case WaitingChildren:
		return &c.WaitingChildren
	case Completed:
		return &c.Completed
	case Failed:
		return &c.Failed
	case Cancelled:
		return &c.Cancelled
	}
	panic("driver: Counts.Of(" + s.String() + ")")
}

// Total returns the number of jobs in all states.
func (c Counts) Total() int64 {
	return c.Waiting + c.Delayed + c.Active + c.WaitingChildren + c.Completed + c.Failed + c.Cancelled
}

// Outcome is how one run of a job ended, as the ledger of its attempts tells it.
// The zero value is no outcome.
type Outcome uint8

// The outcomes of an attempt.
const (
	OutcomeCompleted Outcome = iota + 1
	OutcomeRetried           // failed, and went back for another attempt
	OutcomeFailed            // failed for good
	OutcomeStalled           // its lock ran out
	OutcomeCancelled
	OutcomeFannedOut // a flow parent's first phase
)

var outcomeNames = [...]string{
	OutcomeCompleted: "completed", OutcomeRetried: "retried", OutcomeFailed: "failed",
	OutcomeStalled: "stalled", OutcomeCancelled: "cancelled", OutcomeFannedOut: "fanned-out",
}

// String returns the outcome's name.
func (o Outcome) String() string {
	if o < OutcomeCompleted || o > OutcomeFannedOut {
		return fmt.Sprintf("Outcome(%d)", uint8(o))
	}
	return outcomeNames[o]
}

// ParseOutcome returns the outcome of that name, or an [*InvalidError].
func ParseOutcome(name string) (Outcome, error) {
	for o := OutcomeCompleted; o <= OutcomeFannedOut; o++ {
		if outcomeNames[o] == name {
			return o, nil
		}
	}
	return 0, &InvalidError{Field: "outcome", Value: name,
		Reason: "use completed, retried, failed, stalled, cancelled or fanned-out"}
}

// MarshalText encodes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) {
	if o < OutcomeCompleted || o > OutcomeFannedOut {
		return nil, fmt.Errorf("braid: %v is not an outcome", o)
	}
	return []byte(outcomeNames[o]), nil
}

// UnmarshalText decodes an outcome's name.
func (o *Outcome) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOutcome(string(text))
	return err
}

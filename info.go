package braid

import (
	"bytes"
	"encoding/json"
	"maps"
	"time"

	"github.com/braidmq/braid/driver"
)

// State is where a job stands.
type State = driver.State

// The states of a job.
const (
	Waiting         = driver.Waiting         // can run now
	Delayed         = driver.Delayed         // not before its RunAt
	Active          = driver.Active          // a worker runs it
	WaitingChildren = driver.WaitingChildren // a flow's parent, until its children have finished
	Completed       = driver.Completed
	Failed          = driver.Failed
	Cancelled       = driver.Cancelled
)

// Counts is a number of jobs per state.
type Counts = driver.Counts

// JobInfo is a job as it was when it was read. Times are UTC; one that is zero has
// not come.
type JobInfo struct {
	ID              string            `json:"id"`
	Name            string            `json:"name"`
	Queue           string            `json:"queue"`
	State           State             `json:"state"`
	Payload         json.RawMessage   `json:"payload,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Priority        int               `json:"priority"`
	AttemptsMax     int               `json:"attemptsMax"`
	AttemptsMade    int               `json:"attemptsMade"`
	StalledCount    int               `json:"stalledCount"`
	CancelRequested bool              `json:"cancelRequested"` // its worker has not answered yet
	DedupeKey       string            `json:"dedupeKey,omitempty"`
	Timeout         *time.Duration    `json:"timeout,omitempty"` // nil: the worker's default
	Backoff         *BackoffInfo      `json:"backoff,omitempty"` // nil: the worker's default
	Keep            *KeepInfo         `json:"keep,omitempty"`    // nil: until the store's history ceiling
	EnqueuedAt      time.Time         `json:"enqueuedAt"`
	RunAt           time.Time         `json:"runAt"`
	ProcessedAt     time.Time         `json:"processedAt,omitzero"` // when its latest run began
	FinishedAt      time.Time         `json:"finishedAt,omitzero"`
	Exit            json.RawMessage   `json:"exit,omitempty"` // the result, or what the handler failed with
	FailedReason    string            `json:"failedReason,omitempty"`
	LockedBy        string            `json:"lockedBy,omitempty"` // the worker that runs it
	LockExpiresAt   time.Time         `json:"lockExpiresAt,omitzero"`
	Flow            *FlowProgress     `json:"flow,omitempty"`   // of a flow that has handed out its children
	Parent          *ParentInfo       `json:"parent,omitempty"` // of a flow's child
	Trace           *TraceInfo        `json:"trace,omitempty"`  // of whoever enqueued it, if that was traced
}

// TraceInfo is the span context in which a job was enqueued.
type TraceInfo struct {
	TraceID string `json:"traceId"` // 32 hex digits
	SpanID  string `json:"spanId"`  // 16 hex digits
	Sampled bool   `json:"sampled"`
	// Delayed: the job was delayed on purpose, so its run begins a trace of its own.
	Delayed bool `json:"delayed"`
}

// FlowProgress is how far a flow's children are.
type FlowProgress struct {
	FailFast  bool  `json:"failFast"`
	Pending   int64 `json:"pending"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// Total returns the number of children.
func (p FlowProgress) Total() int64 { return p.Pending + p.Completed + p.Failed + p.Cancelled }

// ParentInfo tells which flow a job is a child of.
type ParentInfo struct {
	Flow     string `json:"flow"`  // the flow's name
	ID       string `json:"id"`    // the parent's job id
	Store    string `json:"store"` // where the parent lives
	ChildKey string `json:"childKey"`
	Depth    int    `json:"depth"` // 1: child of a top-level parent
}

// Err returns how a failed job ended, a [*JobError], or nil for any other.
func (j *JobInfo) Err() error {
	if j.State != Failed {
		return nil
	}
	return jobError(j.ID, j.Exit, j.FailedReason, int32(j.AttemptsMade))
}

// AttemptInfo is one run of a job, or what ended the job in place of a run.
type AttemptInfo struct {
	Attempt    int             `json:"attempt"` // 1-based, over the job's whole life
	StartedAt  time.Time       `json:"startedAt,omitzero"`
	FinishedAt time.Time       `json:"finishedAt"`
	Outcome    Outcome         `json:"outcome"`
	Exit       json.RawMessage `json:"exit,omitempty"`
	Worker     string          `json:"worker,omitempty"`

	jobID string
}

// Err returns what the attempt failed with, a [*JobError], or nil.
func (a AttemptInfo) Err() error {
	if a.Outcome != OutcomeRetried && a.Outcome != OutcomeFailed {
		return nil
	}
	return jobError(a.jobID, a.Exit, "", int32(a.Attempt))
}

// Outcome is how one run of a job ended.
type Outcome = driver.Outcome

// The outcomes of a run.
const (
	OutcomeCompleted = driver.OutcomeCompleted
	OutcomeRetried   = driver.OutcomeRetried // failed, and went back for another attempt
	OutcomeFailed    = driver.OutcomeFailed
	OutcomeStalled   = driver.OutcomeStalled // its worker was lost
	OutcomeCancelled = driver.OutcomeCancelled
	OutcomeFannedOut = driver.OutcomeFannedOut // a flow's parent handed out its children
)

// newJobInfo copies what the record refers to: what the user changes is not the
// store's.
func newJobInfo(j *driver.Job) *JobInfo {
	info := &JobInfo{
		ID: j.ID, Name: j.Name, Queue: j.Queue, State: j.State,
		Payload: bytes.Clone(j.Payload), Metadata: maps.Clone(j.Metadata), Priority: int(j.Priority),
		AttemptsMax: int(j.AttemptsMax), AttemptsMade: int(j.AttemptsMade),
		StalledCount: int(j.StalledCount), CancelRequested: j.CancelRequested,
		DedupeKey: j.DedupeKey, EnqueuedAt: j.EnqueuedAt.Std(), RunAt: j.RunAt.Std(),
		ProcessedAt: stdTime(j.ProcessedAt), FinishedAt: stdTime(j.FinishedAt),
		Exit: bytes.Clone(j.Exit), FailedReason: j.FailedReason,
		LockedBy: j.LockedBy, LockExpiresAt: stdTime(j.LockExpiresAt),
	}
	if m := j.Flow; m != nil {
		info.Flow = &FlowProgress{FailFast: m.FailFast, Pending: m.Pending, Completed: m.Completed, Failed: m.Failed, Cancelled: m.Cancelled}
	}
	if p := j.Parent; p != nil {
		info.Parent = &ParentInfo{Flow: p.FlowName, ID: p.FlowID, Store: p.ParentStoreKey, ChildKey: p.ChildKey, Depth: int(p.Depth)}
	}
	info.Timeout = stdDuration(j.Timeout)
	info.Backoff, info.Keep = newBackoffInfo(j.Backoff), newKeepInfo(j.Keep)
	if t := j.Trace; t != nil {
		info.Trace = &TraceInfo{TraceID: t.TraceID, SpanID: t.SpanID, Sampled: t.Sampled, Delayed: t.Delayed}
	}
	return info
}

func newAttemptInfo(jobID string, a driver.Attempt) AttemptInfo {
	return AttemptInfo{
		Attempt: int(a.Attempt), StartedAt: stdTime(a.StartedAt), FinishedAt: a.FinishedAt.Std(),
		Outcome: a.Outcome, Exit: bytes.Clone(a.Exit), Worker: a.Worker, jobID: jobID,
	}
}

func stdTime(t driver.Opt[driver.Time]) time.Time {
	if !t.Set {
		return time.Time{}
	}
	return t.Value.Std()
}

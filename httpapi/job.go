package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/braidmq/braid"
)

// Job is a job as it was when it was read.
type Job struct {
	ID              string            `json:"id" doc:"In paths, it is percent-encoded as one segment."`
	Name            string            `json:"name"`
	Queue           string            `json:"queue"`
	State           braid.State       `json:"state"`
	Payload         json.RawMessage   `json:"payload,omitempty" doc:"Any JSON; absent if the job has none."`
	Redacted        bool              `json:"redacted,omitempty" doc:"The server hides payloads and results."`
	Metadata        map[string]string `json:"metadata,omitempty"`
	Priority        int               `json:"priority" doc:"Higher runs first."`
	AttemptsMax     int               `json:"attemptsMax"`
	AttemptsMade    int               `json:"attemptsMade" doc:"In the present budget; an operator's retry begins a new one."`
	StalledCount    int               `json:"stalledCount" doc:"How often it lost its worker."`
	CancelRequested bool              `json:"cancelRequested" doc:"Its worker was asked to end it."`
	DedupeKey       string            `json:"dedupeKey,omitempty"`
	TimeoutMs       *int64            `json:"timeoutMs,omitempty" doc:"Of one run; 0: none; absent: the worker's default."`
	EnqueuedAt      Time              `json:"enqueuedAt"`
	RunAt           Time              `json:"runAt" doc:"When it falls, or fell, due."`
	ProcessedAt     Time              `json:"processedAt,omitzero" doc:"When its latest run began."`
	FinishedAt      Time              `json:"finishedAt,omitzero"`
	Result          json.RawMessage   `json:"result,omitempty" doc:"Of a completed job."`
	Error           *RunError         `json:"error,omitempty" doc:"Of a failed job."`
	LockedBy        string            `json:"lockedBy,omitempty" doc:"The worker that runs it."`
	LockExpiresAt   Time              `json:"lockExpiresAt,omitzero"`
	Flow            *FlowProgress     `json:"flow,omitempty" doc:"Of a flow's parent that has handed out its children."`
	Parent          *Parent           `json:"parent,omitempty" doc:"Of a flow's child."`
	Trace           *Trace            `json:"trace,omitempty" doc:"The span context of whoever enqueued it."`
}

// RunError is what a run failed with.
type RunError struct {
	Message string `json:"message"`
	Type    string `json:"type,omitempty" doc:"The kind of error, as the worker's language names it."`
	Stack   string `json:"stack,omitempty"`
}

// FlowProgress is how far the children of a flow are.
type FlowProgress struct {
	FailFast  bool  `json:"failFast" doc:"The first child that fails ends the flow."`
	Pending   int64 `json:"pending"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
}

// Parent tells which flow a job is a child of.
type Parent struct {
	Flow     string `json:"flow" doc:"The name of the flow."`
	ID       string `json:"id" doc:"The parent's job id."`
	Store    string `json:"store" doc:"The store that the parent lives in."`
	ChildKey string `json:"childKey"`
	Depth    int    `json:"depth" doc:"1 for the child of a top-level parent."`
}

// Trace is a span context.
type Trace struct {
	TraceID     string `json:"traceId"`
	SpanID      string `json:"spanId"`
	Sampled     bool   `json:"sampled"`
	Traceparent string `json:"traceparent" doc:"The same, as the header of the W3C writes it."`
}

// Attempt is one run of a job, or what ended the job in place of a run.
type Attempt struct {
	Attempt    int             `json:"attempt" doc:"Counted from 1 over the job's whole life."`
	StartedAt  Time            `json:"startedAt,omitzero"`
	FinishedAt Time            `json:"finishedAt"`
	Outcome    braid.Outcome   `json:"outcome"`
	Result     json.RawMessage `json:"result,omitempty"`
	Error      *RunError       `json:"error,omitempty"`
	Worker     string          `json:"worker,omitempty"`
}

func (h *Handler) job(info *braid.JobInfo) *Job {
	job := &Job{
		ID: info.ID, Name: info.Name, Queue: info.Queue, State: info.State,
		Payload: shown(info.Payload), Metadata: info.Metadata, Priority: info.Priority,
		AttemptsMax: info.AttemptsMax, AttemptsMade: info.AttemptsMade, StalledCount: info.StalledCount,
		CancelRequested: info.CancelRequested, DedupeKey: info.DedupeKey, TimeoutMs: inMillis(info.Timeout),
		EnqueuedAt: timeOf(info.EnqueuedAt), RunAt: timeOf(info.RunAt),
		ProcessedAt: timeOf(info.ProcessedAt), FinishedAt: timeOf(info.FinishedAt),
		Error: runError(info.Err()), LockedBy: info.LockedBy, LockExpiresAt: timeOf(info.LockExpiresAt),
	}
	if info.State == braid.Completed {
		job.Result = shown(info.Exit)
	}
	if f := info.Flow; f != nil {
		job.Flow = &FlowProgress{FailFast: f.FailFast, Pending: f.Pending, Completed: f.Completed, Failed: f.Failed, Cancelled: f.Cancelled}
	}
	if p := info.Parent; p != nil {
		job.Parent = &Parent{Flow: p.Flow, ID: p.ID, Store: p.Store, ChildKey: p.ChildKey, Depth: p.Depth}
	}
	if t := info.Trace; t != nil {
		flags := 0
		if t.Sampled {
			flags = 1
		}
		job.Trace = &Trace{TraceID: t.TraceID, SpanID: t.SpanID, Sampled: t.Sampled,
			Traceparent: fmt.Sprintf("00-%s-%s-%02x", t.TraceID, t.SpanID, flags)}
	}
	if h.redact && (job.Payload != nil || job.Result != nil) {
		job.Payload, job.Result, job.Redacted = nil, nil, true
	}
	return job
}

func (h *Handler) attempt(info braid.AttemptInfo) Attempt {
	attempt := Attempt{
		Attempt: info.Attempt, StartedAt: timeOf(info.StartedAt), FinishedAt: timeOf(info.FinishedAt),
		Outcome: info.Outcome, Error: runError(info.Err()), Worker: info.Worker,
	}
	if info.Outcome == braid.OutcomeCompleted && !h.redact {
		attempt.Result = shown(info.Exit)
	}
	return attempt
}

func runError(err error) *RunError {
	var failed *braid.JobError
	if !errors.As(err, &failed) {
		return nil
	}
	return &RunError{Message: failed.Message, Type: failed.Type, Stack: failed.Stack}
}

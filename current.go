package braid

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/braidmq/braid/internal/engine"
)

// CurrentJob is the job that a handler runs.
type CurrentJob struct {
	ID          string
	Name        string
	Queue       string
	Metadata    map[string]string // a copy
	Attempt     int               // 1 for the first of the job's budget
	AttemptsMax int
	EnqueuedAt  time.Time
	// LockToken is unique to this run. A system that the handler writes to can use it
	// to refuse writes of a run that has lost its lock.
	LockToken string
	Worker    string // the worker's id

	logger func() *slog.Logger
}

// Logger logs with the job's id, queue and attempt. Outside of a handler it is
// slog.Default().
func (c CurrentJob) Logger() *slog.Logger {
	if c.logger == nil {
		return slog.Default()
	}
	return c.logger()
}

// Current returns the job that ctx, a handler's context, belongs to. Outside of a
// handler it is the zero CurrentJob.
func Current(ctx context.Context) CurrentJob {
	run, ok := engine.CurrentRun(ctx)
	if !ok {
		return CurrentJob{}
	}
	return CurrentJob{
		ID: run.Job.ID, Name: run.Job.Name, Queue: run.Job.Queue, Metadata: maps.Clone(run.Job.Metadata),
		Attempt: run.Attempt, AttemptsMax: int(run.Job.AttemptsMax), EnqueuedAt: run.Job.EnqueuedAt.Std(),
		LockToken: run.Token, Worker: run.Worker, logger: run.Logger,
	}
}

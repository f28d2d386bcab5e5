package braid

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
)

// tellStalled tells the hook which of the recovered jobs have failed.
func (o *WorkerOptions) tellStalled(ctx context.Context, store *boundStore, logger *slog.Logger, recovered []driver.Recovered) {
	var ids []string
	for _, job := range recovered {
		if job.Failed {
			ids = append(ids, job.ID)
		}
	}
	if o.OnFailure == nil || len(ids) == 0 {
		return
	}
	records := stalledJobs(ctx, store, logger, ids)
	for i, id := range ids {
		job, info := &driver.Job{ID: id}, &JobInfo{ID: id, State: Failed, FailedReason: driver.StalledReason}
		if records[i] != nil {
			job, info = records[i], newJobInfo(records[i])
		}
		run := &engine.Run{Job: job, Attempt: int(job.AttemptsMade) + 1, Store: store.name, Log: logger}
		var told sync.WaitGroup // of a goroutine that the hook may end
		told.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					run.Logger().Error("braid: the failure hook panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				}
			}()
			o.OnFailure(engine.WithRun(ctx, run), Failure{Job: info, Err: ErrStalled})
		})
		told.Wait()
	}
}

// stalledJobs reads failed jobs; nil for one that is gone, or cannot be read.
func stalledJobs(ctx context.Context, store *boundStore, logger *slog.Logger, ids []string) []*driver.Job {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	jobs, err := store.driver.Jobs(ctx, ids)
	if err != nil {
		logger.Warn("braid: jobs that stalled too often cannot be read; the failure hook gets their ids", "jobs", len(ids), "error", err)
		return make([]*driver.Job, len(ids))
	}
	return jobs
}

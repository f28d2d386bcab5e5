package pgstore

import (
	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// readJob returns the job of a row whose columns are those of job_columns in the
// statements that return jobs. Columns that follow them are scanned into more.
func (s *Store) readJob(rows pgx.Rows, more ...any) (*driver.Job, error) {
	job := &driver.Job{}
	var state int16
	var processedAt, finishedAt, lockExpiresAt, pending, completed, failed, cancelled *int64
	var failFast *bool
	var lockedBy, failedReason, dedupeKey, settings, trace, parent, metadata, payload, exit *string
	targets := [...]any{
		&job.ID, &state, &job.Queue, &job.Name, &job.Priority, &job.Seq, &job.AttemptsMax, &job.AttemptsMade,
		&job.StalledCount, (*int64)(&job.RunAt), (*int64)(&job.EnqueuedAt), &processedAt, &lockedBy, &lockExpiresAt,
		&job.CancelRequested, &finishedAt, &failedReason, &dedupeKey, &job.DedupeTTL, &settings, &trace, &parent,
		&metadata, &payload, &exit, &failFast, &pending, &completed, &failed, &cancelled,
	}
	if err := rows.Scan(append(targets[:], more...)...); err != nil {
		return nil, err
	}
	job.State = driver.State(state) //nolint:gosec // a state
	job.ProcessedAt, job.FinishedAt, job.LockExpiresAt = timeOf(processedAt), timeOf(finishedAt), timeOf(lockExpiresAt)
	job.FailedReason, job.DedupeKey = orZero(failedReason), orZero(dedupeKey)
	job.Payload, job.Exit = bytesOf(payload), bytesOf(exit)
	if job.State == driver.Active {
		job.LockedBy = orZero(lockedBy)
	}
	if failFast != nil {
		job.Flow = &driver.Manifest{FailFast: *failFast, Pending: orZero(pending), Completed: orZero(completed),
			Failed: orZero(failed), Cancelled: orZero(cancelled)}
	}
	p, err := s.plans.Plan(orZero(settings))
	if err != nil {
		return nil, err
	}
	job.Backoff, job.Keep, job.Timeout = p.Backoff, p.Keep, p.Timeout
	if job.Metadata, err = rowcodec.DecodeMetadata(orZero(metadata)); err != nil {
		return nil, err
	}
	if job.Trace, err = rowcodec.DecodeTrace(orZero(trace)); err != nil {
		return nil, err
	}
	job.Parent, err = rowcodec.DecodeEnvelope(orZero(parent))
	return job, err
}

package braid

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// Handle is a job that was enqueued, or looked up with [Job.ByID], typed by its
// result. It is safe for concurrent use.
type Handle[R any] struct {
	ID string // of the job
	// Duplicate: the enqueue stored nothing, because of the job of that ID. It may
	// also be the enqueue's own job, where a lost reply made the client repeat it.
	Duplicate bool

	client   *Client
	enqueued bool // by this process: the job is known to have existed
	inTx     bool // in a transaction of the caller's, whose fate nobody tells
}

// handleOf is a job that was enqueued there.
func handleOf[R any](target enqueueTarget, result driver.EnqueueResult) Handle[R] {
	inTx := target.tx != nil
	return Handle[R]{ID: result.ID, Duplicate: result.Duplicate, client: target.client, enqueued: !inTx, inTx: inTx}
}

// Wait returns the job's result once it has finished. A job that failed is a
// [*JobError]; one that was cancelled ErrCancelled; one that was removed ErrRemoved;
// ErrResultNotKept when the job is gone and nothing tells how it ended; ErrNotFound
// for an unknown id. A job that was enqueued in a transaction can be waited for after the
// commit; without one it is unknown. The result arrives at once where the store can push, and by
// polling with a backoff of up to a second where it cannot.
func (h *Handle[R]) Wait(ctx context.Context) (R, error) {
	end, err := h.client.waitFor(ctx, h.ID, h.enqueued)
	if err != nil {
		var zero R
		if h.inTx && errors.Is(err, ErrNotFound) {
			return zero, within(err, "wait for job %q, whose transaction was not committed, or which is gone", h.ID)
		}
		return zero, within(err, "wait for job %q", h.ID)
	}
	return resultOf[R](end)
}

// Get returns the job as it is now, or ErrNotFound.
func (h *Handle[R]) Get(ctx context.Context) (*JobInfo, error) { return h.client.Get(ctx, h.ID) }

// Attempts returns the job's runs so far, oldest first.
func (h *Handle[R]) Attempts(ctx context.Context) ([]AttemptInfo, error) {
	return h.client.Attempts(ctx, h.ID)
}

// Cancel is [Client.Cancel] for this job.
func (h *Handle[R]) Cancel(ctx context.Context) error { return h.client.Cancel(ctx, h.ID) }

// Retry is [Client.Retry] for this job.
func (h *Handle[R]) Retry(ctx context.Context) error { return h.client.Retry(ctx, h.ID) }

// Promote is [Client.Promote] for this job.
func (h *Handle[R]) Promote(ctx context.Context) error { return h.client.Promote(ctx, h.ID) }

// Remove is [Client.Remove] for this job.
func (h *Handle[R]) Remove(ctx context.Context) (bool, error) { return h.client.Remove(ctx, h.ID) }

// resultOf decodes how a job ended.
func resultOf[R any](end driver.Finished) (R, error) {
	var zero R
	switch end.State {
	case driver.Completed:
		result, err := decode[R](end.Exit)
		if err != nil {
			return zero, within(err, "result of job %q", end.ID)
		}
		return result, nil
	case driver.Failed:
		return zero, jobError(end.ID, end.Exit, end.FailedReason, end.AttemptsMade)
	case driver.Cancelled:
		return zero, fmt.Errorf("%w: %q", ErrCancelled, end.ID)
	default:
		return zero, fmt.Errorf("%w: %q", ErrRemoved, end.ID)
	}
}

package driver

import "context"

// OperateResult answers one item of Cancel, Promote or Retry.
type OperateResult struct {
	// Err is nil, ErrNotFound or a [*StateError]. Then nothing changed.
	Err error
	// State is the state after the operation, if Err is nil. Active after a Cancel:
	// the cancel was requested of the job's worker.
	State State
}

// Operator acts on jobs and queues from outside. Batches are answered position by
// position, each item on its own, in order.
type Operator interface {
	// Cancel: Waiting or Delayed becomes Cancelled, with a ledger entry; Active gets
	// CancelRequested, also when it has it already; WaitingChildren is settled
	// early (see [FlowStore]) as Cancelled; a terminal job is not cancellable.
	Cancel(ctx context.Context, now Time, ids []string) ([]OperateResult, error)

	// Promote makes a Delayed job Waiting, RunAt now, seq kept, and wakes its queue.
	// Any other state is not promotable.
	Promote(ctx context.Context, now Time, ids []string) ([]OperateResult, error)

	// Retry makes a Failed job Waiting with a fresh budget: new seq, RunAt now,
	// AttemptsMade and StalledCount 0; exit, FailedReason, FinishedAt and ProcessedAt
	// cleared; ledger, manifest and dependency rows kept; queue woken. It takes a
	// dedup key without ttl again, if that is free, and goes ahead without it
	// otherwise (DedupeKey becomes empty). Any other state is not retryable.
	Retry(ctx context.Context, now Time, ids []string) ([]OperateResult, error)

	// Remove deletes jobs with their ledgers and dependency rows, and frees their
	// dedup keys; true where one was deleted. Active, parked and unknown jobs are
	// left: false. A flow's child that was not terminal is reported as cancelled, in
	// the same step. Large flows are worked off by SweepFlows.
	Remove(ctx context.Context, now Time, ids []string) ([]bool, error)

	// Pause makes claims of a queue find nothing until Resume; durable, idempotent.
	// Producers are not affected.
	Pause(ctx context.Context, queue string) error

	// Resume ends a pause and wakes the queue; idempotent.
	Resume(ctx context.Context, queue string) error

	// PausedQueues returns the names of the paused queues, in byte order.
	PausedQueues(ctx context.Context) ([]string, error)
}

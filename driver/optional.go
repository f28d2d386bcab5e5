package driver

import "context"

// The interfaces of this file are optional. What is above the seam asks a store
// for them by type assertion, and falls back on polling, on the local clock, or
// on a clear error where a store lacks one.

// Waker is the power to wake workers.
type Waker interface {
	// AwaitWake returns nil when there may be work for one of these queues since the
	// cursor: an enqueue, a retry, snooze, release, promotion or recovery, a resume,
	// a flow that settled. A wake between the claim that gave the cursor and this
	// call counts. Wakes of other queues do not. Spurious returns happen only after
	// the store has lost and re-made its connection, once for every waiter. The
	// re-making is the store's own affair.
	AwaitWake(ctx context.Context, queues []string, since WakeCursor) error
}

// Finished tells how a job ended.
type Finished struct {
	ID           string
	State        State // terminal; 0: the job was removed
	Exit         []byte
	FailedReason string
	AttemptsMade int32
}

// FinishWatcher is the power to push the end of single jobs.
type FinishWatcher interface {
	// WatchFinished watches one job until ctx ends. When it returns, the watch is in
	// effect: an end after that is delivered, with its outcome, also when retention
	// removes the job at once. The channel is buffered; the store sends at most one
	// value and then closes it, also without a value when it cannot watch on (then
	// the caller looks at the job, and watches again).
	WatchFinished(ctx context.Context, id string) (<-chan Finished, error)
}

// CancelWatcher is the power to push cancel requests of active jobs.
type CancelWatcher interface {
	// WatchCancels calls deliver with the id of every job whose cancel is requested
	// while it is active, by whatever process, until ctx ends; then it returns the
	// context's error. It restores a lost connection by itself; what it missed
	// meanwhile the heartbeat tells. deliver does not block.
	WatchCancels(ctx context.Context, deliver func(id string)) error
}

// ServerClock is the power to tell the time of the server that several processes
// share.
type ServerClock interface {
	ServerTime(ctx context.Context) (Time, error)
}

// Tx is a transaction of the caller's own, as a store's package wraps it.
type Tx struct {
	Handle any // what the store understands, such as a pgx.Tx or *sql.Tx
}

// TxProducer is the power to enqueue inside the caller's transaction.
type TxProducer interface {
	// EnqueueTx is [Producer].Enqueue inside tx: with its rollback nothing has
	// happened, with its commit the queues wake. A Tx that is not this store's is an
	// [*InvalidError].
	EnqueueTx(ctx context.Context, tx Tx, now Time, batch []EnqueueRequest) ([]EnqueueResult, error)
}

// GroupedProducer is the power to tell that the requests of several callers, which
// travel together, had better travel apart.
type GroupedProducer interface {
	// EnqueueGrouped is [Producer].Enqueue for a batch whose items are of different
	// callers. Where an item would have to wait for a transaction of somebody's that is
	// still open, its chunk applies nothing and the error matches [ErrContended].
	EnqueueGrouped(ctx context.Context, now Time, batch []EnqueueRequest) ([]EnqueueResult, error)
}

// GroupedConsumer is the power to settle the runs of a batch without those whose jobs
// belong to somebody else for the moment.
type GroupedConsumer interface {
	// AckGrouped is [Consumer].Ack, but does not wait for transactions of somebody's that
	// are still open. Nothing of an item that would have to is applied, and its Err matches
	// [ErrContended]: it is to be sent again.
	AckGrouped(ctx context.Context, now Time, batch []Ack) ([]AckResult, error)
}

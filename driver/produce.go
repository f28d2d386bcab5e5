package driver

import "context"

// EnqueueRequest asks for one job.
type EnqueueRequest struct {
	// ID makes the request idempotent. Empty: the store assigns one.
	ID string
	Spec
	Delay  Millis // 0: run at once; RunAt becomes now + Delay
	Dedupe *Dedupe
}

// Dedupe throttles or debounces jobs of one name by a key. An entry at or past
// its expiry holds nothing, for any operation.
type Dedupe struct {
	Key string
	// TTL opens a window from now: until it closes, the key holds, even when the
	// job has finished. Absent: the key holds while its job is not finished.
	TTL     Opt[Millis]
	Extend  bool // a duplicate restarts the window from now
	Replace bool // a duplicate rewrites the keyed job while that is still delayed
}

// EnqueueResult answers one request.
type EnqueueResult struct {
	ID        string // of the new job, or of the one that stood in its way
	Duplicate bool   // no job was inserted
}

// Producer takes jobs in.
type Producer interface {
	// Enqueue inserts a batch and answers position by position, in one round trip
	// per chunk. An empty batch is answered with nothing, at no cost.
	//
	// Per item, in the batch's order, as if each were a call of its own:
	//
	//  1. An ID that exists, in any state, is a no-op: its id, duplicate, nothing
	//     changed, no dedup key taken. This comes before the dedup rules.
	//  2. Without an ID the store assigns j-<n> from its counter, or one from the
	//     configured generator. It never collides with an existing job; after a
	//     bounded number of collisions the enqueue fails.
	//  3. With Dedupe and a live entry for its key, scoped by job name:
	//     - Replace, and the keyed job is Delayed and has no manifest: its payload,
	//       metadata, priority, attemptsMax, backoff, keep, timeout, trace and RunAt
	//       are rewritten in place (id, seq, ledger and queue stay), its queue wakes,
	//       a TTL window restarts from now, if the request has a TTL;
	//     - else now is within the window: a duplicate; with Extend and TTL the
	//       window restarts from now, otherwise it stays;
	//     - else there is no window and the keyed job is not terminal: a duplicate;
	//     - else the entry is dead (also if its job is gone): the new job takes it over.
	//  4. Delay > 0: Delayed, else Waiting. Seq follows the batch's order.
	//  5. Every insert and replace wakes the job's queue, and only that.
	//
	// Each chunk is atomic. When a chunk fails after others were applied, the error
	// is a [*PartialError], and the results of the applied items are returned.
	Enqueue(ctx context.Context, now Time, batch []EnqueueRequest) ([]EnqueueResult, error)

	// CancelByDedupe cancels, as [Operator].Cancel does, the job that holds the
	// name's key, if that is waiting, delayed, or parked, and reports whether there
	// was one. An active or terminal job, or an expired entry, counts as none.
	CancelByDedupe(ctx context.Context, now Time, name, key string) (bool, error)
}

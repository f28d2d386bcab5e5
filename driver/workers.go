package driver

import "context"

// WorkerRecord is what a worker tells of itself with every beat.
type WorkerRecord struct {
	ID      string // as jobs have it in LockedBy
	Host    string // empty: unknown
	Version string // of the worker's program; empty: unknown
	PID     int    // on its host; 0: unknown
	// Queues are those that it works on, Names those of the jobs that it can run.
	Queues []WorkerQueue
	Names  []string
	Since  Time // when it began
	// BeatAt is when the record was stored; the store sets it to the now of the beat.
	BeatAt    Time
	ExpiresAt Time // from then on the worker counts as gone, unless it beats again
}

// WorkerQueue is a queue that a worker works on.
type WorkerQueue struct {
	Name     string
	Slots    int // how many of its jobs the worker runs at once
	InFlight int // how many of them are taken
}

// WorkerPage is a page of workers.
type WorkerPage struct {
	Workers []WorkerRecord
	More    bool // whether others are left behind the last one
}

// DefaultWorkerLimit is the page size of [WorkerRegistry].Workers without one.
const DefaultWorkerLimit = 100

// WorkerRegistry knows which workers are alive. It is for people and tools: nothing
// else depends on it. A record goes by itself when its worker stops beating.
type WorkerRegistry interface {
	// BeatWorker stores the record in place of the one with its ID. It also deletes a
	// few of the records that expired at or before now, so that those of workers which
	// died do not gather.
	BeatWorker(ctx context.Context, now Time, w WorkerRecord) error

	// ForgetWorker deletes a worker's record, if there is one.
	ForgetWorker(ctx context.Context, id string) error

	// Workers returns up to limit workers with ExpiresAt > now, in byte order of their
	// IDs, behind after, whether that still exists or not. A limit of 0 is
	// DefaultWorkerLimit. A page that is not the last holds at least one.
	Workers(ctx context.Context, now Time, after string, limit int) (WorkerPage, error)
}

package driver

import "context"

// WorkerInfo is a worker as it tells of itself.
type WorkerInfo struct {
	ID        string // unique among the workers of a store
	Host      string
	PID       int64
	Version   string   // of the program, as it likes; may be empty
	Names     []string // of the jobs that it can run, in byte order
	Queues    []WorkerQueue
	StartedAt Time
	SeenAt    Time // of its latest beat; the store sets it
}

// WorkerQueue is what a worker does for one queue.
type WorkerQueue struct {
	Queue    string
	Slots    int64 // how many of its jobs it runs at once
	InFlight int64 // how many it runs now
}

// WorkerRegistry keeps which workers are alive.
type WorkerRegistry interface {
	// BeatWorker stores what a worker tells of itself, in place of what it told
	// before, until now + ttl. It also deletes entries that have run out.
	BeatWorker(ctx context.Context, now Time, w WorkerInfo, ttl Millis) error

	// ForgetWorker deletes a worker that has stopped; idempotent.
	ForgetWorker(ctx context.Context, id string) error

	// Workers returns the workers whose entry holds after now (now < its end), in byte
	// order of their ids.
	Workers(ctx context.Context, now Time) ([]WorkerInfo, error)
}

package driver

import "context"

// Store is everything that Braid asks of a storage. Its parts are roles; the
// powers that only some stores have are the interfaces of optional.go.
type Store interface {
	Producer
	Consumer
	Inspector
	Operator
	Scheduler
	FlowStore
	Sweeper
	WorkerRegistry
	StatsKeeper

	// Info describes the store. It makes no call.
	Info() Info

	// Ping returns nil if the store can serve a call now.
	Ping(ctx context.Context) error

	// Close releases what the store itself opened and ends its waits with ErrClosed.
	// It is idempotent; every later call returns ErrClosed.
	Close() error
}

// Info describes a store to people and tools. Nothing branches on it.
type Info struct {
	Kind     string // "memory", "sqlite", "redis", "postgres", …
	Location string // where the data is, without secrets
	Format   int    // the version of the stored format
}

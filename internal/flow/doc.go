// Package flow moves flows along, between the stores that parents and children
// live in: it enqueues children, brings their outcomes to their parents, and
// repairs what a crash left half-way.
//
// Nothing here spans two stores in one step. Every piece is idempotent, and safe
// to run in any number of processes at once: the stores decide.
package flow

import "github.com/braidmq/braid/driver"

// Store is a store under the name by which envelopes and dependency rows know it.
type Store struct {
	Key    string
	Driver driver.Store
	Now    func() driver.Time
}

// Stores are the stores that a process knows, by key.
type Stores map[string]Store

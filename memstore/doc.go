// Package memstore is a store that keeps everything in the memory of one process.
//
// It is the reference for the other stores: it keeps every rule of package driver
// with the plainest code. It is also a real choice for tests and for small tools
// whose jobs may end with the process.
//
// # How it works
//
// One mutex guards one set of structures. Jobs lie in a map by id. Each job also
// lies in exactly one bucket, that of its queue, name and state, and a bucket
// holds the orders that lists need. A few more orders say who comes next: waiting
// jobs of a lane, delayed jobs of a queue, active jobs by the end of their locks,
// finished jobs of a name. A job leaves its orders before a field that they sort
// by changes, and enters them again after.
//
// A call holds the mutex for a bounded number of jobs at a time. What it returns
// are snapshots; they share payloads, metadata and other immutable parts with the
// store, as package driver allows.
package memstore

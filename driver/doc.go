// Package driver is the seam between Braid and the stores that keep its jobs.
//
// Applications do not import it; they import braid and one store. A store
// implements [Store], and proves it with the suite in package drivertest. The
// rules that every store must keep are stated on each method here; the guide
// docs/stores.md explains how to write one.
//
// # Rules that hold for every method
//
// Values. A store sees payloads and exits as encoded JSON and never looks
// inside: what went in comes back byte for byte. A nil or empty slice is an
// absent value, since no JSON value is empty; the JSON null is a value.
//
// Time. The time is an argument, now, wherever an operation reads it. A store
// never reads a clock and never leans on a server-side time to live. The time 0
// is a time like any other; a time that may be absent is an [Opt].
//
// Atomicity. Every operation is atomic, or made of atomic, idempotent pieces
// such that a sweep repairs a crash between any two of them.
//
// Cost. The cost of an operation does not depend on how many jobs the store
// holds. A chunk writes at most [ChunkJobs] jobs and moves at most [ChunkBytes]
// bytes; larger batches are cut into chunks, which are applied in order.
//
// Ownership. What crosses the seam is immutable from then on, in both
// directions: the caller does not change a request's slices, maps and pointers
// after the call, and nobody changes what a store returned. So neither side
// copies.
//
// Concurrency. Every method may be called from many goroutines at once. Every
// method obeys its context, and may return the context's error.
//
// Errors. Refusals are the typed errors of this package. Anything else that goes
// wrong in or on the way to the database is a [StoreError], which says whether
// trying again can help and whether the outcome is unknown.
//
// Limits. Callers keep within the limits of limits.go; a store may rely on it,
// except where a method says what it checks.
package driver

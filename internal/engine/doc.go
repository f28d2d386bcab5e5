// Package engine is the runtime of a worker for one store: it claims jobs, runs
// their handlers, and acknowledges the results.
//
// Each queue has a fetcher, which claims for all of the queue's free slots at
// once, and a pool of executors, which run handlers. Finished runs go to one
// acker, which sends whatever finished while its last call was under way (group
// commit). A heartbeat extends the locks of everything that is claimed and not yet
// acknowledged, so work that is done is never run again while the worker lives.
//
// The engine knows encoded values and errors only; decoding, tracing and metrics
// live above it. Time comes from one [Clock].
package engine

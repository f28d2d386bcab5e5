// Package maintain runs the upkeep of one store beside a worker: it recovers jobs
// whose worker is gone, fires schedules, and deletes what has had its time.
//
// Any number of processes may maintain one store at once: each sweep is safe to
// run anywhere, a slot of a schedule fires once, and the loops are jittered so
// that processes do not sweep in step. A loop survives errors, panics, outages and
// a machine that sleeps, and [Maintainer.Health] tells when one does not get on.
package maintain

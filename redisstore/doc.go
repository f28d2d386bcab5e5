// Package redisstore keeps jobs on a Redis or Valkey server, 6.2 or newer: a single
// one, behind Sentinel, or a cluster. Open takes a URL, New a go-redis client.
//
// # How it works
//
// Every operation is one script inside the server, so it is atomic; larger batches are
// cut into chunks of 250 jobs, of which several go out in one round trip. The scripts
// lie in lua, one per operation, with what they share in lua/lib. A script reads the
// jobs of its batch in one go, works on them in memory, item by item, collects what
// changes, and writes it at its end, each key once. So items of a batch act one after
// the other, a batch costs little more than its parts, and a script that is refused for
// want of memory has changed nothing.
//
// A job is one string, its head: state, times, counters, and the request as it was
// packed by the enqueue, unless that is long; then it has a key of its own, and nothing
// copies it again. Enqueue, claim and ack first try to treat all jobs of their batch as
// plain ones, which most are: no dedup key, no keep, no flow, first run. Then they put the
// few bytes that change into the head as it stands, and end before the functions for
// everything else are even made. What is not plain goes the general way, from where the
// quick one met it.
//
// The orders are sorted sets of ids: keys.go lists them all. Waiting
// jobs lie in one sorted set per queue and name, so that a claim meets only jobs that it
// may take, and it merges those of its names. The time is an argument; no script asks
// the server for it, and no key expires by itself.
//
// All keys of a store begin with its prefix as a hash tag and so lie in one slot of a
// cluster: a cluster makes the store available, not faster. Use several prefixes to
// spread load.
//
// # Pushing
//
// Wakes of idle workers, cancels of running jobs and ends of watched jobs come over one
// subscription per Store. It is made when something is waited for the first time, and
// again when it is lost. A wake is published only if somebody waits for that queue.
//
// # Durability
//
// The server decides it: with appendonly and appendfsync everysec, a crash loses about a
// second; with replicas, a failover may lose what was not replicated. Evicting memory
// policies lose jobs; Open warns of them. What is only an index is rebuilt when it is
// lost: each call of RecoverStalled also looks at a page of all records.
package redisstore

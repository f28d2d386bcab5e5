package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var (
	enqueueScript      = loadScript("enqueue")
	cancelDedupeScript = loadScript("cancel_dedupe")
)

const (
	// maxIDCollisions is how many generated ids in a row may be taken until an enqueue
	// gives up.
	maxIDCollisions = 100
	// pipelineChunks is how many chunks of a batch go out in one round trip.
	pipelineChunks = 4
)

// What the enqueue script says of a job.
const (
	jobInserted  = "0"
	jobDuplicate = "1"
	jobIDTaken   = "2"
)

// The marks of a dedup key, beside the one of its entry, which tells of a window.
const (
	markWindow = 1 << iota
	markExtend
	markReplace
)

// Enqueue implements [driver.Producer].
func (s *Store) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	results := make([]driver.EnqueueResult, 0, len(batch))
	for collisions := 0; len(results) < len(batch); collisions++ {
		done := len(results)
		calls, sent := s.enqueueCalls(now, batch[done:])
		replies, err := s.runAll(ctx, "Enqueue", calls)
		for _, reply := range replies {
			if err := appendEnqueued(reply, &results); err != nil {
				return results, partial(len(results), 0, err)
			}
		}
		if err != nil {
			unknown := 0
			if driver.OutcomeUnknown(err) {
				unknown = done + sent - len(results)
			}
			return results, partial(len(results), unknown, err)
		}
		if len(results) > done {
			collisions = 0
		}
		if collisions == maxIDCollisions {
			return results, partial(len(results), 0, &driver.StoreError{Op: "Enqueue", Err: fmt.Errorf(
				"%d assigned ids in a row were taken; name the ids, or use a generator with more of them", maxIDCollisions)})
		}
	}
	return results, nil
}

// enqueueCalls cuts the beginning of a batch into chunks, and returns how many jobs
// these hold. A chunk ends where a generated id is taken, so then only one goes out at
// a time.
func (s *Store) enqueueCalls(now driver.Time, batch []driver.EnqueueRequest) (calls []call, sent int) {
	most := pipelineChunks
	if s.generateID != nil {
		most = 1
	}
	for len(calls) < most && sent < len(batch) {
		c := call{script: enqueueScript, now: packTime(now), args: []any{""}}
		size, toAssign := 0, 0
		from := sent
		for ; sent < len(batch) && sent-from < driver.ChunkJobs; sent++ {
			req := &batch[sent]
			args := s.enqueueArgs(now, req)
			bytes := 0
			for _, arg := range args {
				bytes += len(arg.(string))
			}
			if size += bytes; size > driver.ChunkBytes && sent > from {
				break
			}
			if args[0] == "" && req.Dedupe == nil {
				toAssign++
			}
			c.args = append(c.args, args...)
		}
		c.args[0] = toAssign
		calls = append(calls, c)
	}
	return calls, sent
}

// enqueueArgs returns what the enqueue script wants to know of a job.
func (s *Store) enqueueArgs(now driver.Time, req *driver.EnqueueRequest) []any {
	id, generated := req.ID, ""
	if id == "" && s.generateID != nil {
		id, generated = s.generateID(), "g"
	}
	return append([]any{id, generated}, jobArgs(now, req)...)
}

// jobArgs composes the strings of lib/insert.lua for a request.
func jobArgs(now driver.Time, req *driver.EnqueueRequest) []any {
	state, runAt := driver.Waiting, now
	if req.Delay > 0 {
		state, runAt = driver.Delayed, now.Add(req.Delay)
	}
	flags, dedupeKey, dedupe := byte(0), "", ""
	if d := req.Dedupe; d != nil {
		marks, ends := byte(0), zeroTime
		if d.TTL.Set {
			flags |= flagDedupeTTL
			marks |= markWindow
			ends = packTime(now.Add(d.TTL.Value))
		}
		if d.Extend {
			marks |= markExtend
		}
		if d.Replace {
			marks |= markReplace
		}
		dedupeKey, dedupe = d.Key, ends+string([]byte{marks})+d.Key
	}
	core := string([]byte{byte(state), flags,
		byte(req.Priority >> 24), byte(req.Priority >> 16), byte(req.Priority >> 8), byte(req.Priority)})
	tail, spec := packHeadTail(&req.Spec, dedupeKey)
	return []any{
		req.Name, req.Queue, strconv.FormatInt(-int64(req.Priority), 10), core, packTime(runAt),
		tail, spec, dedupe,
	}
}

// appendEnqueued appends what the enqueue script answered.
func appendEnqueued(reply any, results *[]driver.EnqueueResult) error {
	answers, err := texts("Enqueue", reply)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(answers) && answers[i+1] != jobIDTaken; i += 2 {
		*results = append(*results, driver.EnqueueResult{ID: answers[i], Duplicate: answers[i+1] == jobDuplicate})
	}
	return nil
}

// partial wraps err so that it tells that the first applied items were applied, and
// that the outcome of the unknown ones after them is not known.
func partial(applied, unknown int, err error) error {
	if applied == 0 {
		return err
	}
	return &driver.PartialError{Applied: applied, Unknown: unknown, Err: err}
}

// CancelByDedupe implements [driver.Producer].
func (s *Store) CancelByDedupe(ctx context.Context, now driver.Time, name, key string) (bool, error) {
	reply, err := s.run(ctx, "CancelByDedupe", call{script: cancelDedupeScript, now: packTime(now), args: []any{name, key}})
	return reply == int64(1), err
}

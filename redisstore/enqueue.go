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
		calls, sent, err := s.enqueueCalls(now, batch[done:])
		if err != nil {
			return results, partial(done, 0, err)
		}
		replies, err := s.runAll(ctx, "Enqueue", calls)
		for i, reply := range replies {
			if err := appendEnqueued(&calls[i], reply, &results); err != nil {
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
func (s *Store) enqueueCalls(now driver.Time, batch []driver.EnqueueRequest) (calls []call, sent int, err error) {
	most := pipelineChunks
	if s.generateID != nil {
		most = 1
	}
	for len(calls) < most && sent < len(batch) {
		c, n, err := s.enqueueCall(now, batch[sent:])
		if err != nil {
			return nil, 0, err
		}
		calls, sent = append(calls, c), sent+n
	}
	return calls, sent, nil
}

// enqueueCall composes a call for the beginning of a batch, and returns how many jobs it
// holds.
func (s *Store) enqueueCall(now driver.Time, batch []driver.EnqueueRequest) (c call, n int, err error) {
	batch = batch[:min(len(batch), driver.ChunkJobs)]
	packer := requestPacker{texts: make([]string, 0, requestStrings*len(batch))}
	toAssign, plain, size := 0, "1", 0
	for i := range batch {
		req := &batch[i]
		if size += requestSize(req); size > driver.ChunkBytes && i > 0 {
			break
		}
		id, mark := req.ID, ""
		if id == "" && s.generateID != nil {
			id, mark = s.generateID(), "g"
		}
		if req.Dedupe != nil {
			plain = ""
		} else if id == "" {
			toAssign++
		}
		if err := packer.add(now, req, mark, id); err != nil {
			return call{}, 0, err
		}
		n++
	}
	args := make([]any, 0, 3+shapeStrings*len(packer.shapes))
	args = append(args, toAssign, plain, len(packer.shapes))
	for i := range packer.shapes {
		args = append(args, packer.shapes[i].strings()...)
	}
	return call{script: enqueueScript, now: packTime(now), args: args, texts: packer.done()}, n, nil
}

// requestSize is about how many bytes a request has.
func requestSize(req *driver.EnqueueRequest) int {
	size := len(req.ID) + len(req.Payload) + 128
	for key, value := range req.Metadata {
		size += len(key) + len(value)
	}
	return size
}

// appendEnqueued appends what the enqueue script answered.
func appendEnqueued(c *call, reply any, results *[]driver.EnqueueResult) error {
	if base, ok := reply.(int64); ok { // all were inserted
		for i := 0; i < len(c.texts); i += requestStrings {
			id := c.texts[i+1]
			if id == "" {
				id = "j-" + strconv.FormatInt(base+int64(i/requestStrings)+1, 10)
			}
			*results = append(*results, driver.EnqueueResult{ID: id})
		}
		return nil
	}
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

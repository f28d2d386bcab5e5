package pgstore

import (
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// jobRows are jobs to insert or rewrite, column by column, as statements take them.
type jobRows struct {
	ids, queues, names      []string
	states                  []int16
	priorities, attemptsMax []int32
	runAts, enqueuedAts     []int64
	seqs                    []*int64
	dedupeTTLs, plains      []bool
	dedupeKeys, settings    []*string
	traces, parents         []*string
	metadata, payloads      []*string
}

func newJobRows(n int) *jobRows {
	texts := make([]string, 3*n)
	optionals := make([]*string, 6*n)
	return &jobRows{
		ids: texts[:0:n], queues: texts[n : n : 2*n], names: texts[2*n : 2*n : 3*n],
		states: make([]int16, 0, n), priorities: make([]int32, 0, n), attemptsMax: make([]int32, 0, n),
		runAts: make([]int64, 0, n), enqueuedAts: make([]int64, 0, n), seqs: make([]*int64, 0, n),
		dedupeTTLs: make([]bool, 0, n), plains: make([]bool, 0, n),
		dedupeKeys: optionals[:0:n], settings: optionals[n : n : 2*n], traces: optionals[2*n : 2*n : 3*n],
		parents: optionals[3*n : 3*n : 4*n], metadata: optionals[4*n : 4*n : 5*n], payloads: optionals[5*n : 5*n : 6*n],
	}
}

// add appends a request as a job of that id. Without a seq it gets one when it is
// inserted.
func (r *jobRows) add(now driver.Time, id string, req *driver.EnqueueRequest, delayed bool, seq *int64) {
	state, runAt := driver.Waiting, now
	if delayed {
		state, runAt = driver.Delayed, now.Add(req.Delay)
	}
	var key *string
	ttl := false
	if req.Dedupe != nil {
		key, ttl = optional(req.Dedupe.Key), req.Dedupe.TTL.Set
	}
	r.ids, r.queues, r.names = append(r.ids, id), append(r.queues, req.Queue), append(r.names, req.Name)
	r.states, r.seqs = append(r.states, int16(state)), append(r.seqs, seq)
	r.priorities, r.attemptsMax = append(r.priorities, req.Priority), append(r.attemptsMax, req.AttemptsMax)
	r.runAts, r.enqueuedAts = append(r.runAts, int64(runAt)), append(r.enqueuedAts, int64(now))
	r.dedupeTTLs, r.dedupeKeys = append(r.dedupeTTLs, ttl), append(r.dedupeKeys, key)
	r.plains = append(r.plains, req.Parent == nil && req.Keep == nil)
	r.settings = append(r.settings, optional(rowcodec.EncodeSettings(req.Backoff, req.Keep, req.Timeout)))
	r.traces, r.parents = append(r.traces, optional(rowcodec.EncodeTrace(req.Trace))), append(r.parents, optional(rowcodec.EncodeEnvelope(req.Parent)))
	r.metadata, r.payloads = append(r.metadata, optional(rowcodec.EncodeMetadata(req.Metadata))), append(r.payloads, optionalBytes(req.Payload))
}

// count counts the jobs as new.
func (r *jobRows) count(c *changes) {
	from := 0
	for i := 1; i <= len(r.ids); i++ {
		if i == len(r.ids) || r.queues[i] != r.queues[from] || r.names[i] != r.names[from] || r.states[i] != r.states[from] {
			c.count(r.queues[from], r.names[from], int64(r.states[from]), int64(i-from))
			from = i
		}
	}
}

// inserts are the arguments of the statements that insert: as args, but a column in which
// all jobs are alike is its first element, or nil where that is NULL, which nobody then
// has to encode and decode for every job.
func (r *jobRows) inserts() []any {
	return []any{r.ids, one(r.states), one(r.queues), one(r.names), one(r.priorities), one(r.attemptsMax), one(r.runAts), one(r.enqueuedAts),
		orNone(r.seqs), orNone(r.dedupeKeys), one(r.dedupeTTLs), one(r.plains), orNone(r.settings), orNone(r.traces), orNone(r.parents),
		orNone(r.metadata), orNone(r.payloads)}
}

// one shortens a column whose elements are all the same to the first.
func one[T comparable](column []T) []T {
	for _, value := range column[1:] {
		if value != column[0] {
			return column
		}
	}
	return column[:1]
}

// orNone returns nil for a column that is NULL everywhere.
func orNone[T any](column []*T) []*T {
	for _, value := range column {
		if value != nil {
			return column
		}
	}
	return nil
}

// args are the arguments of a statement that takes all columns.
func (r *jobRows) args() []any {
	return []any{r.ids, r.states, r.queues, r.names, r.priorities, r.attemptsMax, r.runAts, r.enqueuedAts, r.seqs,
		r.dedupeKeys, r.dedupeTTLs, r.plains, r.settings, r.traces, r.parents, r.metadata, r.payloads}
}

package braid

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// Job defines a kind of job: its name, the types of its payload P and its result R,
// and its defaults. It is a value to share between the programs that enqueue and
// the ones that work; it is immutable and safe for concurrent use. P and R are
// encoded as JSON; use [None] for a job without.
type Job[P, R any] struct {
	settings   settings
	keyBy      func(P) string
	dedupeBy   func(P) string
	dedupeOpts []DedupeOption
	metadataBy func(P) map[string]string
	retryIf    func(error) bool
}

// NewJob defines a job. The name, 1 to 128 bytes, is what producers and workers
// agree on; every name has one definition.
func NewJob[P, R any](name string, opts ...JobOption) *Job[P, R] {
	j := &Job[P, R]{settings: defaultSettings()}
	j.settings.spec.Name = name
	j.settings.check(driver.CheckText("job name", name, driver.MaxNameBytes))
	for _, opt := range opts {
		if opt != nil {
			opt.applyToJob(&j.settings)
		}
	}
	if j.settings.err != nil {
		j.settings.err = within(j.settings.err, "definition of job %q", name)
	}
	return j
}

// Name returns the job's name.
func (j *Job[P, R]) Name() string { return j.definition().spec.Name }

// definition is the job without its types, or the problem of one that NewJob did not
// make.
func (j *Job[P, R]) definition() *settings {
	if j == nil || j.settings.spec.Name == "" && j.settings.err == nil {
		return &settings{err: &driver.InvalidError{Field: "job", Reason: "is a nil or empty definition; make it with braid.NewJob"}}
	}
	return &j.settings
}

func (j *Job[P, R]) clone() *Job[P, R] {
	if j == nil {
		return &Job[P, R]{settings: *j.definition()}
	}
	clone := *j
	return &clone
}

// KeyBy returns the definition with ids computed from payloads, which makes every
// enqueue idempotent; see [ID]. An explicit ID option wins.
func (j *Job[P, R]) KeyBy(key func(P) string) *Job[P, R] {
	clone := j.clone()
	clone.keyBy = key
	return clone
}

// DedupeBy returns the definition with dedup keys computed from payloads; see
// [Dedupe], which wins where it is given. An empty key means none.
func (j *Job[P, R]) DedupeBy(key func(P) string, opts ...DedupeOption) *Job[P, R] {
	clone := j.clone()
	clone.dedupeBy, clone.dedupeOpts = key, opts
	return clone
}

// MetadataBy returns the definition with metadata computed from payloads; the
// [Metadata] option adds to it, and wins for equal keys.
func (j *Job[P, R]) MetadataBy(metadata func(P) map[string]string) *Job[P, R] {
	clone := j.clone()
	clone.metadataBy = metadata
	return clone
}

// RetryIf returns the definition with a rule for which errors are worth another
// attempt; for others the job fails at once.
func (j *Job[P, R]) RetryIf(retryable func(error) bool) *Job[P, R] {
	clone := j.clone()
	clone.retryIf = retryable
	return clone
}

// An Enqueuer is where jobs go: a [*Client], or one inside a transaction of yours,
// from [Client.Tx].
type Enqueuer interface {
	target() enqueueTarget
}

// Enqueue stores a job. Concurrent calls share round trips. With an id (or [Job.KeyBy])
// a call whose reply was lost is repeated; without one the error then says that
// the outcome is unknown.
func (j *Job[P, R]) Enqueue(ctx context.Context, to Enqueuer, payload P, opts ...EnqueueOption) (*Handle[R], error) {
	target, req, err := j.prepare(to, payload, opts)
	if err != nil {
		return nil, err
	}
	result, err := target.enqueueOne(ctx, req)
	if err != nil {
		return nil, within(err, "enqueue %q", j.Name())
	}
	return new(handleOf[R](target, result)), nil
}

// EnqueueMany stores a job per payload, in order, a few round trips for all. The
// handles are aligned with the payloads. The batch is not one transaction: when it
// fails half-way the error wraps a [*PartialError], and the handles of the jobs
// that were stored are returned with it, the others are nil.
func (j *Job[P, R]) EnqueueMany(ctx context.Context, to Enqueuer, payloads []P, opts ...EnqueueOption) ([]*Handle[R], error) {
	reqs := make([]driver.EnqueueRequest, len(payloads))
	var target enqueueTarget
	for i, payload := range payloads {
		var err error
		if target, reqs[i], err = j.prepare(to, payload, opts); err != nil {
			return nil, within(err, "payload %d", i)
		}
	}
	if len(payloads) == 0 {
		return nil, nil
	}
	results, err := target.enqueueMany(ctx, reqs)
	if err != nil {
		err = within(err, "enqueue %q", j.Name())
	}
	handles := make([]*Handle[R], len(payloads))
	block := make([]Handle[R], len(results))
	for i, result := range results {
		block[i] = handleOf[R](target, result)
		handles[i] = &block[i]
	}
	return handles, err
}

// Do enqueues a job and waits for its result; see [Handle.Wait] for the errors. A
// job without an id gets one that the client draws, so that a lost reply can be
// repeated. When ctx ends first the job goes on.
func (j *Job[P, R]) Do(ctx context.Context, client *Client, payload P, opts ...EnqueueOption) (R, error) {
	var zero R
	target, req, err := j.prepare(client, payload, opts)
	if err != nil {
		return zero, err
	}
	end, err := target.client.do(ctx, req)
	if err != nil {
		return zero, within(err, "do %q", j.Name())
	}
	return resultOf[R](end)
}

// ByID returns a handle on an existing job, to wait for it or act on it. It makes
// no call.
func (j *Job[P, R]) ByID(client *Client, id string) *Handle[R] {
	return &Handle[R]{ID: id, client: client.forDefinition(j.definition().store)}
}

// CancelByKey cancels the pending job of this name that holds a dedup key, and
// reports whether there was one.
func (j *Job[P, R]) CancelByKey(ctx context.Context, client *Client, key string) (bool, error) {
	s := j.definition()
	if s.err != nil {
		return false, s.err
	}
	return client.forDefinition(s.store).CancelByKey(ctx, s.spec.Name, key)
}

// Request returns an enqueue of this job for [Client.EnqueueMany], which mixes jobs
// of several definitions in one batch.
func (j *Job[P, R]) Request(payload P, opts ...EnqueueOption) Request {
	return Request{store: j.definition().store, build: func(c *Client) (driver.EnqueueRequest, error) {
		return j.build(c, payload, opts)
	}}
}

// prepare finds the store of the definition and builds its request.
func (j *Job[P, R]) prepare(to Enqueuer, payload P, opts []EnqueueOption) (enqueueTarget, driver.EnqueueRequest, error) {
	var target enqueueTarget
	if to != nil {
		target = to.target()
	}
	target.client = target.client.forDefinition(j.definition().store)
	req, err := j.build(target.client, payload, opts)
	return target, req, err
}

// build makes the request, or says what is wrong with it.
func (j *Job[P, R]) build(client *Client, payload P, opts []EnqueueOption) (driver.EnqueueRequest, error) {
	if err := client.ready(); err != nil {
		return driver.EnqueueRequest{}, err
	}
	s := j.enqueueSettings(payload, opts)
	if s.err != nil {
		return driver.EnqueueRequest{}, s.err
	}
	encoded, err := encode(payload)
	if err = client.checkPayload(j.Name(), encoded, err); err != nil {
		return driver.EnqueueRequest{}, err
	}
	return s.request(encoded, client.now), nil
}

// enqueueSettings are the definition's, or a copy to which the payload and the
// options were applied.
func (j *Job[P, R]) enqueueSettings(payload P, opts []EnqueueOption) *settings {
	definition := j.definition()
	if definition.err != nil || len(opts) == 0 && j.keyBy == nil && j.dedupeBy == nil && j.metadataBy == nil {
		return definition
	}
	s := *definition
	j.applyPayload(&s, payload)
	for _, opt := range opts {
		if opt != nil {
			opt.applyToEnqueue(&s)
		}
	}
	return &s
}

// applyPayload applies what the definition computes from the payload.
func (j *Job[P, R]) applyPayload(s *settings, payload P) {
	if j.keyBy != nil {
		ID(j.keyBy(payload)).applyToEnqueue(s)
	}
	if j.dedupeBy != nil {
		if key := j.dedupeBy(payload); key != "" {
			s.setDedupe(key, j.dedupeOpts)
		}
	}
	if j.metadataBy != nil {
		s.addMetadata(j.metadataBy(payload))
	}
}

// checkPayload names the job in an encoding error, and holds the size limit.
func (c *Client) checkPayload(name string, encoded []byte, err error) error {
	if err != nil {
		return &driver.InvalidError{Field: "payload", Value: name, Reason: "cannot be encoded as JSON: " + err.Error()}
	}
	if limit := c.shared.maxPayload; len(encoded) > limit {
		return &driver.InvalidError{Field: "payload", Value: name,
			Reason: "is " + strconv.Itoa(len(encoded)) + " bytes long; the limit is " + strconv.Itoa(limit) +
				" (see braid.WithMaxPayload)"}
	}
	return nil
}

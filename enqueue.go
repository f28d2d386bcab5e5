package braid

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/plural"
)

// Request is one enqueue of a batch; make it with [Job.Request] or [NewRequest].
type Request struct {
	store string
	build func(*Client) (driver.EnqueueRequest, error)
}

// NewRequest returns an enqueue of a job without a definition, for tools. The
// payload is JSON, or empty for none.
func NewRequest(name string, payload json.RawMessage, opts ...EnqueueOption) Request {
	return Request{build: func(c *Client) (driver.EnqueueRequest, error) { return c.buildRaw(name, payload, opts) }}
}

// Enqueue stores a job without a definition, for tools. The payload is JSON, or
// empty for none. See [Job.Enqueue].
func (c *Client) Enqueue(ctx context.Context, name string, payload json.RawMessage, opts ...EnqueueOption) (*Handle[json.RawMessage], error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	req, err := c.buildRaw(name, payload, opts)
	if err != nil {
		return nil, err
	}
	result, err := c.target().enqueueOne(ctx, req)
	if err != nil {
		return nil, within(err, "enqueue %q", name)
	}
	return new(handleOf[json.RawMessage](c.target(), result)), nil
}

// EnqueueMany stores a batch of jobs of any definitions of one store, in order. See
// [Job.EnqueueMany].
func (c *Client) EnqueueMany(ctx context.Context, requests ...Request) ([]*Handle[json.RawMessage], error) {
	return enqueueRequests(ctx, c.target(), requests)
}

func enqueueRequests(ctx context.Context, target enqueueTarget, requests []Request) ([]*Handle[json.RawMessage], error) {
	if len(requests) == 0 {
		return nil, target.client.ready()
	}
	target.client = target.client.forDefinition(requests[0].store)
	if err := target.client.ready(); err != nil {
		return nil, err
	}
	reqs := make([]driver.EnqueueRequest, len(requests))
	for i, r := range requests {
		if r.build == nil {
			return nil, &driver.InvalidError{Field: fmt.Sprintf("request %d", i), Reason: "is empty; use Job.Request or NewRequest"}
		}
		if r.store != requests[0].store {
			return nil, &driver.InvalidError{Field: fmt.Sprintf("request %d", i), Value: r.store,
				Reason: "is bound to another store than request 0; make a batch per store"}
		}
		var err error
		if reqs[i], err = r.build(target.client); err != nil {
			return nil, &ItemError{Index: i, Err: err}
		}
	}
	results, err := target.enqueueMany(ctx, reqs)
	if err != nil {
		err = within(err, "enqueue")
	}
	handles := make([]*Handle[json.RawMessage], len(requests))
	for i, result := range results {
		handles[i] = new(handleOf[json.RawMessage](target, result))
	}
	return handles, err
}

func (c *Client) buildRaw(name string, payload json.RawMessage, opts []EnqueueOption) (driver.EnqueueRequest, error) {
	s := defaultSettings()
	s.spec.Name = name
	s.check(driver.CheckText("job name", name, driver.MaxNameBytes))
	for _, opt := range opts {
		if opt != nil {
			opt.applyToEnqueue(&s)
		}
	}
	if s.err != nil {
		return driver.EnqueueRequest{}, s.err
	}
	encoded, err := encodeRaw(payload)
	if err = c.checkPayload(name, encoded, err); err != nil {
		return driver.EnqueueRequest{}, err
	}
	return s.request(encoded, c.now), nil
}

// enqueueTarget is where enqueues go: a client's store, directly or inside a
// transaction.
type enqueueTarget struct {
	client *Client
	tx     *driver.Tx
}

func (c *Client) target() enqueueTarget { return enqueueTarget{client: c} }

// enqueueOne stores one job, together with what other goroutines enqueue.
func (t enqueueTarget) enqueueOne(ctx context.Context, req driver.EnqueueRequest) (driver.EnqueueResult, error) {
	if t.tx != nil {
		results, err := t.enqueueMany(ctx, []driver.EnqueueRequest{req})
		if err != nil {
			return driver.EnqueueResult{}, err
		}
		return results[0], nil
	}
	s, shared := t.client.store, t.client.shared
	t.client.drawID(&req)
	ctx, carrier, end := shared.tracing.enqueue(ctx, &req, 1)
	carrier.stamp(&req)
	var result driver.EnqueueResult
	var err error
	for attempt := 1; ; attempt++ {
		result, err = s.enqueues.Do(ctx, req)
		if errors.Is(err, driver.ErrContended) { // it waits as long as ctx lasts
			attempt = 1
		}
		if err == nil || !repeatable(err, req.ID != "") || !rest(ctx, attempt) {
			break
		}
	}
	if end != nil {
		end(err)
	}
	if err == nil {
		shared.metrics.enqueued(ctx, s.name, &req, result)
	}
	return result, err
}

// enqueueMany stores a batch. On an error it returns the results of the items that
// were applied.
func (t enqueueTarget) enqueueMany(ctx context.Context, reqs []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	shared := t.client.shared
	known := true
	ctx, carrier, end := shared.tracing.enqueue(ctx, &reqs[0], len(reqs))
	for i := range reqs {
		t.client.drawID(&reqs[i])
		carrier.stamp(&reqs[i])
		known = known && reqs[i].ID != ""
	}
	var results []driver.EnqueueResult
	var err error
	if t.tx != nil {
		results, err = t.enqueueTx(ctx, reqs)
	} else {
		results, err = t.client.store.enqueueAll(ctx, reqs, known)
	}
	if end != nil {
		end(err)
	}
	for i := range results {
		shared.metrics.enqueued(ctx, t.client.store.name, &reqs[i], results[i])
	}
	return results, err
}

func (t enqueueTarget) enqueueTx(ctx context.Context, reqs []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	s := t.client.store
	producer, ok := s.driver.(driver.TxProducer)
	if !ok {
		return nil, &driver.InvalidError{Field: "transaction", Value: s.driver.Info().Kind,
			Reason: "this store cannot enqueue inside a transaction; use the SQLite or Postgres store"}
	}
	return producer.EnqueueTx(ctx, *t.tx, s.clock.Now(), reqs)
}

// enqueueAll stores a batch in calls of bounded size, each with a time limit of its
// own, and goes on behind what was applied when it tries one again.
func (s *boundStore) enqueueAll(ctx context.Context, reqs []driver.EnqueueRequest, idsKnown bool) ([]driver.EnqueueResult, error) {
	done := make([]driver.EnqueueResult, 0, len(reqs))
	for attempt := 1; ; attempt++ {
		call := reqs[len(done):]
		call = call[:callSize(call)]
		results, err := s.enqueue(ctx, call)
		done = append(done, results...)
		if err == nil && len(done) == len(reqs) {
			return done, nil
		}
		if len(results) > 0 || errors.Is(err, driver.ErrContended) { // patience is for calls without progress
			attempt = 0
		}
		if err == nil || repeatable(err, idsKnown) && rest(ctx, max(attempt, 1)) {
			continue
		}
		return done, partial(err, len(done), len(call))
	}
}

// callSize is how many of the requests, at least one, go in one call: so many that
// round trips do not count, so few that a slow store answers within the time limit.
func callSize(reqs []driver.EnqueueRequest) int {
	bytes := 0
	for i := range reqs {
		bytes += len(reqs[i].Payload)
		if i > 0 && (i == groupLimit || bytes > driver.ChunkBytes) {
			return i
		}
	}
	return len(reqs)
}

// partial tells how far a batch got whose last call, of so many requests, failed.
func partial(err error, applied, call int) error {
	var inCall *driver.PartialError
	switch {
	case errors.As(err, &inCall):
		return &driver.PartialError{Applied: applied, Unknown: inCall.Unknown, Err: inCall.Err}
	case applied == 0:
		return err
	case driver.OutcomeUnknown(err):
		return &driver.PartialError{Applied: applied, Unknown: call, Err: err}
	}
	return &driver.PartialError{Applied: applied, Err: err}
}

// enqueueGroup makes one call to the store for the requests of several callers, who do
// not wait for each other where the store can help it.
func (s *boundStore) enqueueGroup(ctx context.Context, reqs []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	if grouped, ok := s.driver.(driver.GroupedProducer); ok {
		return s.enqueueWith(ctx, grouped.EnqueueGrouped, reqs)
	}
	return s.enqueue(ctx, reqs)
}

// enqueue makes one call to the store, under a time limit.
func (s *boundStore) enqueue(ctx context.Context, reqs []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	return s.enqueueWith(ctx, s.driver.Enqueue, reqs)
}

func (s *boundStore) enqueueWith(ctx context.Context, call func(context.Context, driver.Time, []driver.EnqueueRequest) ([]driver.EnqueueResult, error), reqs []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	results, err := call(bounded, s.clock.Now(), reqs)
	if errors.Is(err, context.DeadlineExceeded) && bounded.Err() != nil && ctx.Err() == nil {
		err = outOfTime(err)
	}
	if err == nil && len(results) != len(reqs) {
		err = &driver.StoreError{Op: "Enqueue", OutcomeUnknown: true,
			Err: fmt.Errorf("the store answered %s with %s",
				plural.Of(len(reqs), "request", "requests"), plural.Of(len(results), "result", "results"))}
	}
	return results, err
}

// outOfTime says of a call that our time limit ended that it may be made again, and
// that its outcome is unknown, unless the store knows better.
func outOfTime(err error) error {
	var part *driver.PartialError
	if errors.As(err, &part) {
		cause := &driver.StoreError{Op: "Enqueue", Err: part.Err, Retryable: true, OutcomeUnknown: part.Unknown > 0}
		return &driver.PartialError{Applied: part.Applied, Unknown: part.Unknown, Err: cause}
	}
	var known *driver.StoreError
	if errors.As(err, &known) {
		return &driver.StoreError{Op: known.Op, Err: known.Err, Retryable: true, OutcomeUnknown: known.OutcomeUnknown}
	}
	return &driver.StoreError{Op: "Enqueue", Err: err, Retryable: true, OutcomeUnknown: true}
}

// drawID gives the request an id of the client's, if it shall.
func (c *Client) drawID(req *driver.EnqueueRequest) {
	if req.ID == "" && c.shared.drawIDs {
		req.ID = newID()
	}
}

// newID returns a random id of 128 bits.
func newID() string { return rand.Text() }

// repeatable reports whether the client may make a failed call again by itself: not
// if it may have stored jobs that a second call would store again.
func repeatable(err error, idsKnown bool) bool {
	return driver.Retryable(err) && (idsKnown || !driver.OutcomeUnknown(err))
}

// maxTries is how often an enqueue is tried; the rests between add up to a few
// seconds, which outlasts a failover but not a caller's patience.
const maxTries = 6

// rest sleeps before another try, and reports whether to make one.
func rest(ctx context.Context, attempt int) bool {
	if attempt >= maxTries {
		return false
	}
	base := 50 * time.Millisecond << (attempt - 1)
	timer := time.NewTimer(base/2 + mathrand.N(base))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

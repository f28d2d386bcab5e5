package braid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
	"github.com/braidmq/braid/internal/flow"
)

// FanOut takes the children of a flow, one by one, in its fan-out function; see
// [Job.Child]. It may be used by several goroutines of that function.
type FanOut struct {
	ctx    context.Context
	worker *Worker
	flow   *flowDefinition
	run    *engine.Run
	parent *Client // on the parent's store

	mu       sync.Mutex
	keys     map[string]struct{}
	children []driver.StagedChild // all of them, to enqueue once the fan-out is stored
	staged   int                  // so many of children are stored
	bytes    int                  // of those that are not
	ended    bool                 // its function has returned: children does not change any more
	err      error
}

const (
	stagePage  = driver.ChunkJobs
	stageBytes = driver.ChunkBytes / 2
	// startPatience is how long the start of children is tried, before it is left to the
	// sweep.
	startPatience = 20 * time.Second
)

func newFanOut(ctx context.Context, w *Worker, f *flowDefinition, run *engine.Run) *FanOut {
	return &FanOut{ctx: ctx, worker: w, flow: f, run: run, parent: w.client.forDefinition(f.job.store), keys: make(map[string]struct{})}
}

// Child adds a child of this job to a flow's fan-out, under a key that is unique
// among its children; 1 to 255 bytes. Children are stored in pages as they come, so
// a fan-out need not hold them all itself. A problem is kept, and fails the flow
// when its function returns; [FanOut.Err] tells it before. Once the function has
// returned, by a goroutine that it left behind say, a child is refused, which Err tells.
func (j *Job[P, R]) Child(out *FanOut, key string, payload P, opts ...ChildOption) {
	if out == nil {
		return // Err of it says why
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.err != nil {
		return
	}
	if out.err = out.open(key); out.err != nil {
		return
	}
	if err := out.check(j.Name(), key); err != nil {
		out.err = Unrecoverable(within(err, "flow %q", out.flow.name))
		return
	}
	child, err := j.child(out, key, payload, opts)
	if err != nil {
		out.err = Unrecoverable(within(err, "flow %q: child %q of job %q", out.flow.name, key, j.Name()))
		return
	}
	out.add(child)
}

// child makes the dependency row of a child, with its request.
func (j *Job[P, R]) child(out *FanOut, key string, payload P, opts []ChildOption) (driver.StagedChild, error) {
	s := *j.definition()
	if s.err == nil {
		if j.metadataBy != nil {
			s.addMetadata(j.metadataBy(payload))
		}
		for _, opt := range opts {
			if opt != nil {
				opt.applyToChild(&s)
			}
		}
	}
	if s.err != nil {
		return driver.StagedChild{}, s.err
	}
	store := out.worker.client.forDefinition(s.store)
	if err := store.ready(); err != nil {
		return driver.StagedChild{}, err
	}
	encoded, err := encode(payload)
	if err = store.checkPayload(s.spec.Name, encoded, err); err != nil {
		return driver.StagedChild{}, err
	}
	req := s.request(encoded, store.now)
	req.Dedupe = nil
	req.Parent = out.envelope(key)
	req.ID = flow.ChildID(req.Parent.ParentStoreKey, req.Parent.FlowID, req.Parent.Run, key)
	return driver.StagedChild{ChildKey: key, StoreKey: store.store.name, Request: req}, nil
}

// Err returns the first problem with the children so far: a fan-out function can end
// early because of it.
func (out *FanOut) Err() error {
	if out == nil {
		return errNoFanOut()
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	return out.err
}

// Len returns how many children were added.
func (out *FanOut) Len() int {
	if out == nil {
		return 0
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	return len(out.children)
}

// open returns why the fan-out takes no child now, whatever it is.
func (out *FanOut) open(key string) error {
	if out.flow == nil {
		return errNoFanOut()
	}
	if out.ended {
		return within(&driver.InvalidError{Field: "child key", Value: key,
			Reason: "comes too late: the fan-out has ended; add children before its function returns"}, "flow %q", out.flow.name)
	}
	return nil
}

func errNoFanOut() error {
	return &driver.InvalidError{Field: "fan-out", Reason: "is nil or empty; use the one that the fan-out function gets"}
}

func (out *FanOut) check(jobName, key string) error {
	if err := driver.CheckText("child key", key, driver.MaxKeyBytes); err != nil {
		return err
	}
	if _, taken := out.keys[key]; taken {
		return &driver.InvalidError{Field: "child key", Value: key, Reason: "is used twice; give every child its own key"}
	}
	if _, declared := out.flow.children[jobName]; !declared {
		return &driver.InvalidError{Field: "child job", Value: jobName, Reason: "is not declared; add it to braid.Children of the flow"}
	}
	if depth := out.depth(); depth > driver.MaxFlowDepth {
		return &driver.InvalidError{Field: "child key", Value: key,
			Reason: fmt.Sprintf("would be %d levels deep; flows nest to %d", depth, driver.MaxFlowDepth)}
	}
	out.keys[key] = struct{}{}
	return nil
}

func (out *FanOut) depth() int32 {
	if parent := out.run.Job.Parent; parent != nil {
		return parent.Depth + 1
	}
	return 1
}

func (out *FanOut) envelope(key string) *driver.Envelope {
	return &driver.Envelope{
		FlowName: out.flow.name, FlowID: out.run.Job.ID, Run: out.run.Token, ChildKey: key,
		ParentStoreKey: out.parent.store.name, Depth: out.depth(),
	}
}

// add keeps a child, and stores a page when one is full.
func (out *FanOut) add(child driver.StagedChild) {
	carrier := carrierOf(trace.SpanContextFromContext(out.ctx))
	carrier.stamp(&child.Request)
	out.children = append(out.children, child)
	out.bytes += len(child.Request.Payload)
	if len(out.children)-out.staged >= stagePage || out.bytes >= stageBytes {
		out.err = out.stage(out.ctx)
	}
}

// stage stores the children that are not stored yet.
func (out *FanOut) stage(ctx context.Context) error {
	page := out.children[out.staged:]
	if len(page) == 0 {
		return nil
	}
	for attempt := 1; ; attempt++ {
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		err := out.parent.store.driver.StageChildren(bounded, out.run.Job.ID, out.run.Token, page)
		cancel()
		switch {
		case err == nil:
			out.staged, out.bytes = len(out.children), 0
			return nil
		case driver.Retryable(err) && rest(ctx, attempt): // a page that is sent again overwrites itself
		case errors.Is(err, driver.ErrInvalid):
			return Unrecoverable(stagingError(err))
		default:
			return stagingError(err)
		}
	}
}

// stagingError wraps what went wrong while children were stored.
func stagingError(err error) error { return within(err, "the children cannot be stored") }

// finish ends the fan-out, stores the last page, and returns what was wrong.
func (out *FanOut) finish(ctx context.Context) error {
	out.mu.Lock()
	defer out.mu.Unlock()
	out.ended = true
	if out.err == nil {
		out.err = out.stage(ctx)
	}
	return out.err
}

// end refuses further children, also where the fan-out's function failed.
func (out *FanOut) end() {
	out.mu.Lock()
	defer out.mu.Unlock()
	out.ended = true
}

// done is what tells the engine that the run has fanned out; after finish.
func (out *FanOut) done() *engine.FanOutDone {
	return &engine.FanOutDone{FailFast: out.flow.failFast, Children: int64(len(out.children)), Landed: out.landed}
}

// landed starts the children, once the parent is parked. No state means that the answer
// to the fan-out was lost.
func (out *FanOut) landed(ctx context.Context, state driver.State) {
	if state == 0 {
		if len(out.children) == 0 || !out.stored(ctx) {
			return // a flow without children needs no start
		}
		state = driver.WaitingChildren
	}
	shared := out.worker.client.shared
	shared.metrics.fannedOut(out.parent.store.name, out.flow.name, len(out.children))
	if state == driver.Cancelled {
		shared.pulse(out.parent.store.name)
		return
	}
	if state != driver.WaitingChildren {
		return
	}
	stores := shared.flowStores()
	err := stores.Dispatch(ctx, stores[out.parent.store.name], out.run.Job.ID, out.children, startPatience)
	if err != nil {
		out.run.Logger().Warn("braid: not all children of the flow could be started yet; the flow sweep will", "flow", out.flow.name, "error", err)
	}
}

// stored reports whether the children of the flow are those of this run, not of another
// that took over. What cannot be found out is left to the sweep.
func (out *FanOut) stored(ctx context.Context) bool {
	first := out.children[0]
	for attempt := 1; ; attempt++ {
		bounded, cancel := context.WithTimeout(ctx, callTimeout)
		rows, err := out.parent.store.driver.Children(bounded, out.run.Job.ID, []string{first.ChildKey})
		cancel()
		if err == nil {
			return rows[0] != nil && rows[0].ChildJobID == first.Request.ID
		}
		if !driver.Retryable(err) || !rest(ctx, attempt) {
			return false
		}
	}
}

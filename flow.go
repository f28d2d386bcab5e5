package braid

import (
	"context"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
)

// Flow is a job that hands out children, waits for all of them without occupying a
// worker, and then collects their results. It has the verbs of its job: Enqueue,
// Do, Schedule and so on. Children may live in other stores than their parent, and
// may be flows themselves, up to eight levels deep. See docs/concepts/flows.md for
// what happens when what dies.
type Flow[P, R any] struct {
	*Job[P, R]
	flow *flowDefinition
}

// flowDefinition is a flow without its types.
type flowDefinition struct {
	name     string
	job      *settings
	children map[string]*settings // by job name
	failFast bool
}

// A FlowOption configures a flow.
type FlowOption func(*flowDefinition) error

// AnyJob is a definition of any types: a [*Job] or a [*Flow].
type AnyJob interface {
	Name() string
	definition() *settings
}

// Children declares the jobs that a flow may hand out. It is a closed set, so that a
// worker can be told at its start which stores it needs.
func Children(jobs ...AnyJob) FlowOption {
	return func(f *flowDefinition) error {
		for _, job := range jobs {
			if job == nil {
				return &driver.InvalidError{Field: "children", Value: f.name, Reason: "one of them is nil; declare definitions"}
			}
			s := job.definition()
			if s.err != nil {
				return s.err
			}
			if job.Name() == f.job.spec.Name {
				return &driver.InvalidError{Field: "children", Value: job.Name(), Reason: "is the flow's own job; a flow cannot be its own child"}
			}
			f.children[job.Name()] = s
		}
		return nil
	}
}

// FailFast makes the parent fail as soon as a child has failed; the other children
// are cancelled. Without it, the parent collects whatever became of them.
func FailFast() FlowOption {
	return func(f *flowDefinition) error {
		f.failFast = true
		return nil
	}
}

// NewFlow defines a flow whose parent is job. The name tells it apart in children's
// records and logs.
func NewFlow[P, R any](name string, job *Job[P, R], opts ...FlowOption) *Flow[P, R] {
	clone := job.clone()
	clone.settings = *job.definition()
	f := &Flow[P, R]{Job: clone, flow: &flowDefinition{name: name, job: &clone.settings, children: make(map[string]*settings)}}
	problem := driver.CheckText("flow name", name, driver.MaxNameBytes)
	for _, opt := range opts {
		if opt != nil && problem == nil {
			problem = opt(f.flow)
		}
	}
	if problem == nil && len(f.flow.children) == 0 {
		problem = &driver.InvalidError{Field: "children", Value: name, Reason: "are not declared; add braid.Children(…)"}
	}
	if problem != nil {
		clone.settings.check(within(problem, "definition of flow %q", name))
	}
	return f
}

// FlowName returns the name of the flow; Name is that of its job.
func (f *Flow[P, R]) FlowName() string {
	if flow := f.flowDefinition(); flow != nil {
		return flow.name
	}
	return ""
}

// flowDefinition is the flow without its types; nil if NewFlow did not make it.
func (f *Flow[P, R]) flowDefinition() *flowDefinition {
	if f == nil {
		return nil
	}
	return f.flow
}

// Handle registers the two functions that run the flow. fanOut adds children, with
// [Job.Child]; they are stored as they come, and started once it has returned nil.
// When the last of them has ended, collect runs, with their results; what it
// returns is the result of the flow. Both draw on the attempts of the parent: an
// error in collect, say, leads to another collect. A fan-out that is run again
// hands out new children; those of the failed run have never been started.
//
// Mistakes in a fan-out (an empty or repeated key, a job that was not declared, a
// payload that cannot be encoded, too many levels) fail the flow for good.
func (f *Flow[P, R]) Handle(
	w *Worker,
	fanOut func(ctx context.Context, payload P, out *FanOut) error,
	collect func(ctx context.Context, payload P, results *Results) (R, error),
) {
	if fanOut == nil || collect == nil {
		w.refuse(&driver.InvalidError{Field: "handler", Value: f.Name(), Reason: "is nil; a flow needs two functions, fanOut and collect"})
		return
	}
	if f.flowDefinition() == nil {
		w.registerFlow(nil)
		return
	}
	run := func(ctx context.Context, run *engine.Run) ([]byte, error) {
		payload, err := decode[P](run.Job.Payload)
		if err != nil {
			return nil, within(err, "payload of job %q", run.Job.ID)
		}
		if run.Job.Flow == nil {
			var out *FanOut
			err := w.observe(ctx, run, func(ctx context.Context) error {
				out = newFanOut(ctx, w, f.flow, run)
				defer out.end()
				if err := fanOut(ctx, payload, out); err != nil {
					return err
				}
				return out.finish(ctx)
			})
			if err != nil {
				return nil, err
			}
			return nil, out.done()
		}
		var result R
		err = w.observe(ctx, run, func(ctx context.Context) (err error) {
			result, err = collect(ctx, payload, newResults(w.client.forDefinition(f.settings.store), run.Job))
			return err
		})
		if err != nil {
			return nil, err
		}
		encoded, err := encode(result)
		return w.checkResult(encoded, err)
	}
	if w.registerFlow(f.flow) {
		w.register(&f.settings, engine.Handler{Run: run, Retryable: f.retryIf})
	}
}

// Declare makes a worker look after the flow without running it: it brings the
// outcomes of children to their parents, and repairs what a crash left. A worker
// that runs children, or the parent, of a flow brings their outcomes anyway, if
// its client has the parent's store; Declare is for workers beside them.
func (f *Flow[P, R]) Declare(w *Worker) { w.registerFlow(f.flowDefinition()) }

// Children returns a page of a flow's children, in the order of their keys, with
// what became of them; cursor is that of the page before, or empty. They can be read
// at any time.
func (f *Flow[P, R]) Children(ctx context.Context, client *Client, id, cursor string) (ChildPage, error) {
	return client.forDefinition(f.definition().store).Children(ctx, id, cursor)
}

// strayParent keeps a flow's parent from being completed by a worker that does not
// know its flow.
func strayParent(run *engine.Run) error {
	run.Logger().Error("braid: the job is the parent of a flow, and its children have ended, but this worker has only a plain handler for it; register it with Flow.Handle")
	return engine.Snooze(strayRest)
}

// strayRest is how long a parent rests that was claimed by the wrong worker.
const strayRest = 30 * time.Second

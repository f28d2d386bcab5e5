package flowtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// expect is how a plan must end, if nobody interferes.
func (p plan) expect() (braid.State, sum) {
	var total sum
	for _, s := range p.Steps {
		if s.Do == fail || s.Do == overrun {
			total.Failed++
		} else {
			total.Completed++
			total.Value += s.Value
		}
	}
	for _, below := range p.Flows {
		state, sub := below.expect()
		if state == braid.Failed {
			total.Failed++
		} else {
			total.Completed++
			total.Value += sub.Value
		}
	}
	if p.Strict && total.Failed > 0 {
		return braid.Failed, sum{}
	}
	return braid.Completed, total
}

// enqueue enqueues a flow of the highest level.
func (r *rig) enqueue(id string, p plan, opts ...braid.EnqueueOption) *braid.Handle[sum] {
	r.Helper()
	h, err := r.kinds.top(p).Enqueue(r.ctx, r.client, p, append(opts, braid.ID(id))...)
	return must(r, h, err)
}

// byID returns a handle on a flow of the suite.
func (r *rig) byID(id string) *braid.Handle[sum] { return r.kinds.flows[levels][0].ByID(r.client, id) }

// outcome waits for the end of a flow.
func (r *rig) outcome(h *braid.Handle[sum]) (braid.State, sum) {
	r.Helper()
	got, err := h.Wait(r.ctx)
	var failed *braid.JobError
	switch {
	case err == nil:
		return braid.Completed, got
	case errors.As(err, &failed):
		return braid.Failed, sum{}
	case errors.Is(err, braid.ErrCancelled):
		return braid.Cancelled, sum{}
	}
	r.Fatalf("flow %s: %v", h.ID, err)
	return 0, sum{}
}

// endsAs waits for the end of a flow and compares it with its plan.
func (r *rig) endsAs(h *braid.Handle[sum], p plan) {
	r.Helper()
	state, got := r.outcome(h)
	wantState, want := p.expect()
	if state != wantState || got != want {
		r.Errorf("flow %s is %v with %+v, want %v with %+v", h.ID, state, got, wantState, want)
	}
}

// oneSettle fails unless every job has come to its end once: its ledger has one
// terminal outcome, and that of a flow at most one fan-out.
func (r *rig) oneSettle() {
	r.Helper()
	for name := range r.stores {
		for job, err := range r.client.On(name).All(r.ctx, braid.ListFilter{}) {
			if err != nil {
				r.Fatal(err)
			}
			attempts, err := r.client.On(name).Attempts(r.ctx, job.ID)
			if err != nil {
				r.Fatal(err)
			}
			ends, fanOuts := 0, 0
			for _, a := range attempts {
				switch a.Outcome {
				case driver.OutcomeCompleted, driver.OutcomeFailed, driver.OutcomeCancelled:
					ends++
				case driver.OutcomeFannedOut:
					fanOuts++
				}
			}
			if ends != 1 || fanOuts > 1 {
				r.Errorf("job %s of store %s ended %d times and fanned out %d times: %+v", job.ID, name, ends, fanOuts, attempts)
			}
		}
	}
}

// childJobs returns the ids of a flow's children by key.
func (r *rig) childJobs(id string) map[string]string {
	r.Helper()
	ids := make(map[string]string)
	for child, err := range r.client.AllChildren(r.ctx, id) {
		if err != nil {
			r.Fatal(err)
		}
		ids[child.Key] = child.JobID
	}
	return ids
}

// awaitState waits until a job of the parents' store is in one of some states.
func (r *rig) awaitState(id string, states ...braid.State) {
	r.Helper()
	r.eventually("job "+id, func() (bool, string) {
		job, err := r.client.Get(r.ctx, id)
		if err != nil {
			return false, err.Error()
		}
		return slices.Contains(states, job.State), job.State.String()
	})
}

// awaitChildren waits until n jobs wait in the queue of steps.
func (r *rig) awaitChildren(n int64) {
	r.Helper()
	r.eventually("children are enqueued", func() (bool, string) {
		counts, err := r.stores[r.childStoreName()].Counts(r.ctx, stepQueue)
		if err != nil {
			return false, err.Error()
		}
		return counts.Total() == n, fmt.Sprintf("%+v", counts)
	})
}

// pauseSteps keeps steps from running until the returned function is called.
func (r *rig) pauseSteps() (resume func()) {
	r.Helper()
	steps := r.client.On(r.childStoreName())
	if err := steps.Pause(r.ctx, stepQueue); err != nil {
		r.Fatal(err)
	}
	return func() {
		r.Helper()
		if err := steps.Resume(r.ctx, stepQueue); err != nil {
			r.Fatal(err)
		}
	}
}

// steps returns n steps that do the same.
func steps(n int, do string) []step {
	all := make([]step, n)
	for i := range all {
		all[i] = step{Do: do, Value: i + 1}
	}
	return all
}

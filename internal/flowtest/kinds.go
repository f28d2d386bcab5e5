package flowtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braidmq/braid"
)

// plan is the payload of a flow: what its children are to do.
type plan struct {
	Steps   []step `json:"steps,omitempty"`
	Flows   []plan `json:"flows,omitempty"`
	Strict  bool   `json:"strict,omitempty"`  // fail fast
	Trouble bool   `json:"trouble,omitempty"` // the first collect fails
}

// step is the payload of a child.
type step struct {
	Do    string `json:"do"` // one of the constants
	Value int    `json:"value"`
}

// What a step does.
const (
	succeed  = "succeed"
	fail     = "fail"
	falter   = "falter"  // fails once, then succeeds
	overrun  = "overrun" // runs out of its time
	hold     = "hold"    // waits for the end of its context
	linger   = "linger"  // takes some time
	putOff   = "put off" // snoozes once
	stepTime = 20 * time.Millisecond
)

// sum is the result of a flow.
type sum struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	Value     int   `json:"value"` // of all completed steps below
}

// Total returns the number of the flow's own children.
func (s sum) Total() int64 { return s.Completed + s.Failed + s.Cancelled }

// stepQueue is where steps wait, apart from parents, which they would keep waiting.
const stepQueue = "steps"

// levels is how deep the suite's flows nest.
const levels = 3

// kinds are the definitions of a rig: a step, and a flow for every level and policy.
type kinds struct {
	step  *braid.Job[step, int]
	flows [levels + 1][2]*braid.Flow[plan, sum] // by level, from 1, and policy; see kinds.flow

	// before runs before each step, observe in each phase of a flow, "fan-out" and
	// "collect"; nil: nothing does. They are set before a process starts.
	before  func(ctx context.Context, s step) error
	observe func(ctx context.Context, phase string)
	reading func(ctx context.Context, results *braid.Results) error // before each collect
}

func newKinds(separate bool) *kinds {
	k := &kinds{}
	on := func(there bool) []braid.JobOption {
		if separate && there {
			return []braid.JobOption{braid.OnStore(childStore)}
		}
		return nil
	}
	k.step = braid.NewJob[step, int]("step", append(on(true), braid.Queue(stepQueue))...)
	var below []braid.AnyJob
	for level := 1; level <= levels; level++ {
		for i, policy := range []string{"lenient", "strict"} {
			name := fmt.Sprintf("%s-%d", policy, level)
			// Levels take turns between the stores; the highest is with the parents.
			job := braid.NewJob[plan, sum](name, on((levels-level)%2 == 1)...)
			opts := []braid.FlowOption{braid.Children(k.step), braid.Children(below...)}
			if i == 1 {
				opts = append(opts, braid.FailFast())
			}
			k.flows[level][i] = braid.NewFlow(name, job, opts...)
		}
		below = append(below, k.flows[level][0], k.flows[level][1])
	}
	return k
}

// flow returns the definition for a plan at a level.
func (k *kinds) flow(level int, p plan) *braid.Flow[plan, sum] {
	if p.Strict {
		return k.flows[level][1]
	}
	return k.flows[level][0]
}

// top returns the definition of the highest level, where every flow of the suite
// begins: its parents are in the parents' store.
func (k *kinds) top(p plan) *braid.Flow[plan, sum] { return k.flow(levels, p) }

// runs counts what a process ran.
type runs struct {
	mu       sync.Mutex
	fanOuts  map[string]int // by job id
	collects map[string]int
	steps    int
}

func newRuns() *runs { return &runs{fanOuts: make(map[string]int), collects: make(map[string]int)} }

// count counts a run of the job that ctx belongs to, and returns the new count.
func (r *runs) count(in map[string]int, ctx context.Context) int {
	id := braid.Current(ctx).ID
	r.mu.Lock()
	defer r.mu.Unlock()
	in[id]++
	return in[id]
}

// of returns a count.
func (r *runs) of(in map[string]int, id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return in[id]
}

func (k *kinds) register(p *process) {
	k.step.Handle(p.worker, func(ctx context.Context, s step) (int, error) {
		p.runs.mu.Lock()
		p.runs.steps++
		p.runs.mu.Unlock()
		if k.before != nil {
			if err := k.before(ctx, s); err != nil {
				return 0, err
			}
		}
		return s.run(ctx)
	})
	for level := 1; level <= levels; level++ {
		for _, flow := range k.flows[level] {
			k.handle(p, level, flow)
		}
	}
}

func (s step) run(ctx context.Context) (int, error) {
	current := braid.Current(ctx)
	switch s.Do {
	case fail:
		return 0, braid.Unrecoverable(fmt.Errorf("step %d fails", s.Value))
	case falter:
		if current.Attempt == 1 {
			return 0, errors.New("the first attempt fails")
		}
	case putOff:
		if time.Since(current.EnqueuedAt) < stepTime {
			return 0, braid.Snooze(stepTime)
		}
	case linger:
		select {
		case <-time.After(stepTime):
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	case overrun, hold:
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return s.Value, nil
}

func (k *kinds) handle(p *process, level int, flow *braid.Flow[plan, sum]) {
	flow.Handle(p.worker,
		func(ctx context.Context, todo plan, out *braid.FanOut) error {
			p.runs.count(p.runs.fanOuts, ctx)
			k.observed(ctx, "fan-out")
			for i, s := range todo.Steps {
				var opts []braid.ChildOption
				if s.Do == overrun {
					opts = append(opts, braid.Timeout(stepTime), braid.Attempts(1))
				}
				k.step.Child(out, stepKey(i), s, opts...)
			}
			for i, below := range todo.Flows {
				k.flow(level-1, below).Child(out, flowKey(i), below)
			}
			return out.Err()
		},
		func(ctx context.Context, todo plan, results *braid.Results) (sum, error) {
			k.observed(ctx, "collect")
			if n := p.runs.count(p.runs.collects, ctx); todo.Trouble && n == 1 {
				return sum{}, errors.New("the first collect fails")
			}
			if k.reading != nil {
				if err := k.reading(ctx, results); err != nil {
					return sum{}, err
				}
			}
			return k.collect(ctx, level, results)
		})
}

func (k *kinds) observed(ctx context.Context, phase string) {
	if k.observe != nil {
		k.observe(ctx, phase)
	}
}

func stepKey(i int) string { return fmt.Sprintf("step-%06d", i) }
func flowKey(i int) string { return fmt.Sprintf("flow-%06d", i) }

// unsoundResults begins the error of a collect whose results do not add up.
const unsoundResults = "the counts are not those of the results"

// collect adds up the results, and holds the counts against them.
func (k *kinds) collect(ctx context.Context, level int, results *braid.Results) (sum, error) {
	var total sum
	add := func(outcome braid.ChildStatus, value int) {
		switch outcome {
		case braid.ChildCompleted:
			total.Completed++
			total.Value += value
		case braid.ChildFailed:
			total.Failed++
		case braid.ChildCancelled:
			total.Cancelled++
		}
	}
	for child, err := range k.step.Results(ctx, results) {
		if err != nil {
			return sum{}, err
		}
		add(child.Outcome, child.Value)
	}
	for _, below := range k.flows[level-1] {
		if below == nil {
			continue
		}
		for child, err := range below.Results(ctx, results) {
			if err != nil {
				return sum{}, err
			}
			add(child.Outcome, child.Value.Value)
		}
	}
	counts := braid.ResultCounts{Completed: total.Completed, Failed: total.Failed, Cancelled: total.Cancelled}
	if counts != results.Counts {
		return sum{}, braid.Unrecoverable(fmt.Errorf("%s: %+v and %+v", unsoundResults, results.Counts, counts))
	}
	return total, nil
}

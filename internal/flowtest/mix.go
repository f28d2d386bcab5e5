package flowtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/braidmq/braid"
)

// everyMix runs flows of three levels with every policy on every level and every
// outcome of a step on the lowest.
func everyMix(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	r.start(nil, func(o *braid.WorkerOptions) { o.Concurrency = 20 })
	policies := []bool{false, true}
	plans := make(map[string]plan)
	for _, do := range []string{succeed, fail, falter, overrun, putOff} {
		for _, low := range policies {
			for _, middle := range policies {
				for _, high := range policies {
					lowest := plan{Strict: low, Steps: append(steps(2, succeed), step{Do: do, Value: 7})}
					sound := plan{Steps: steps(3, succeed)}
					empty := plan{Strict: low}
					plans[fmt.Sprintf("%s %v %v %v", do, low, middle, high)] = plan{
						Strict: high, Steps: steps(1, succeed),
						Flows: []plan{{Strict: middle, Flows: []plan{lowest, sound, empty}}, sound},
					}
				}
			}
		}
	}
	handles := make(map[string]*braid.Handle[sum])
	for id, todo := range plans {
		handles[id] = r.enqueue(id, todo)
	}
	for id, h := range handles {
		r.endsAs(h, plans[id])
	}
	r.settled()
	r.oneSettle()
}

// nothingWaitsForSweeps runs flows whose workers sweep so rarely that whatever is not
// pushed would be late.
func nothingWaitsForSweeps(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	r.start(nil, func(o *braid.WorkerOptions) { o.SweepInterval = 10 * patience })
	failing := plan{Strict: true, Steps: append(steps(1, fail), steps(10, hold)...)}
	middle := plan{Strict: true, Flows: []plan{failing, {Steps: steps(3, succeed)}}}
	plans := []plan{
		{Flows: []plan{middle}, Steps: steps(1, succeed)},
		{Flows: []plan{middle}, Strict: true, Steps: steps(3, hold)},
		{Flows: []plan{{Strict: true, Steps: steps(1, fail)}}},
		{Flows: []plan{{Flows: []plan{{}}}}},
		{},
	}
	for i, todo := range plans {
		r.endsAs(r.enqueue(fmt.Sprint("flow ", i), todo), todo)
	}
	r.settled()
	r.oneSettle()
}

func openFlowsFirst(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	const flows = 6
	var mu sync.Mutex
	var order []string
	third, goOn := make(chan struct{}), make(chan struct{})
	r.kinds.observe = func(ctx context.Context, phase string) {
		id := braid.Current(ctx).ID
		mu.Lock()
		order = append(order, phase+" "+id)
		mu.Unlock()
		if phase == "fan-out" && id == "flow 3" {
			close(third)
			<-goOn
		}
	}
	todo := plan{Steps: steps(2, succeed)}
	for i := range flows {
		r.enqueue(fmt.Sprintf("flow %d", i+1), todo)
	}
	resume := r.pauseSteps()
	r.start(nil, func(o *braid.WorkerOptions) {
		o.Queues = map[string]int{braid.DefaultQueue: 1, stepQueue: 8}
	})
	<-third
	resume()
	r.awaitState("flow 1", braid.Waiting)
	r.awaitState("flow 2", braid.Waiting)
	close(goOn)
	for i := range flows {
		r.endsAs(r.byID(fmt.Sprintf("flow %d", i+1)), todo)
	}
	r.settled()
	want := []string{"fan-out flow 1", "fan-out flow 2", "fan-out flow 3", "collect flow 1", "collect flow 2"}
	got := order[:min(len(order), len(want))]
	if pair.PassesOver { // one new flow may have come in between
		got = slices.DeleteFunc(slices.Clone(order[:min(len(order), len(want)+1)]), func(s string) bool { return !slices.Contains(want, s) })
		slices.Sort(got[min(len(got), 3):])
	}
	if len(order) != 2*flows || !slices.Equal(got, want) {
		t.Errorf("the order was %q; want %q first", order, want)
	}
}

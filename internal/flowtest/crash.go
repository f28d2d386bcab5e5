package flowtest

import (
	"fmt"
	"testing"

	"github.com/braidmq/braid"
)

// crashPlans are the flows that a dying worker has in hand.
var (
	crashLenient = plan{Steps: append(append(steps(20, succeed), steps(3, fail)...), steps(3, falter)...)}
	crashStrict  = plan{Strict: true, Steps: append(steps(1, fail), steps(20, hold)...)}
	crashNested  = plan{Steps: steps(3, succeed), Flows: []plan{
		{Steps: steps(4, succeed)}, {Strict: true, Steps: append(steps(2, succeed), step{Do: fail})},
	}}
	crashLarge = plan{Steps: steps(1010, succeed)} // more than are enqueued at once
)

// death is a point at which a worker dies with a flow in hand.
type death struct {
	at   point
	plan plan
}

func (d death) String() string { return d.at.String() }

func deathAtEveryStep(t *testing.T, pair Pair) {
	separate := pair.Children != nil
	scenarios(t, atOnce, append(deaths(separate), largeDeaths(separate)...), func(t *testing.T, d death) { d.survive(t, pair) })
}

func deathBetweenStores(t *testing.T, pair Pair) {
	scenarios(t, atOnce, deaths(true), func(t *testing.T, d death) { d.survive(t, pair) })
}

// largeDeaths are deaths with a flow in hand that takes several calls for one step:
// how it is cut up depends on each store alone, not on the pair.
func largeDeaths(separate bool) []death {
	children := childStore
	if !separate {
		children = parentStore
	}
	var all []death
	for _, after := range []bool{false, true} {
		all = append(all, death{point{parentStore, "StageChildren", 2, after}, crashLarge}, death{point{children, "Enqueue", 1, after}, crashLarge})
	}
	return all
}

// deaths are the steps of a flow at which a worker can die.
func deaths(separate bool) []death {
	const parents, anywhere = parentStore, ""
	children := childStore
	if !separate {
		children = parentStore
	}
	var all []death
	both := func(p plan, store, op string, nth int) {
		all = append(all, death{point{store, op, nth, false}, p}, death{point{store, op, nth, true}, p})
	}
	both(crashLenient, parents, "StageChildren", 0)
	both(crashLenient, parents, "Ack fan-out", 0)
	both(crashLenient, children, "Enqueue", 0) // between the ack and the children
	all = append(all, death{point{children, halfEnqueue, 0, false}, crashLenient})
	both(crashLenient, children, "Ack complete of a child", 0)
	both(crashLenient, children, "Ack complete of a child", 1) // a step that falters completes later
	both(crashLenient, children, "Ack fail of a child", 0)
	both(crashLenient, parents, "RecordChildResults", 0)
	both(crashLenient, children, "DeleteOutbox", 0)
	both(crashLenient, parents, "ListChildResults", 0) // in collect
	both(crashLenient, parents, "Ack complete", 0)
	both(crashStrict, parents, "RecordChildResults", 0)
	both(crashStrict, children, "Cancel", 0)
	both(crashStrict, parents, "MarkChildrenCascaded", 0)
	both(crashNested, anywhere, "Ack fan-out of a child", 0)
	both(crashNested, anywhere, "RecordChildResults", 1) // reports of a level below come first
	return all
}

// survive lets a worker die, and another take over.
func (d death) survive(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	victim := r.start(&d.at, withShortLock)
	h := r.enqueue("a", d.plan)
	r.awaitDeath(victim)
	r.start(nil, withShortLock)
	r.endsAs(h, d.plan)
	r.settled()
	r.oneSettle()
}

func withShortLock(o *braid.WorkerOptions) { o.LockDuration = shortLock }

// moment is a call at which a worker dies, counted from its start, whatever it is.
type moment struct {
	number int
	death
}

func (m moment) String() string { return fmt.Sprintf("%v %d", m.at, m.number) }

// deathAtAnyCall lets a worker with a nested flow in hand die at its calls, one after
// the other. It may have finished the flow before a late one.
func deathAtAnyCall(t *testing.T, pair Pair) {
	const calls, stride = 96, 6
	var moments []moment
	for n := range calls / stride {
		at := point{nth: n * stride, after: n%2 == 1}
		moments = append(moments, moment{at.nth, death{at, crashNested}})
	}
	scenarios(t, atOnce, moments, func(t *testing.T, m moment) { m.survive(t, pair) })
}

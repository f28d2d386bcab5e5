// Package flowtest is the test suite of flows: of what workers do with them, over
// any set of stores: [Run] and [Measure] for each pair of stores, [RunBetween] and
// [RandomFlows] for further pairs of kinds that have passed these, [RunProcesses] for
// stores that processes share.
package flowtest

import (
	"testing"

	"github.com/braidmq/braid/driver"
)

// Pair is where parents and children live.
type Pair struct {
	// Parents opens an empty store; it is called for every test. The suite closes it.
	Parents func(t testing.TB) driver.Store
	// Children opens the store of the children. Nil: they live with their parents.
	Children func(t testing.TB) driver.Store
	// PassesOver declares that a claim in the parents' store passes over a job that
	// another call has locked at that moment, so that one behind it may come first.
	PassesOver bool
}

// test is one of the suite: a sentence that must hold, and what finds out.
type test struct {
	name string
	run  func(*testing.T, Pair)
}

func (t test) String() string { return t.name }

// alone are the tests that measure, and so want the process for themselves.
var alone = []test{
	{"children that finish at once share their calls", sharedCalls},
	{"fan-out and collect cost in proportion to the children", linearCost},
}

// together are the tests that mostly wait.
var together = []test{
	{"last children that finish together settle their parent once", lastChildrenTogether},
	{"reports that come twice or late change nothing", repeatedReports},
	{"a parent settles whatever becomes of its children", lostChildren},
	{"a parent that is not kept fails fast and cancels its other children", failFastNotKept},
	{"a flow that is enqueued again has no second children", enqueuedAgain},
	{"a removed flow can be enqueued again", removedAndEnqueuedAgain},
	{"a parent that is cancelled cancels its children", cancelledParent},
	{"a failed parent that is retried collects what was recorded", retriedParent},
	{"a child that its store refuses holds up no other", oneBadChild},
	{"three levels settle in every mix", everyMix},
	{"nothing waits for a sweep", nothingWaitsForSweeps},
	{"open flows finish before new ones start", openFlowsFirst},
	{"a flow survives the death of its worker at every step", deathAtEveryStep},
	{"a flow survives the death of its worker at any call", deathAtAnyCall},
	{"a flow survives failing, hanging and lost calls", unsteadyCalls},
	{"flows outlive the outage of a store", shortOutages},
	{"random flows settle", fewRandomFlows},
}

// Measure runs the tests that nothing may run beside.
func Measure(t *testing.T, pair Pair) {
	for _, test := range alone {
		t.Run(test.name, func(t *testing.T) { test.run(t, pair) })
	}
}

// Run runs all other tests of the suite over a pair of stores, beside each other. Pairs
// may run beside each other, too.
func Run(t *testing.T, pair Pair) {
	scenarios(t, 6, together, func(t *testing.T, test test) { test.run(t, pair) })
}

// between are the tests in which it matters that parents and children live in stores of
// different kinds.
var between = []test{
	{"a parent settles whatever becomes of its children", lostChildren},
	{"a flow survives the death of its worker at every step", deathBetweenStores},
	{"a flow survives the death of its worker at any call", deathAtAnyCall},
	{"flows outlive the long outage of a store", longOutages},
}

// RunBetween runs the part of the suite that a pair of kinds needs which have both
// passed [Run]. [RandomFlows] belongs to it too.
func RunBetween(t *testing.T, pair Pair) {
	scenarios(t, 6, between, func(t *testing.T, test test) { test.run(t, pair) })
}

package flowtest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) {
	Process(openByAddress)
	goleak.VerifyTestMain(testserver.Main(m))
}

func memory(testing.TB) driver.Store { return memstore.New() }

// silent is a store that pushes nothing.
func silent(testing.TB) driver.Store { return struct{ driver.Store }{memstore.New()} }

// suite is a pair of stores that the whole suite runs over.
type suite struct {
	name string
	pair Pair
}

func (s suite) String() string { return s.name }

// suites are each kind of store alone, and what only memory has to show: two stores, and
// stores that do not push.
func suites() []suite {
	all := []suite{
		{"two memories", Pair{Parents: memory, Children: memory}},
		{"memories that do not push", Pair{Parents: silent, Children: silent}},
	}
	for _, kind := range storeKinds {
		all = append(all, suite{kind.name, Pair{Parents: kind.store, PassesOver: kind.passesOver}})
	}
	return all
}

func TestCostOfFlows(t *testing.T) {
	for _, s := range suites() {
		t.Run(s.name, func(t *testing.T) { Measure(t, s.pair) })
	}
}

func TestFlows(t *testing.T) {
	scenarios(t, pairsAtOnce, suites(), func(t *testing.T, s suite) { Run(t, s.pair) })
}

// What depends on there being two stores runs over each pair of kinds.
func TestFlowsBetweenStores(t *testing.T) {
	scenarios(t, pairsAtOnce, mixedPairs(), func(t *testing.T, p storePair) { RunBetween(t, p.pair()) })
}

// Killed processes share nothing but the stores, of which each pair has shown above that
// they bear a death.
func TestFlowsOfKilledProcesses(t *testing.T) {
	var shared []storePair
	for _, kind := range storeKinds {
		if kind.shared {
			shared = append(shared, storePair{kind, kind})
		}
	}
	scenarios(t, pairsAtOnce, shared, func(t *testing.T, p storePair) {
		RunProcesses(t, Shared{Parents: p.parents.address, Children: p.children.address, Open: openByAddress})
	})
}

// make soak runs these two with more flows.
func TestRandomFlowsInTwoMemories(t *testing.T) {
	RandomFlows(t, Pair{Parents: memory, Children: memory}, 10)
}

func TestRandomFlowsBetweenStores(t *testing.T) {
	scenarios(t, pairsAtOnce, mixedPairs(), func(t *testing.T, p storePair) { RandomFlows(t, p.pair(), 2) })
}

// pairsAtOnce is how many pairs run side by side: they wait more than they work.
const pairsAtOnce = 3

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

func TestFlowsInOneStore(t *testing.T) {
	for _, kind := range storeKinds {
		t.Run(kind.name, func(t *testing.T) { Run(t, Pair{Parents: kind.store}) })
	}
}

func TestFlowsInTwoMemories(t *testing.T) {
	Run(t, Pair{Parents: memory, Children: memory})
}

func TestFlowsInStoresThatDoNotPush(t *testing.T) {
	Run(t, Pair{Parents: silent, Children: silent})
}

// What depends on there being two stores runs over each pair of kinds.
func TestFlowsBetweenStores(t *testing.T) {
	scenarios(t, pairsAtOnce, mixedPairs(), func(t *testing.T, p storePair) { RunBetween(t, p.pair()) })
}

// Killed processes share nothing but the stores, so each pair of kinds is tried one way
// round only.
func TestFlowsOfKilledProcesses(t *testing.T) {
	var all []storePair
	for i, parents := range storeKinds {
		for _, children := range storeKinds[i:] {
			if parents.shared && children.shared {
				all = append(all, storePair{parents, children})
			}
		}
	}
	scenarios(t, pairsAtOnce, all, func(t *testing.T, p storePair) {
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

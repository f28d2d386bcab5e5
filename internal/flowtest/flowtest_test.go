package flowtest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) {
	Process(openRedis)
	goleak.VerifyTestMain(testserver.Main(m))
}

func memory(testing.TB) driver.Store { return memstore.New() }

// silent is a store that pushes nothing.
func silent(testing.TB) driver.Store { return struct{ driver.Store }{memstore.New()} }

func TestFlowsInMemory(t *testing.T) {
	Run(t, Pair{Parents: memory})
}

func TestFlowsInTwoMemories(t *testing.T) {
	Run(t, Pair{Parents: memory, Children: memory})
}

func TestFlowsInStoresThatDoNotPush(t *testing.T) {
	Run(t, Pair{Parents: silent, Children: silent})
}

// make soak runs it with more flows.
func TestSoakOfRandomFlows(t *testing.T) {
	RandomFlows(t, Pair{Parents: memory, Children: memory})
}

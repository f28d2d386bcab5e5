package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flowtest"
	"github.com/braidmq/braid/memstore"
)

func openForFlows(t testing.TB) driver.Store {
	s, err := openShared(filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFlowsInOneFile(t *testing.T) {
	flowtest.Run(t, flowtest.Pair{Parents: openForFlows})
}

func TestFlowsWithChildrenInMemory(t *testing.T) {
	flowtest.Run(t, flowtest.Pair{Parents: openForFlows, Children: func(testing.TB) driver.Store { return memstore.New() }})
}

func TestFlowsWithParentsInMemory(t *testing.T) {
	flowtest.Run(t, flowtest.Pair{Parents: func(testing.TB) driver.Store { return memstore.New() }, Children: openForFlows})
}

func TestFlowsInProcessesThatAreKilled(t *testing.T) {
	path := func(t testing.TB) string { return filepath.Join(t.TempDir(), "jobs.db") }
	flowtest.RunProcesses(t, flowtest.Shared{Parents: path, Children: path, Open: openShared})
}

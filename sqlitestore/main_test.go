package sqlitestore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flowtest"
	"github.com/braidmq/braid/sqlitestore"
)

// TestMain also is the main function of the processes that tests start and kill.
func TestMain(m *testing.M) {
	flowtest.Process(openShared)
	if path := os.Getenv(crashVariable); path != "" {
		workUntilKilled(path)
	}
	goleak.VerifyTestMain(m)
}

// openShared opens a store that several processes have open at once.
func openShared(path string) (driver.Store, error) {
	return sqlitestore.Open(path, sqlitestore.WithRelaxedDurability())
}

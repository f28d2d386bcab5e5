package sqlitestore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also is the main function of the processes that tests start and kill.
func TestMain(m *testing.M) {
	if path := os.Getenv(crashVariable); path != "" {
		workUntilKilled(path)
	}
	goleak.VerifyTestMain(m)
}

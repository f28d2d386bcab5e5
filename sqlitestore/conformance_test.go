package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/sqlitestore"
)

func TestAFileConforms(t *testing.T) {
	drivertest.Run(t, drivertest.Harness{
		NoServerClock: true, BeginTx: beginTx, Lists: lists,
		Open: func(t drivertest.TB, o drivertest.StoreOptions) driver.Store {
			return open(t, filepath.Join(t.TempDir(), "jobs.db"), o)
		},
		Reopen: func(t drivertest.TB, s driver.Store) driver.Store {
			return open(t, s.Info().Location, drivertest.StoreOptions{})
		},
	})
}

func TestMemoryConforms(t *testing.T) {
	drivertest.Run(t, drivertest.Harness{
		NoServerClock: true, BeginTx: beginTx, Lists: lists,
		Open: func(t drivertest.TB, o drivertest.StoreOptions) driver.Store {
			return open(t, sqlitestore.InMemory, o)
		},
	})
}

// open opens a store whose invariants are checked when the case has ended. The
// suite is not about the disk, and quicker without waiting for it.
func open(t drivertest.TB, path string, o drivertest.StoreOptions) driver.Store {
	t.Helper()
	options := []sqlitestore.Option{sqlitestore.WithRelaxedDurability()}
	if ceiling, ok := o.HistoryCeiling.Get(); ok {
		options = append(options, sqlitestore.WithHistoryCeiling(ceiling))
	}
	if o.IDGenerator != nil {
		options = append(options, sqlitestore.WithIDGenerator(o.IDGenerator))
	}
	s, err := sqlitestore.Open(path, options...)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func beginTx(t drivertest.TB, s driver.Store) drivertest.Transaction {
	t.Helper()
	tx, err := s.(*sqlitestore.Store).DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatalf("BeginTx: %v", err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return drivertest.Transaction{Tx: sqlitestore.Tx(tx), Commit: tx.Commit, Rollback: tx.Rollback}
}

// lists reports which lists are served beyond those that every store serves.
func lists(r driver.ListRequest) bool {
	return r.OrderBy != driver.ByRunAt
}

package sqlitestore_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/sqlitestore"
)

func TestAFileConforms(t *testing.T) {
	drivertest.Run(t, drivertest.Harness{
		NoServerClock: true, BeginTx: beginTx, Lists: lists, Parallel: true,
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
		NoServerClock: true, BeginTx: beginTx, Lists: lists, Parallel: true,
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
	if o.WithoutStats {
		options = append(options, sqlitestore.WithoutStats())
	}
	s, err := sqlitestore.Open(path, options...)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		// After a Close there is nothing to look at.
		if err := s.CheckInvariants(); err != nil && !strings.Contains(err.Error(), "database is closed") {
			t.Errorf("%v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// Two stores on one file, each with its own writer, take turns.
func TestHistoriesOverTwoProcessesAgree(t *testing.T) {
	drivertest.RunHistories(t, drivertest.Harness{
		NoServerClock: true, Lists: lists,
		Open: func(t drivertest.TB, o drivertest.StoreOptions) driver.Store {
			path := filepath.Join(t.TempDir(), "jobs.db")
			return &alternating{Store: open(t, path, o), other: open(t, path, o)}
		},
	}, drivertest.HistoryOptions{Seeds: 10})
}

// alternating makes every other call of some kinds on another store.
type alternating struct {
	driver.Store
	other driver.Store
	calls int
}

func (a *alternating) turn() driver.Store {
	a.calls++
	if a.calls%2 == 0 {
		return a.other
	}
	return a.Store
}

func (a *alternating) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	return a.turn().Enqueue(ctx, now, batch)
}

func (a *alternating) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	return a.turn().Claim(ctx, now, req)
}

func (a *alternating) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	return a.turn().Ack(ctx, now, batch)
}

func (a *alternating) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return a.turn().Cancel(ctx, now, ids)
}

func (a *alternating) List(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
	return a.turn().List(ctx, req)
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

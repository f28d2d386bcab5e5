package drivertest

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// TB is what the suite needs of a test. A *testing.T is one.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	// Fatalf reports a failure and ends the calling goroutine, which must be the one
	// that runs the case.
	Fatalf(format string, args ...any)
}

// Harness opens the store under test, and declares what it lacks. Cases that
// need what is declared missing are not run; the case "Store/PowersAsDeclared"
// holds the declarations against the store.
type Harness struct {
	// Open returns a store that holds nothing, and registers with t what is to be
	// released afterwards. Several stores may be open at once; they share nothing.
	Open func(t TB, o StoreOptions) driver.Store

	// NoWaker, NoFinishWatcher, NoCancelWatcher and NoServerClock declare that the
	// store lacks that optional interface of package driver.
	NoWaker         bool
	NoFinishWatcher bool
	NoCancelWatcher bool
	NoServerClock   bool

	// BeginTx begins a transaction that the store's EnqueueTx accepts. Nil declares
	// that the store is no driver.TxProducer.
	BeginTx func(t TB, s driver.Store) Transaction

	// NameIndexOff and QueueIndexOff declare that Open switches that list index off:
	// lists that need it answer driver.ErrListIndexDisabled.
	NameIndexOff  bool
	QueueIndexOff bool

	// Lists reports whether the store serves a list that it need not serve; where it
	// says no, driver.ErrListOrderUnsupported is expected. Nil: it serves all.
	Lists func(r driver.ListRequest) bool

	// DropConnections breaks every connection that the store holds open, as an
	// outage would; the store makes them again by itself. Nil: it has none.
	DropConnections func(t TB, s driver.Store)

	// Reopen opens a second store value on the data of s, as another process would.
	// Nil: the store's data cannot be shared.
	Reopen func(t TB, s driver.Store) driver.Store

	// Remote declares that each call is a round trip, so that the cases that make
	// thousands of calls make fewer.
	Remote bool

	// Parallel lets cases run beside each other.
	Parallel bool
}

// StoreOptions are the settings that a case asks of its store.
type StoreOptions struct {
	// HistoryCeiling is the store's ceiling; absent: none.
	HistoryCeiling driver.Opt[driver.HistoryCeiling]
	// IDGenerator draws the ids that the store assigns; nil: the store's own.
	IDGenerator func() string
	// WithoutStats switches the counting of runs off.
	WithoutStats bool
}

// Transaction is a transaction of the caller's own.
type Transaction struct {
	Tx       driver.Tx
	Commit   func() error
	Rollback func() error
}

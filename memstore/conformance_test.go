package memstore_test

import (
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/memstore"
)

func TestConforms(t *testing.T) {
	drivertest.Run(t, drivertest.Harness{NoServerClock: true, Open: open})
}

// open opens a store whose invariants are checked when the case has ended.
func open(t drivertest.TB, o drivertest.StoreOptions) driver.Store {
	var options []memstore.Option
	if ceiling, ok := o.HistoryCeiling.Get(); ok {
		options = append(options, memstore.WithHistoryCeiling(ceiling))
	}
	if o.IDGenerator != nil {
		options = append(options, memstore.WithIDGenerator(o.IDGenerator))
	}
	if o.WithoutStats {
		options = append(options, memstore.WithoutStats())
	}
	s := memstore.New(options...)
	t.Cleanup(func() {
		if err := s.CheckInvariants(); err != nil {
			t.Errorf("%v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

package drivertest

import (
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// memory is the harness of the reference store.
var memory = Harness{
	Open: func(t TB, o StoreOptions) driver.Store {
		var options []memstore.Option
		if ceiling, ok := o.HistoryCeiling.Get(); ok {
			options = append(options, memstore.WithHistoryCeiling(ceiling))
		}
		if o.IDGenerator != nil {
			options = append(options, memstore.WithIDGenerator(o.IDGenerator))
		}
		s := memstore.New(options...)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s
	},
	NoServerClock: true,
}

func TestMemoryStoreConforms(t *testing.T) { Run(t, memory) }

func TestEveryCaseStatesItsRule(t *testing.T) {
	for _, c := range Cases() {
		if !strings.HasSuffix(c.Rule, ".") || strings.Count(c.Rule, " ") < 3 {
			t.Errorf("case %s: the rule %q is no sentence", c.Name, c.Rule)
		}
	}
}

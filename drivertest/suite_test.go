package drivertest

import (
	"context"
	"reflect"
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
		if o.WithoutStats {
			options = append(options, memstore.WithoutStats())
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

// A method that is missing from methods would escape the cases on ended contexts
// and closed stores.
func TestMethodsAreComplete(t *testing.T) {
	known := map[string]bool{"Info": true, "Close": true}
	for _, m := range methods() {
		known[m.name] = true
	}
	for m := range reflect.TypeFor[driver.Store]().Methods() {
		if !known[m.Name] {
			t.Errorf("methods lacks %s", m.Name)
		}
	}
}

// A failing case fails its observation, with its reports and its rule, and not
// the test around it; a panic does too.
func TestObserve(t *testing.T) {
	broken := memory
	broken.Open = func(t TB, o StoreOptions) driver.Store { return forgetful{memory.Open(t, o).(everyPower)} }
	seen := Observe(t, broken, "Enqueue/LandsAndIsClaimable")
	if text := strings.Join(seen.Log, "\n"); !seen.Failed || !strings.Contains(text, "unknown") || !strings.Contains(text, "the rule: ") {
		t.Errorf("a store that forgets jobs was observed as %+v", seen)
	}
	if seen := Observe(t, memory, "Enqueue/LandsAndIsClaimable"); seen.Failed {
		t.Errorf("the reference store was observed as %+v", seen)
	}
	if seen := Observe(t, memory, "Enqueue/NoSuchCase"); !seen.Failed {
		t.Error("an unknown case was observed as passed")
	}
	if seen := ObserveFunc(t, "panic", func(TB) { panic("boom") }); !seen.Failed || !strings.Contains(seen.Log[0], "boom") {
		t.Errorf("a panic was observed as %+v", seen)
	}
}

// everyPower is what the reference store can do.
type everyPower interface {
	driver.Store
	driver.Waker
	driver.FinishWatcher
	driver.CancelWatcher
}

// forgetful knows no job.
type forgetful struct{ everyPower }

func (forgetful) Jobs(_ context.Context, ids []string) ([]*driver.Job, error) {
	return make([]*driver.Job, len(ids)), nil
}

func TestEveryCaseStatesItsRule(t *testing.T) {
	for _, c := range Cases() {
		if !strings.HasSuffix(c.Rule, ".") || strings.Count(c.Rule, " ") < 3 {
			t.Errorf("case %s: the rule %q is no sentence", c.Name, c.Rule)
		}
	}
}

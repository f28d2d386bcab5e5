package engine

import (
	"testing"

	"github.com/braidmq/braid/driver"
)

func TestTheRegistryHoldsWhatWasAddedAndNotRemoved(t *testing.T) {
	var g registry
	claimed := func(token string, ids ...string) []*run {
		runs := make([]*run, len(ids))
		for i, id := range ids {
			runs[i] = &run{Run: Run{Job: &driver.Job{ID: id}, Token: token}}
		}
		g.add(runs)
		return runs
	}
	expect := func(want ...*run) {
		t.Helper()
		got := g.all()
		if len(got) != len(want) || g.runs != len(want) {
			t.Fatalf("the registry holds %d runs and counts %d, want %d", len(got), g.runs, len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("run %d is another", i)
			}
		}
	}
	one := claimed("1", "a", "b", "c")
	a, b, c := one[0], one[1], one[2]
	d := claimed("2", "d")[0]
	e := claimed("3", "a")[0]
	expect(a, b, c, d, e)

	held, locks, replaced := g.locks()
	if len(replaced) != 1 || replaced[0] != a || held["a"] != e || len(locks) != 4 {
		t.Errorf("the locks are %v, replaced are %v", locks, replaced)
	}
	if found := g.with(map[string]bool{"a": true, "d": true, "x": true}); len(found) != 3 {
		t.Errorf("%d runs were found, want 3", len(found))
	}

	g.remove([]*run{b, d})
	g.remove([]*run{b, d}) // again, as after a retried batch
	expect(a, c, e)
	f := claimed("4", "f")[0]
	g.remove([]*run{a, e, c})
	expect(f)
	g.remove([]*run{f})
	expect()
	if g.oldest != nil || g.newest != nil {
		t.Error("an empty claim is left")
	}
}

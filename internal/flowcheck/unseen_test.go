package flowcheck_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flowcheck"
)

// moved is the fixture, with the jobs of some children in another store.
func moved(t *testing.T, keys ...string) *liar {
	return &liar{Store: fixture(t), children: func(rows []driver.Child) []driver.Child {
		for i := range rows {
			if slices.Contains(keys, rows[i].ChildKey) {
				rows[i].StoreKey = "elsewhere"
			}
		}
		return rows
	}}
}

func TestWhatHasEndedNeedsNoStoreThatWasNotGiven(t *testing.T) {
	report := check(t, map[string]driver.Store{"s": moved(t, "done")})
	if want := []flowcheck.Unseen{{Store: "elsewhere", Children: 1}}; !report.Clean() || !slices.Equal(report.Unseen, want) {
		t.Errorf("a settled child in another store: %v", &report)
	}
	if want := `cannot be checked: store "elsewhere" is not among those given (1 settled child`; !strings.Contains(report.String(), want) {
		t.Errorf("the report does not say %q: %v", want, &report)
	}
}

func TestAnOpenFlowNeedsItsStores(t *testing.T) {
	report := check(t, map[string]driver.Store{"s": moved(t, "done", "open")})
	if len(report.Problems) != 1 || report.Problems[0].Rule != flowcheck.RuleStore || report.Problems[0].Job != "p" ||
		!strings.Contains(report.String(), `1 child is not settled yet, or not told of it, in store "elsewhere", which was not given`) {
		t.Errorf("an open child in another store: %v", &report)
	}
	if want := []flowcheck.Unseen{{Store: "elsewhere", Children: 1}}; !slices.Equal(report.Unseen, want) {
		t.Errorf("beside the open child: %v", report.Unseen)
	}
}

// The store of the children, without that of the parents.
func TestAFinishedChildNeedsItsParentsNoMore(t *testing.T) {
	orphans := &liar{Store: fixture(t), job: func(job *driver.Job) *driver.Job {
		if job.Parent == nil {
			return &driver.Job{ID: job.ID, Spec: driver.Spec{Queue: job.Queue}, State: job.State}
		}
		parent := *job.Parent
		parent.ParentStoreKey = "elsewhere"
		job.Parent = &parent
		return job
	}}
	report := check(t, map[string]driver.Store{"s": orphans})
	var told []string
	for _, p := range report.Problems {
		if p.Rule == flowcheck.RuleStore {
			told = append(told, p.Job)
		}
	}
	if want := []string{childID("p", "open")}; !slices.Equal(told, want) {
		t.Errorf("problems tell of %q, want %q: %v", told, want, &report)
	}
	// The outcome of "ended" is in the outbox, which tells by itself.
	if want := []flowcheck.Unseen{{Store: "elsewhere", Parents: 1}}; !slices.Equal(report.Unseen, want) {
		t.Errorf("of the finished ones: %v", report.Unseen)
	}
}

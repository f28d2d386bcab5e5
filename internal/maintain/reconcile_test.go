package maintain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func declare(keys ...string) []driver.Schedule {
	var declared []driver.Schedule
	for _, key := range keys {
		declared = append(declared, driver.Schedule{Key: key, JobName: "n", Queue: "q", AttemptsMax: 1, Every: 60_000})
	}
	return declared
}

func keysOf(t *testing.T, store driver.Scheduler) []string {
	t.Helper()
	all, err := store.Schedules(t.Context(), driver.ScheduleFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range all {
		keys = append(keys, s.Group+":"+s.Key)
	}
	slices.Sort(keys)
	return keys
}

// shared returns a store with schedules of the group app, of another and of none.
func shared(t *testing.T) *memstore.Store {
	t.Helper()
	store := memstore.New()
	if _, err := Reconcile(t.Context(), store, 1000, "app", declare("a", "b", "c"), RemovalWarn); err != nil {
		t.Fatal(err)
	}
	if _, err := Reconcile(t.Context(), store, 1000, "other", declare("o"), RemovalWarn); err != nil {
		t.Fatal(err)
	}
	if _, err := store.UpsertSchedule(t.Context(), declare("free")[0]); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestReconcileStoresTheSetUnderItsGroup(t *testing.T) {
	store := memstore.New()
	result, err := Reconcile(t.Context(), store, 1000, "app", declare("b", "a"), RemovalWarn)
	if err != nil || len(result.Stored) != 2 || result.Undeclared != nil || result.Pruned != nil {
		t.Fatalf("got %+v, %v", result, err)
	}
	if s := result.Stored[0]; s.Key != "b" || s.Group != "app" || s.NextRunAt != 61_000 {
		t.Errorf("stored %+v", s)
	}
	// Declared again later, the cadence unchanged: the slot stays, the rest is new.
	again := declare("b")
	again[0].Priority = 9
	result, err = Reconcile(t.Context(), store, 31_000, "app", again, RemovalWarn)
	if err != nil || result.Stored[0].NextRunAt != 61_000 || result.Stored[0].Priority != 9 {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestReconcileWarnsOfUndeclaredMembers(t *testing.T) {
	store := shared(t)
	result, err := Reconcile(t.Context(), store, 2000, "app", declare("b"), RemovalWarn)
	if err != nil || !slices.Equal(result.Undeclared, []string{"a", "c"}) || result.Pruned != nil {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := keysOf(t, store); !slices.Equal(got, []string{":free", "app:a", "app:b", "app:c", "other:o"}) {
		t.Errorf("the store has %v", got)
	}
}

func TestReconcilePrunesItsOwnGroupOnly(t *testing.T) {
	store := shared(t)
	result, err := Reconcile(t.Context(), store, 2000, "app", declare("b", "d"), RemovalPrune)
	if err != nil || !slices.Equal(result.Pruned, []string{"a", "c"}) {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := keysOf(t, store); !slices.Equal(got, []string{":free", "app:b", "app:d", "other:o"}) {
		t.Errorf("the store has %v", got)
	}
	if _, err := Reconcile(t.Context(), store, 2000, "app", nil, RemovalPrune); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(t, store); !slices.Equal(got, []string{":free", "other:o"}) {
		t.Errorf("after an empty declaration the store has %v", got)
	}
}

func TestADelayedPruneLooksAgain(t *testing.T) {
	store := shared(t)
	result, err := Reconcile(t.Context(), store, 2000, "app", declare("b"), RemovalWarn)
	if err != nil {
		t.Fatal(err)
	}
	// Meanwhile a moves to another group, and a newer version declares new.
	if _, err := Reconcile(t.Context(), store, 3000, "other", declare("a", "o"), RemovalWarn); err != nil {
		t.Fatal(err)
	}
	if _, err := Reconcile(t.Context(), store, 3000, "app", declare("b", "new"), RemovalWarn); err != nil {
		t.Fatal(err)
	}
	pruned, err := Prune(t.Context(), store, "app", append(result.Undeclared, "gone"))
	if err != nil || !slices.Equal(pruned, []string{"c"}) {
		t.Errorf("pruned %v, %v; want c alone", pruned, err)
	}
	if got := keysOf(t, store); !slices.Equal(got, []string{":free", "app:b", "app:new", "other:a", "other:o"}) {
		t.Errorf("the store has %v", got)
	}
}

func TestUndeclaredLooksAtEveryPage(t *testing.T) {
	store := memstore.New()
	var keys []string
	for i := range 2*driver.ChunkJobs + 1 {
		keys = append(keys, fmt.Sprintf("key-%04d", i))
	}
	if _, err := Reconcile(t.Context(), store, 1000, "app", declare(keys...), RemovalWarn); err != nil {
		t.Fatal(err)
	}
	got, err := Undeclared(t.Context(), store, "app", keys[1:])
	if err != nil || !slices.Equal(got, keys[:1]) {
		t.Errorf("got %d, %v", len(got), err)
	}
	if got, err = Undeclared(t.Context(), store, "app", keys[:len(keys)-1]); err != nil || !slices.Equal(got, keys[len(keys)-1:]) {
		t.Errorf("got %d, %v", len(got), err)
	}
}

func TestReconcileRefusesABadSetBeforeAnythingIsStored(t *testing.T) {
	never := declare("a", "b")
	never[1].Every, never[1].Cron = 0, "0 0 30 2 *"
	bad := declare("a", "b")
	bad[1].Every, bad[1].Cron = 0, "61 * * * *"
	for _, c := range []struct {
		group    string
		declared []driver.Schedule
		field    string
		says     string
	}{
		{"app", declare("a", "b", "a"), "schedule key", "twice"},
		{"app", declare("a", ""), "schedule key", "empty"},
		{"", declare("a"), "group", "empty"},
		{"app", never, "cron", "never matches"},
		{"app", bad, "cron", "minute"},
	} {
		store := memstore.New()
		_, err := Reconcile(t.Context(), store, 1000, c.group, c.declared, RemovalPrune)
		var invalid *driver.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.Contains(invalid.Reason, c.says) {
			t.Errorf("%s: got %v", c.says, err)
		}
		if got := keysOf(t, store); len(got) > 0 {
			t.Errorf("%s: stored %v", c.says, got)
		}
	}
}

package sampleload

import (
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func TestTheLoadHasSomethingOfEverything(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	const now = driver.Time(1_700_000_000_000)
	load, err := Fill(t.Context(), store, now, 1)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := store.Counts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range driver.States {
		if *counts.Of(state) == 0 && state != driver.Cancelled {
			t.Errorf("no job is %v: %+v", state, counts)
		}
	}
	want := map[string]driver.State{load.Failed: driver.Failed, load.Delayed: driver.Delayed, load.Active: driver.Active,
		load.Waiting: driver.Waiting, load.Flow: driver.WaitingChildren}
	for id, state := range want {
		jobs, err := store.Jobs(t.Context(), []string{id})
		if err != nil || jobs[0] == nil || jobs[0].State != state {
			t.Errorf("job %q: %+v, %v; want %v", id, jobs, err, state)
		}
	}
	stats, err := store.Stats(t.Context(), driver.StatsRequest{From: now - 3_600_000, To: now})
	if err != nil || len(stats.Stats) < 300 {
		t.Errorf("%d stats, %v", len(stats.Stats), err)
	}
	if err := store.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

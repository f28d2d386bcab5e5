package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/httpapi"
)

func TestWorkersAreShown(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	workers := httpapi.Workers{Workers: []httpapi.Worker{
		{ID: "host-1", Version: "v1", Names: []string{"fax", "mail"}, Since: httpapi.Time{Time: now.Add(-3 * time.Hour)}, BeatAt: httpapi.Time{Time: now.Add(-4 * time.Second)},
			Queues: []httpapi.WorkerQueue{{Name: "a", Slots: 10, InFlight: 2}, {Name: "b", Slots: 5}}},
		{ID: "evil\x1b[2J", Names: []string{strings.Repeat("n", 100)}},
	}}
	var out strings.Builder
	if err := writeWorkers(&out, workers, now); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "host-1       3h ago  4s ago     2 of 15    a 2/10, b 0/5  fax, mail") || strings.Contains(got, "\x1b") || strings.Count(got, "\n") != 3 {
		t.Errorf("got\n%s", got)
	}
}

func TestTopTellsOfTheLastMinutes(t *testing.T) {
	since := time.Date(2026, 8, 1, 12, 30, 0, 0, time.UTC)
	look := topLook{since: since, until: since.Add(80 * time.Second)}
	look.Workers.Workers = []httpapi.Worker{{Queues: []httpapi.WorkerQueue{{Slots: 10, InFlight: 2}, {Slots: 5, InFlight: 1}}}}
	look.Stats.Stats = []httpapi.Stat{
		{Outcome: braid.OutcomeCompleted, Count: 90, RunMs: 9000, WaitMs: 180},
		{Outcome: braid.OutcomeRetried, Count: 20, RunMs: 3000, WaitMs: 60},
		{Outcome: braid.OutcomeFailed, Count: 10},
	}
	var out strings.Builder
	if err := writeTop(&out, look, nil, 0); err != nil {
		t.Fatal(err)
	}
	want := "workers     1 alive, 3 of 15 slots taken\nsince 12:30 120 runs (1.5 per second), 30 failed; on average 100ms of run time, after a wait of 2ms\n"
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

func TestTopInJSONHasAllItLooksAt(t *testing.T) {
	runServerHere(t)
	var look map[string]json.RawMessage
	if err := json.Unmarshal([]byte(good(t, "top", "--json")), &look); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"queues", "total", "workers", "stats"} {
		if look[field] == nil {
			t.Errorf("there is no %s in %s", field, look)
		}
	}
}

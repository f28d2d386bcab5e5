package httpapi

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

func TestWorkersThatLeaseAreListed(t *testing.T) {
	b := newBench(t)
	b.do("POST", "/api/v1/work/claim", ClaimRequest{Queue: "q<1>", Names: []string{"mail", "fax"}, Worker: `<b>"py"`, Limit: 3}).ok(nil)
	var workers Workers
	deadline := time.Now().Add(10 * time.Second)
	for len(workers.Workers) == 0 && time.Now().Before(deadline) {
		b.do("GET", "/api/v1/workers", nil).ok(&workers)
	}
	if len(workers.Workers) != 1 {
		t.Fatalf("workers: %+v", workers)
	}
	w := workers.Workers[0]
	if w.ID != `<b>"py"` || w.Queues[0] != (WorkerQueue{Name: "q<1>", Slots: 3}) || len(w.Names) != 2 || w.BeatAt.IsZero() || !w.ExpiresAt.After(w.BeatAt.Time) {
		t.Errorf("the worker is %+v", w)
	}
	var others Workers
	b.do("GET", "/api/v1/workers?store=other", nil).ok(&others)
	if others.Workers == nil || len(others.Workers) != 0 {
		t.Errorf("workers of the other store: %+v", others)
	}
}

func TestStatsCountRuns(t *testing.T) {
	b := newBench(t)
	b.failed("mail")
	b.failed("mail")
	id := b.enqueue(NewJob{Name: "fax"})[0].ID
	b.ack(Ack{ID: id, Token: b.claim(ClaimRequest{Names: []string{"fax"}})[0].Token, Outcome: "completed"})
	get := func(query url.Values) []Stat {
		t.Helper()
		var reply Stats
		b.do("GET", "/api/v1/stats?"+query.Encode(), nil).ok(&reply)
		if reply.Stats == nil {
			t.Error("no stats are null")
		}
		return reply.Stats
	}
	// A minute may end between the runs.
	sum := func(stats []Stat, queue string, outcome braid.Outcome) (n int64) {
		for _, s := range stats {
			if s.Queue == queue && s.Outcome == outcome {
				n += s.Count
			}
		}
		return n
	}
	all := get(url.Values{"stepMinutes": {"60"}})
	if sum(all, "", braid.OutcomeFailed) != 2 || sum(all, "", braid.OutcomeCompleted) != 1 {
		t.Errorf("all: %+v", all)
	}
	split := get(url.Values{"byQueue": {"true"}})
	if sum(split, "failing", braid.OutcomeFailed) != 2 || sum(split, "default", braid.OutcomeCompleted) != 1 {
		t.Errorf("by queue: %+v", split)
	}
	if one := get(url.Values{"queue": {"default"}}); sum(one, "", braid.OutcomeFailed) != 0 || sum(one, "", braid.OutcomeCompleted) != 1 {
		t.Errorf("of one queue: %+v", one)
	}
	past := time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)
	if old := get(url.Values{"to": {past}}); len(old) != 0 {
		t.Errorf("of the past: %+v", old)
	}
	if err := b.store.SampleDepth(t.Context(), driver.TimeOf(time.Now())); err != nil {
		t.Fatal(err)
	}
	var depths Depths
	b.do("GET", "/api/v1/stats/depth", nil).ok(&depths)
	if len(depths.Depths) != 1 || depths.Depths[0].Counts != (braid.Counts{Completed: 1, Failed: 2}) {
		t.Errorf("depths: %+v", depths)
	}
	b.do("GET", "/api/v1/stats/depth?to="+past, nil).ok(&depths)
	if len(depths.Depths) != 0 {
		t.Errorf("depths of the past: %+v", depths)
	}
	b.do("GET", "/api/v1/stats/depth?from=1", nil).refused(http.StatusBadRequest, CodeInvalid, "from")
	b.do("GET", "/api/v1/stats/depth?to=1", nil).refused(http.StatusBadRequest, CodeInvalid, "to")
	for query, field := range map[string]string{
		"from=yesterday": "from", "to=1": "to", "stepMinutes=0": "stepMinutes", "stepMinutes=2000": "stepMinutes", "byQueue=maybe": "byQueue",
		"from=2001-01-01T00:00:00Z": "from", "to=2001-01-01T00:00:00Z&from=2002-01-01T00:00:00Z": "from",
	} {
		b.do("GET", "/api/v1/stats?"+query, nil).refused(http.StatusBadRequest, CodeInvalid, field)
	}
}

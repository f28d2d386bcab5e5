package httpapi

import (
	"net/http"
	"testing"

	"github.com/braidmq/braid"
)

func TestOperationsOnOneJob(t *testing.T) {
	b := newBench(t)
	failed := b.failed("a")
	delayed := b.enqueue(NewJob{Name: "b", DelayMs: 60_000})[0].ID
	for _, step := range []struct {
		method, path string
		want         braid.State
	}{
		{"POST", failed + "/retry", braid.Waiting},
		{"POST", delayed + "/promote", braid.Waiting},
		{"POST", delayed + "/cancel", braid.Cancelled},
	} {
		var reply StateReply
		b.do(step.method, "/api/v1/jobs/"+step.path, nil).ok(&reply)
		if reply.State != step.want {
			t.Errorf("%s: %+v", step.path, reply)
		}
		e := b.do(step.method, "/api/v1/jobs/"+step.path, nil).refused(http.StatusConflict, CodeConflict, "")
		if e.State != step.want.String() {
			t.Errorf("%s again: %+v", step.path, e)
		}
	}
	for _, verb := range []string{"retry", "promote", "cancel"} {
		b.do("POST", "/api/v1/jobs/none/"+verb, nil).refused(http.StatusNotFound, CodeNotFound, "")
	}
	var removed Removed
	b.do("DELETE", "/api/v1/jobs/"+delayed, nil).ok(&removed)
	if !removed.Removed {
		t.Error("not removed")
	}
	b.do("DELETE", "/api/v1/jobs/"+delayed, nil).refused(http.StatusNotFound, CodeNotFound, "")
	b.claim(ClaimRequest{Queue: "failing", Names: []string{"a"}})
	b.do("DELETE", "/api/v1/jobs/"+failed, nil).refused(http.StatusConflict, CodeConflict, "")
}

func TestOperationsOnMany(t *testing.T) {
	b := newBench(t)
	for _, id := range ids(5, "a") {
		b.enqueue(NewJob{Name: "a", ID: id, DelayMs: 60_000, JobOptions: JobOptions{Metadata: map[string]string{"k": "v"}}})
	}
	failed := b.failed("f")
	batch := func(verb string, request BatchRequest) BatchReply {
		t.Helper()
		var reply BatchReply
		b.do("POST", "/api/v1/jobs/"+verb, request).ok(&reply)
		return reply
	}
	if r := batch("promote", BatchRequest{IDs: []string{"a0", "none", failed}}); r.Changed != 1 || r.Results[0].State != "waiting" ||
		r.Results[1].Error.Code != CodeNotFound || r.Results[2].Error.Code != CodeConflict {
		t.Errorf("promote: %+v", r)
	}
	if r := batch("retry", BatchRequest{IDs: []string{failed}}); r.Changed != 1 {
		t.Errorf("retry: %+v", r)
	}
	dry := BatchRequest{Filter: &Filter{Metadata: map[string]string{"k": "v"}, States: []string{"delayed"}}, DryRun: true}
	if r := batch("cancel", dry); r.Matched != 4 || r.Changed != 4 || b.get("a1").State != braid.Delayed {
		t.Errorf("dry run: %+v", r)
	}
	request := BatchRequest{Filter: &Filter{Name: "a"}, Limit: 3}
	first := batch("cancel", request)
	request.Cursor = first.Cursor
	second := batch("cancel", request)
	if first.Changed != 3 || first.Cursor == "" || second.Changed != 2 || second.Cursor != "" {
		t.Errorf("cancel: %+v, then %+v", first, second)
	}
	if r := batch("remove", BatchRequest{IDs: []string{"a0", "none"}}); r.Changed != 1 || r.Results[1].Error == nil {
		t.Errorf("remove: %+v", r)
	}
	if r := batch("remove", BatchRequest{Filter: &Filter{Name: "a"}}); r.Changed != 4 {
		t.Errorf("remove by filter: %+v", r)
	}
	if r := batch("remove", BatchRequest{Filter: &Filter{Queue: "failing", States: []string{}}}); r.Matched != 0 {
		t.Errorf("no states select nothing: %+v", r)
	}
	if r := batch("retry", BatchRequest{Filter: &Filter{States: []string{"waiting"}}}); r.Matched != 1 || r.Changed != 0 || r.Results[0].ID != failed {
		t.Errorf("refused ones are told: %+v", r)
	}
	for field, body := range map[string]any{
		"ids":          BatchRequest{},
		"filter":       BatchRequest{Filter: &Filter{}},
		"limit":        BatchRequest{Filter: &Filter{Name: "a"}, Limit: 100_000},
		"cursor":       BatchRequest{Filter: &Filter{Name: "a"}, Cursor: "x"},
		"filter.states": BatchRequest{Filter: &Filter{States: []string{"odd"}}},
	} {
		b.do("POST", "/api/v1/jobs/cancel", body).refused(http.StatusBadRequest, CodeInvalid, field)
	}
	for _, body := range []BatchRequest{{IDs: []string{}}, {IDs: ids(1001, "a")}, {IDs: []string{"a"}, DryRun: true}, {IDs: []string{"a"}, Filter: &Filter{Name: "a"}}} {
		b.do("POST", "/api/v1/jobs/cancel", body).refused(http.StatusBadRequest, CodeInvalid, "ids")
	}

	b.enqueue(NewJob{Name: "d", Dedupe: &Dedupe{Key: "k"}})
	for _, want := range []bool{true, false} {
		var reply Cancelled
		b.do("POST", "/api/v1/jobs/cancel-by-key", KeyRequest{Name: "d", Key: "k"}).ok(&reply)
		if reply.Cancelled != want {
			t.Errorf("by key: %+v, want %v", reply, want)
		}
	}
}

func TestQueuesArePausedAndCounted(t *testing.T) {
	b := newBench(t)
	b.enqueue(NewJob{Name: "a", JobOptions: JobOptions{Queue: "x/y"}}, NewJob{Name: "a"})
	var queue Queue
	b.do("POST", "/api/v1/queues/x%2Fy/pause", nil).ok(&queue)
	if !queue.Paused || queue.Name != "x/y" || queue.Counts.Waiting != 1 {
		t.Errorf("paused: %+v", queue)
	}
	var queues Queues
	b.do("GET", "/api/v1/queues", nil).ok(&queues)
	if len(queues.Queues) != 2 || queues.Queues[0].Name != "default" || queues.Queues[0].Paused || !queues.Queues[1].Paused || queues.Total.Waiting != 2 {
		t.Errorf("queues: %+v", queues)
	}
	b.do("POST", "/api/v1/queues/x%2Fy/resume", nil).ok(&queue)
	if queue.Paused {
		t.Errorf("resumed: %+v", queue)
	}
	b.do("GET", "/api/v1/queues/none", nil).ok(&queue)
	if queue.Counts.Total() != 0 {
		t.Errorf("unknown: %+v", queue)
	}
	b.do("POST", "/api/v1/queues/%00/pause", nil).refused(http.StatusBadRequest, CodeInvalid, "queue")
}

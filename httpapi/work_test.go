package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

func TestAWorkerClaimsKeepsAndSettles(t *testing.T) {
	b := newBench(t)
	for _, id := range ids(3, "a") {
		b.enqueue(NewJob{Name: "a", ID: id, Payload: json.RawMessage(`1`)})
	}
	jobs := b.claim(ClaimRequest{Names: []string{"a"}, Limit: 3, LockMs: 5000})
	if len(jobs) != 3 || jobs[0].ID != "a0" || jobs[0].Attempt != 1 || jobs[0].State != braid.Active || jobs[0].LockedBy != "tester" {
		t.Fatalf("claimed %+v", jobs)
	}
	b.do("POST", "/api/v1/jobs/a2/cancel", nil).ok(nil)
	var beat HeartbeatReply
	b.do("POST", "/api/v1/work/heartbeat", Heartbeat{LockMs: 60_000, Locks: []Lock{
		{"a0", jobs[0].Token}, {"a2", jobs[2].Token}, {"a1", "stolen"}, {"none", "x"},
	}}).ok(&beat)
	if len(beat.Lost) != 2 || len(beat.CancelRequested) != 1 || beat.CancelRequested[0] != "a2" {
		t.Errorf("heartbeat: %+v", beat)
	}
	results := b.ack(
		Ack{ID: "a0", Token: jobs[0].Token, Outcome: "completed", Result: json.RawMessage(`{"ok":true}`)},
		Ack{ID: "a1", Token: "stolen", Outcome: "completed"},
		Ack{ID: "a1", Token: jobs[1].Token, Outcome: "failed", Error: &RunError{Message: "once more"}, DelayMs: pointer(int64(0))},
		Ack{ID: "a2", Token: jobs[2].Token, Outcome: "cancelled"},
		Ack{ID: "none", Token: "x", Outcome: "released"},
		Ack{ID: "a2", Token: "x", Outcome: "odd"},
	)
	for i, want := range []struct {
		state string
		code  Code
	}{{"completed", ""}, {"", CodeLockLost}, {"waiting", ""}, {"cancelled", ""}, {"", CodeNotFound}, {"", CodeInvalid}} {
		r := results[i]
		if r.State != want.state || (r.Error == nil) != (want.code == "") || r.Error != nil && r.Error.Code != want.code {
			t.Errorf("ack %d: %+v %v, want %+v", i, r, r.Error, want)
		}
	}
	if job := b.get("a0"); string(job.Result) != `{"ok":true}` {
		t.Errorf("result %s", job.Result)
	}
	again := b.claim(ClaimRequest{Names: []string{"a"}})
	if len(again) != 1 || again[0].ID != "a1" || again[0].Attempt != 2 {
		t.Errorf("claimed again %+v", again)
	}
	if none := b.claim(ClaimRequest{Names: []string{"a"}, WaitMs: 1}); len(none) != 0 {
		t.Errorf("claimed %+v", none)
	}
}

func TestAClaimWaitsForAJob(t *testing.T) {
	b := newBench(t)
	got := make(chan []ClaimedJob, 1)
	go func() { got <- b.claim(ClaimRequest{Names: []string{"a"}, WaitMs: 15_000}) }()
	id := b.enqueue(NewJob{Name: "a"})[0].ID
	select {
	case jobs := <-got:
		if len(jobs) != 1 || jobs[0].ID != id {
			t.Errorf("claimed %+v", jobs)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the claim did not end")
	}
}

func TestADrainedServerLetsNoClaimWait(t *testing.T) {
	b := newBench(t)
	got := make(chan []ClaimedJob, 1)
	go func() { got <- b.claim(ClaimRequest{Names: []string{"a"}, WaitMs: 60_000}) }()
	b.api.Drain()
	b.api.Drain()
	select {
	case jobs := <-got:
		if len(jobs) != 0 {
			t.Errorf("claimed %+v", jobs)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the claim did not end")
	}
}

func TestARefusedAckNamesItsField(t *testing.T) {
	b := newBench(t)
	var acks []Ack
	for _, id := range ids(3, "a") {
		b.enqueue(NewJob{Name: "a", ID: id})
		acks = append(acks, Ack{ID: id, Token: b.claim(ClaimRequest{Names: []string{"a"}})[0].Token})
	}
	acks[0].Outcome, acks[1].Outcome, acks[2].Outcome = "failed", "snoozed", "odd"
	results := b.ack(acks...)
	for i, want := range []struct{ field, says string }{
		{"acks[0].error.message", "is empty"}, {"acks[1].delayMs", "is missing"}, {"acks[2].outcome", `"odd"`},
	} {
		e := results[i].Error
		if e == nil || e.Code != CodeInvalid || e.Field != want.field || !strings.Contains(e.Message, want.field) || !strings.Contains(e.Message, want.says) {
			t.Errorf("ack %d: %+v, want %+v", i, e, want)
		}
	}
}

func TestWorkRequestsAreChecked(t *testing.T) {
	b := newBench(t, WithLimits(Limits{Batch: 2, Wait: time.Second}))
	for _, test := range []struct {
		path, field string
		body        any
	}{
		{"claim", "names", ClaimRequest{Worker: "w"}},
		{"claim", "names", ClaimRequest{Worker: "w", Names: []string{""}}},
		{"claim", "worker", ClaimRequest{Names: []string{"a"}}},
		{"claim", "limit", ClaimRequest{Names: []string{"a"}, Worker: "w", Limit: 1_000_000}},
		{"claim", "waitMs", ClaimRequest{Names: []string{"a"}, Worker: "w", WaitMs: 2000}},
		{"claim", "waitMs", ClaimRequest{Names: []string{"a"}, Worker: "w", WaitMs: -1}},
		{"claim", "lockMs", ClaimRequest{Names: []string{"a"}, Worker: "w", LockMs: 1}},
		{"heartbeat", "locks", Heartbeat{}},
		{"heartbeat", "lockMs", Heartbeat{Locks: []Lock{{"a", "b"}}, LockMs: mostMillis}},
		{"ack", "acks", AckRequest{}},
		{"ack", "acks", AckRequest{make([]Ack, 3)}},
		{"ack", "acks[0].delayMs", AckRequest{[]Ack{{Outcome: "snoozed", DelayMs: pointer(int64(-1))}}}},
	} {
		b.do("POST", "/api/v1/work/"+test.path, test.body).refused(http.StatusBadRequest, CodeInvalid, test.field)
	}
}

package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

func TestAnEnqueueTakesAllOptions(t *testing.T) {
	b := newBench(t)
	results := b.enqueue(NewJob{
		Name: "mail", Payload: json.RawMessage(`{"n":9007199254740993,"s":"\u0000\ud800"}`), ID: "a/b:{c}%ü", DelayMs: 60_000,
		Dedupe: &Dedupe{Key: "k", TTLMs: pointer(int64(1000)), Extend: true, Replace: true},
		JobOptions: JobOptions{
			Queue: "q/1", Priority: -3, Attempts: 4, TimeoutMs: pointer(int64(1500)),
			Backoff:  &Backoff{Kind: "exponential", DelayMs: 10, Factor: 3, MaxMs: 100, Jitter: .5},
			Keep:     &Keep{Completed: &Retention{Count: pointer(3)}, Failed: &Retention{AgeMs: pointer(int64(1))}},
			Metadata: map[string]string{"tenant": "acme", "empty": ""},
		},
	}, NewJob{Name: "plain"})
	if len(results) != 2 || results[0].ID != "a/b:{c}%ü" || results[0].Duplicate {
		t.Fatalf("results %+v", results)
	}
	job := b.get("a/b:{c}%ü")
	if job.Queue != "q/1" || job.Priority != -3 || job.AttemptsMax != 4 || *job.TimeoutMs != 1500 || job.DedupeKey != "k" ||
		job.State != braid.Delayed || job.Metadata["tenant"] != "acme" || string(job.Payload) != `{"n":9007199254740993,"s":"\u0000\ud800"}` {
		t.Errorf("job %+v", job)
	}
	if until := time.Until(job.RunAt.Time); until < 50*time.Second || until > 70*time.Second {
		t.Errorf("runs at %v", job.RunAt)
	}
	at := Time{time.Now().Add(time.Hour).Truncate(time.Millisecond)}
	again := b.enqueue(NewJob{Name: "mail", ID: "a/b:{c}%ü"}, NewJob{Name: "late", ID: "late", RunAt: &at})
	if !again[0].Duplicate || !b.get("late").RunAt.Equal(at.Time) {
		t.Errorf("results %+v, late runs at %v", again, b.get("late").RunAt)
	}
}

func TestAnEnqueueSaysWhatIsWrongAndStoresNothing(t *testing.T) {
	b := newBench(t, WithLimits(Limits{Batch: 3, BodyBytes: 4096}))
	for _, test := range []struct{ body, field string }{
		{`{"jobs":[]}`, "jobs"},
		{`{}`, "jobs"},
		{`{"jobs":[{"name":"a"},{"name":"a"},{"name":"a"},{"name":"a"}]}`, "jobs"},
		{`{"jobs":[{"name":""}]}`, "jobs[0].name"},
		{`{"jobs":[{"name":"` + strings.Repeat("x", 129) + `"}]}`, "jobs[0].name"},
		{`{"jobs":[{"name":"a","id":"flow/x"}]}`, "jobs[0].id"},
		{`{"jobs":[{"name":"a","id":"a\u0000"}]}`, "jobs[0].id"},
		{`{"jobs":[{"name":"a"},{"name":"a","delayMs":-1}]}`, "jobs[1].delayMs"},
		{`{"jobs":[{"name":"a","delayMs":9223372036854775807}]}`, "jobs[0].delayMs"},
		{`{"jobs":[{"name":"a","delayMs":1,"runAt":"2030-01-01T00:00:00Z"}]}`, "jobs[0].runAt"},
		{`{"jobs":[{"name":"a","runAt":"9999-01-01T00:00:00Z"}]}`, "jobs[0].runAt"},
		{`{"jobs":[{"name":"a","attempts":-1}]}`, "jobs[0].attempts"},
		{`{"jobs":[{"name":"a","priority":3000000000}]}`, "jobs[0].priority"},
		{`{"jobs":[{"name":"a","timeoutMs":-1}]}`, "jobs[0].timeoutMs"},
		{`{"jobs":[{"name":"a","backoff":{"kind":"odd","delayMs":1}}]}`, "jobs[0].backoff.kind"},
		{`{"jobs":[{"name":"a","backoff":{"kind":"fixed","delayMs":1,"jitter":2}}]}`, "jobs[0].backoff.jitter"},
		{`{"jobs":[{"name":"a","keep":{"failed":{"ageMs":-1}}}]}`, "jobs[0].keep.failed.ageMs"},
		{`{"jobs":[{"name":"a","keep":{"failed":{"count":-1}}}]}`, "jobs[0].keep.failed.count"},
		{`{"jobs":[{"name":"a","dedupe":{"key":""}}]}`, "jobs[0].dedupe.key"},
		{`{"jobs":[{"name":"a","dedupe":{"key":"k","ttlMs":0}}]}`, "jobs[0].dedupe.ttlMs"},
		{`{"jobs":[{"name":"a","dedupe":{"key":"k","extend":true}}]}`, "jobs[0].dedupe.extend"},
		{`{"jobs":[{"name":"a","metadata":{"":"x"}}]}`, "jobs[0].metadata"},
		{`{"jobs":[{"nam":"a"}]}`, "jobs[0].nam"},
		{`{"jobs":[{"name":7}]}`, "jobs[0].name"},
		{`{"jobs":[{"name":"a","priority":1.5}]}`, "jobs[0].priority"},
		{`{"jobs":[{"name":"a"}]} {}`, ""},
		{`{"jobs":[{"name":"a"}`, ""},
		{`{"jobs":[{"name":"a","payload":"` + "\xff" + `"}]}`, ""},
		{strings.Repeat("[", 4000), ""},
		{``, ""},
		{`null`, "jobs"},
	} {
		b.do("POST", "/api/v1/jobs", test.body).refused(http.StatusBadRequest, CodeInvalid, test.field)
	}
	b.do("POST", "/api/v1/jobs", `{"jobs":[{"name":"a","payload":"`+strings.Repeat("x", 5000)+`"}]}`).refused(http.StatusRequestEntityTooLarge, CodeTooLarge, "")
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json;;"} {
		b.do("POST", "/api/v1/jobs", `{}`, func(r *http.Request) { r.Header.Set("Content-Type", kind) }).refused(http.StatusUnsupportedMediaType, CodeMediaType, "")
	}
	if counts, err := b.client.Counts(t.Context(), ""); err != nil || counts.Total() != 0 {
		t.Errorf("counts %+v, %v", counts, err)
	}
}

func TestAListFiltersAndPages(t *testing.T) {
	b := newBench(t)
	for i, id := range ids(5, "a") {
		b.enqueue(NewJob{Name: "a", ID: id, JobOptions: JobOptions{Queue: "qa", Metadata: map[string]string{"x[y]": fmt.Sprint(i % 2)}}})
	}
	b.enqueue(NewJob{Name: "b", DelayMs: 1000}, NewJob{Name: "b", DelayMs: 2000})
	list := func(query string) JobPage {
		t.Helper()
		var page JobPage
		b.do("GET", "/api/v1/jobs?"+query, nil).ok(&page)
		return page
	}
	for query, want := range map[string]int{
		"": 7, "queue=qa": 5, "name=b": 2, "state=delayed": 2, "state=delayed,waiting": 7, "state=delayed&state=active": 2, "state=": 7,
		"name=b&queue=qa": 0, url.QueryEscape("metadata[x[y]]") + "=1": 2, "metadata[x%5By%5D]=0": 3,
		"queue=default&state=delayed&orderBy=runAt&order=asc": 2, "store=other": 0, "store=default": 7,
	} {
		if got := list(query); len(got.Jobs) != want {
			t.Errorf("%s: %d jobs, want %d", query, len(got.Jobs), want)
		}
	}
	var seen []string
	for cursor, pages := "", 0; ; pages++ {
		page := list("queue=qa&order=asc&limit=2&cursor=" + url.QueryEscape(cursor))
		for _, job := range page.Jobs {
			seen = append(seen, job.ID)
		}
		if cursor = page.Cursor; cursor == "" || pages > 5 {
			break
		}
	}
	if strings.Join(seen, " ") != strings.Join(ids(5, "a"), " ") {
		t.Errorf("paged %v", seen)
	}
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=1001": "limit", "limit=x": "limit", "cursor=nonsense": "cursor", "state=odd": "state", "order=up": "order",
		"orderBy=name": "orderBy", "nam=x": "nam", "name=a&name=b": "name", "metadata[]=x": "metadata[]", "metadata=x": "metadata", "store=none": "store", "name=%ff": "name",
	} {
		b.do("GET", "/api/v1/jobs?"+query, nil).refused(http.StatusBadRequest, CodeInvalid, field)
	}
	b.do("GET", "/api/v1/jobs?name=%zz", nil).refused(http.StatusBadRequest, CodeInvalid, "")
}

func TestAFailedJobTellsItsErrorAndRuns(t *testing.T) {
	b := newBench(t)
	id := b.failed("a")
	job := b.get(id)
	if job.State != braid.Failed || job.Error == nil || *job.Error != (RunError{"no luck", "Oops", "line 1"}) || job.FinishedAt.IsZero() {
		t.Errorf("job %+v", job)
	}
	var attempts Attempts
	b.do("GET", "/api/v1/jobs/"+id+"/attempts", nil).ok(&attempts)
	if len(attempts.Attempts) != 1 || attempts.Attempts[0].Outcome != braid.OutcomeFailed || attempts.Attempts[0].Error.Message != "no luck" || attempts.Attempts[0].Worker != "tester" {
		t.Errorf("attempts %+v", attempts)
	}
	for _, path := range []string{"", "/attempts", "/why"} {
		b.do("GET", "/api/v1/jobs/none"+path, nil).refused(http.StatusNotFound, CodeNotFound, "")
	}
}

func TestPayloadsCanBeHidden(t *testing.T) {
	b := newBench(t, WithoutPayloads())
	const secret = "hunter2"
	id := b.enqueue(NewJob{Name: "a", Payload: json.RawMessage(`"` + secret + `"`)})[0].ID
	b.do("PUT", "/api/v1/schedules/s", PutSchedule{JobName: "a", EveryMs: 1000, Payload: json.RawMessage(`"` + secret + `"`)}).ok(nil)
	claimed := b.claim(ClaimRequest{Names: []string{"a"}})
	if string(claimed[0].Payload) != `"hunter2"` || claimed[0].Redacted {
		t.Fatalf("claimed %+v", claimed[0])
	}
	b.ack(Ack{ID: id, Token: claimed[0].Token, Outcome: "completed", Result: json.RawMessage(`{"r":"` + secret + `"}`)})
	if !b.get(id).Redacted {
		t.Error("the job does not say that something is hidden")
	}
	for _, path := range []string{"jobs", "jobs/" + id, "jobs/" + id + "/attempts", "schedules", "schedules/s", "flows/" + id} {
		if a := b.do("GET", "/api/v1/"+path, nil); strings.Contains(string(a.body), secret) {
			t.Errorf("%s shows it: %s", path, a.body)
		}
	}
}

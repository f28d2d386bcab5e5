package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// hostile are texts that break pages which take them for markup, or for less text than
// they are. Each holds the mark.
const mark = "Mk7"

var hostile = []string{
	`<script>alert("Mk7")</script>`,
	`"><img src=x onerror=alert(1)>Mk7`,
	`' onmouseover='alert(1)' Mk7`,
	`javascript:alert("Mk7")`,
	`{{.Title}}Mk7{{template "content"}}`,
	`</pre></textarea></title><h1>Mk7`,
	"line one\nline two\r\nMk7\x1b[2J\x07",
	"\u202egnirts desrever Mk7 \u2066\u2028",
	"ünïcödé 漢字 👩‍👩‍👧 Mk7",
	`..//%2e%2e/?a=b&c=d#Mk7%00`,
	strings.Repeat("very-long-", 11) + "Mk7",
	" Mk7 ",
	`\u003cb\u003eMk7`,
}

// suspicious is what a page must not hold: an element or attribute that the templates
// do not write.
var suspicious = regexp.MustCompile(`(?i)<script(?: src="/static/live\.js\?v=\w+" defer)?>|<img|<h1>Mk7|\son\w+\s*=|javascript:|style=`)

// harmless fails the test unless the page shows the text, and as nothing but text.
func (a answer) harmless(what, hostileText string) {
	a.Helper()
	if a.status >= http.StatusInternalServerError {
		a.Errorf("%s: status %d", what, a.status)
	}
	for _, found := range suspicious.FindAllString(elements(a.body), -1) {
		if !strings.HasPrefix(found, `<script src="/static/live.js`) {
			a.Errorf("%s %q: the page has %q", what, hostileText, found)
		}
	}
	for _, r := range inputs.ReplaceAllString(a.body, "") {
		if r != '\n' && hidden(r) && r != '\t' {
			a.Errorf("%s %q: the page has the character %q", what, hostileText, r)
			break
		}
	}
}

// elements are the tags of a page, with the values of attributes that hold data taken
// out.
func elements(body string) string {
	var out strings.Builder
	for _, tag := range tags.FindAllString(body, -1) {
		out.WriteString(data.ReplaceAllString(tag, `=""`))
	}
	return out.String()
}

// inputs hold data as it is, to be sent back.
var inputs = regexp.MustCompile(`<(?:input|option)[^>]*>`)

var data = regexp.MustCompile(`(?:href|value|title|aria-label|action|datetime|id)="[^"]*"`)

// links fails the test unless every address of the page stays on the dashboard.
func (a answer) links() {
	a.Helper()
	for _, part := range regexp.MustCompile(`(?:href|action|src)="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		if !strings.HasPrefix(part[1], "/") && !strings.HasPrefix(part[1], "#") || strings.HasPrefix(part[1], "//") {
			a.Errorf("the page leads to %q", part[1])
		}
	}
}

func cutTo(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }

func TestHostileTextIsText(t *testing.T) {
	for _, h := range hostile {
		b := newBench(t)
		ctx := t.Context()
		name, queue, id, key := cutTo(h, 128), cutTo(h, 128), cutTo(h, 500), cutTo(h, 255)
		payload, err := json.Marshal(map[string]string{h: h})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.client.Enqueue(ctx, name, payload, braid.Queue(queue), braid.ID(id), braid.Attempts(2),
			braid.Metadata(map[string]string{key: h}), braid.Dedupe(key)); err != nil {
			t.Fatalf("%q: %v", h, err)
		}
		b.fails(queue, name, h)
		if _, err := b.client.Schedule(ctx, key, name, braid.Every(time.Hour), payload, braid.Queue(queue), braid.Metadata(map[string]string{key: h})); err != nil {
			t.Fatalf("%q: %v", h, err)
		}
		now := driver.TimeOf(time.Now())
		if err := b.store.BeatWorker(ctx, now, driver.WorkerRecord{ID: id, Host: h, Version: h, Names: []string{name},
			Queues: []driver.WorkerQueue{{Name: queue, Slots: 1}}, Since: now, ExpiresAt: now + 60_000}); err != nil {
			t.Fatal(err)
		}
		if err := b.client.Pause(ctx, queue); err != nil {
			t.Fatal(err)
		}
		for what, page := range map[string]answer{
			"overview": b.get("/"), "queues": b.get("/queues"), "jobs": b.get("/jobs"), "job": b.get("/job", "id", id), "flow": b.get("/flow", "id", id),
			"schedules": b.get("/schedules"), "workers": b.get("/workers"),
			"filter": b.get("/jobs", "queue", queue, "name", name, "metadata", pair{key, h}.Filter(), "state", "failed", "order", "finished"),
		} {
			page.shows(mark)
			page.harmless(what, h)
			page.links()
		}
		if list := b.get("/jobs", "queue", queue, "name", name); strings.Count(list.body, `<th scope="row">`) != 1 {
			t.Errorf("%q: the filter finds %d jobs", h, strings.Count(list.body, `<th scope="row">`))
		}
		b.post("/queues/resume", "queue", queue, "next", "/queues").leads("resumed")
		b.post("/job/retry", "id", id, "next", "/job?"+url.Values{"id": {id}}.Encode()).leads("retried")
		b.post("/schedules/run", "key", key, "next", "/schedules").leads("run")
		b.post("/schedules/remove", "key", key, "next", "/schedules").leads("ended")
		b.post("/job/remove", "id", id, "next", "/jobs").leads("removed")
	}
}

// fails runs the one job of a queue, and fails it.
func (b *bench) fails(queue, name, message string) {
	b.Helper()
	for _, retry := range []bool{true, false} {
		jobs, err := b.client.Lease(b.Context(), braid.LeaseRequest{Queue: queue, Names: []string{name}, Worker: cutTo(message, 250)})
		if err != nil || len(jobs) != 1 {
			b.Fatalf("leased %d, %v", len(jobs), err)
		}
		none := time.Duration(0)
		settlement := braid.Settlement{ID: jobs[0].ID, Token: jobs[0].Token, Kind: braid.SettleFailed, Message: message, Type: message, Stack: message, NoRetry: !retry}
		if retry {
			settlement.Delay = &none
		}
		results, err := b.client.SettleLeases(b.Context(), settlement)
		if err != nil || results[0].Err != nil {
			b.Fatalf("settled %+v, %v", results, err)
		}
	}
}

func TestHostileAddressesAndFormsBreakNothing(t *testing.T) {
	b := newBench(t)
	for _, h := range append(hostile, "", "\x00", "\xff\xfe", strings.Repeat("x", 70_000)) {
		for path, parameters := range map[string][]string{
			"/":          {"store", h, "notice", h},
			"/queues":    {"notice", h},
			"/jobs":      {"queue", h, "name", h, "state", h, "order", h, "cursor", h, "metadata", h, h, h},
			"/job":       {"id", h, "store", h},
			"/flow":      {"id", h, "cursor", h},
			"/schedules": {h, h},
			"/workers":   {"store", h},
			"/nowhere":   {h, h},
		} {
			page := b.get(path, parameters...)
			page.harmless(path, h)
			page.links()
			single := b.get(path, parameters[len(parameters)-2:]...)
			single.harmless(path, h)
		}
		for _, path := range []string{"/queues/pause", "/job/retry", "/job/cancel", "/job/promote", "/job/remove", "/schedules/run", "/schedules/remove", "/login", "/logout"} {
			page := b.post(path, "id", h, "queue", h, "key", h, "token", h, "next", h)
			page.harmless(path, h)
			if to := page.header.Get("Location"); to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//")) {
				t.Errorf("%s with %q leads to %q", path, h, to)
			}
		}
	}
	broken := httptest.NewRequest(http.MethodPost, "/job/retry", strings.NewReader("%zz=%"))
	broken.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	b.do(broken).refused(http.StatusBadRequest, "The form cannot be read")
}

func TestFormsLeadNowhereElse(t *testing.T) {
	b := loaded(t)
	for next, want := range map[string]string{
		"/queues?store=default": "/queues", "": "/", "https://evil.example/": "/", "//evil.example/": "/", `/\evil.example`: "/", `\\evil.example`: "/",
		"javascript:alert(1)": "/", "/queues#x": "/queues", "queues": "/", "/%5cevil.example": "/", "http:/evil": "/", "///evil.example": "/", "/jobs?queue=a&notice=run": "/jobs",
	} {
		if got := b.post("/queues/pause", "queue", "email", "next", next).leads("paused"); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

func TestOtherSitesMayDoNothing(t *testing.T) {
	b := loaded(t)
	for name, header := range map[string][2]string{
		"a form of another site":      {"Sec-Fetch-Site", "cross-site"},
		"a form of a neighbour":       {"Sec-Fetch-Site", "same-site"},
		"one by an older browser":     {"Origin", "https://evil.example"},
		"one without an origin of it": {"Origin", "null"},
	} {
		r := form("/queues/pause", "queue", "email")
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set(header[0], header[1])
		b.do(r).refused(http.StatusForbidden, "another site")
		if name == "" || b.paused("email") {
			t.Errorf("%s paused a queue", name)
		}
	}
	// Nothing is changed by following a link.
	for _, path := range []string{"/queues/pause?queue=email", "/job/cancel?id=" + b.load.Waiting, "/schedules/remove?key=daily-sales", "/logout"} {
		if page := b.do(httptest.NewRequest(http.MethodGet, path, nil)); page.status != http.StatusNotFound && page.status != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: status %d", path, page.status)
		}
	}
	if b.paused("email") || b.state(b.load.Waiting) != braid.Waiting {
		t.Error("a link has changed something")
	}
}

func (b *bench) paused(queue string) bool {
	b.Helper()
	paused, err := b.client.PausedQueues(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range paused {
		if name == queue {
			return true
		}
	}
	return false
}

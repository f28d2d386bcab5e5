package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/braidmq/braid"
)

// filled is the path of an endpoint with all of its parts filled in.
func (e *endpoint) filled(part string) string {
	return pathPart.ReplaceAllString(e.path, url.PathEscape(part))
}

func TestEveryEndpointNeedsItsRole(t *testing.T) {
	var roles Roles
	known := true
	b := newBench(t, WithAuthorizer(func(*http.Request) (Roles, bool) { return roles, known }))
	for _, e := range endpoints {
		if e.role == NoRoles {
			continue
		}
		if mutates := e.method != http.MethodGet; mutates == (e.role == RoleRead) {
			t.Errorf("%s %s needs the role %v", e.method, e.path, e.role)
		}
		known, roles = true, AllRoles&^e.role
		b.do(e.method, e.filled("x"), nil).refused(http.StatusForbidden, CodeForbidden, "")
		known, roles = false, NoRoles
		a := b.do(e.method, e.filled("x"), nil)
		a.refused(http.StatusUnauthorized, CodeUnauthorized, "")
		if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s %s does not ask for a token", e.method, e.path)
		}
	}
	b.do("GET", "/api/v1/info", nil).refused(http.StatusUnauthorized, CodeUnauthorized, "")
	b.do("GET", "/api/v1/openapi.json", nil).ok(nil)
	known, roles = true, RoleWork
	var info Info
	b.do("GET", "/api/v1/info?store=other", nil).ok(&info)
	if info.Roles != "work" || info.Store != "other" || info.Kind != "memory" || len(info.Stores) != 2 {
		t.Errorf("info %+v", info)
	}
}

func TestPagesOfOtherSitesMayChangeNothing(t *testing.T) {
	b := newBench(t)
	for _, e := range endpoints {
		if e.method == http.MethodGet {
			continue
		}
		for _, header := range []http.Header{
			{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}},
		} {
			b.do(e.method, e.filled("x"), `{}`, func(r *http.Request) { r.Header = header }).refused(http.StatusForbidden, CodeForbidden, "")
		}
	}
	b.do("POST", "/api/v1/queues/a/pause", nil, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }).ok(nil)
}

func TestWhatIsNotServed(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/api/v1/", "/api/v1/nothing", "/api/v2/jobs", "/api/v1/jobs/a/b/c", "/"} {
		b.do("GET", path, nil).refused(http.StatusNotFound, CodeNotFound, "")
	}
	a := b.do("PATCH", "/api/v1/jobs", nil)
	a.refused(http.StatusMethodNotAllowed, CodeNotAllowed, "")
	if a.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("allow %q", a.header.Get("Allow"))
	}
	b.do("GET", "/api/v1/jobs/a/retry", nil).refused(http.StatusMethodNotAllowed, CodeNotAllowed, "")
}

// hostile are strings that have broken other programs.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'; DROP TABLE jobs; --`, `{{.}}`, `${7*7}`, `../../etc/passwd`, `..`, `.`,
	"\x00", "a\x00b", "\xff\xfe", "\u202e\u200b", "a\r\nSet-Cookie: x=1", "%00", "%2e%2e%2f", "🦊", strings.Repeat("x", 600), " ", "\t", "a/b//c", "*", "[", "{tag}", "null", "-1", "9223372036854775808",
}

func TestHostileTextIsJustText(t *testing.T) {
	b := newBench(t)
	for _, text := range hostile {
		for _, e := range endpoints {
			if e.reply == nil {
				continue
			}
			requests := []string{e.filled(text)}
			for _, p := range append(e.query, storeParam) {
				requests = append(requests, e.filled("x")+"?"+p.name+"="+url.QueryEscape(text), e.filled("x")+"?"+url.QueryEscape(p.name+"["+text+"]")+"="+url.QueryEscape(text))
			}
			requests = append(requests, e.filled("x")+"?"+url.QueryEscape(text)+"=1")
			for _, path := range requests {
				var body any
				if e.body != nil {
					body = hostileBody(e.path, text)
				}
				a := b.do(e.method, path, body) // which fails the test on an internal error, and on replies that are not as documented
				if a.status >= 500 {
					t.Errorf("%s %s: status %d", e.method, path, a.status)
				}
			}
		}
		if e := b.do("POST", "/api/v1/jobs", text); e.status != http.StatusBadRequest {
			t.Errorf("%q as a body: status %d", text, e.status)
		}
	}
}

// hostileBody has the text in each field that takes text.
func hostileBody(path, text string) any {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	options := JobOptions{Queue: text, Metadata: map[string]string{text: text}}
	switch strings.TrimPrefix(path, Prefix) {
	case "jobs":
		return EnqueueRequest{Jobs: []NewJob{
			{Name: text, ID: text, Payload: quoted, Dedupe: &Dedupe{Key: text}, JobOptions: options}, {Name: "a", Payload: quoted},
		}}
	case "schedules/{key}":
		return PutSchedule{JobName: text, Cron: text, Zone: text, Payload: quoted, JobOptions: options}
	case "work/claim":
		return ClaimRequest{Queue: text, Names: []string{text}, Worker: text}
	case "work/heartbeat":
		return Heartbeat{Locks: []Lock{{ID: text, Token: text}}}
	case "work/ack":
		return AckRequest{Acks: []Ack{{ID: text, Token: text, Outcome: text, Result: quoted, Error: &RunError{text, text, text}}}}
	case "jobs/cancel-by-key":
		return KeyRequest{Name: text, Key: text}
	}
	if len(text)%2 == 0 {
		return BatchRequest{IDs: []string{text}}
	}
	return BatchRequest{Filter: &Filter{Queue: text, Name: text, Metadata: map[string]string{text: text}}, Cursor: text}
}

func TestHostileJobsCanBeLookedAt(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"<b>", "a/../b", "..", ".", "a//b", "%2F", "ü 🦊", "a?b#c", `\"`} {
		if _, err := b.client.Enqueue(t.Context(), "a", nil, braid.ID(id)); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/api/v1/jobs/"+url.PathEscape(id), nil)
		r.URL.RawPath = strings.ReplaceAll("/api/v1/jobs/"+url.PathEscape(id), ".", "%2E")
		w := httptest.NewRecorder()
		b.api.ServeHTTP(w, r)
		var job Job
		if err := json.Unmarshal(w.Body.Bytes(), &job); err != nil || job.ID != id {
			t.Errorf("%q: status %d, %s", id, w.Code, w.Body)
		}
	}
}

package dashboard

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidmq/braid"
)

// login knows a token for those who look, and one for those who act.
func login(token string) Access {
	return Access{Read: token == "reader" || token == "operator", Operate: token == "operator"}
}

func withToken(r *http.Request, token string) *http.Request {
	r.AddCookie(&http.Cookie{Name: cookieName, Value: base64.RawURLEncoding.EncodeToString([]byte(token))})
	return r
}

func TestALoginOpensTheDashboard(t *testing.T) {
	b := loaded(t, WithLogin(login))
	page := b.get("/jobs", "state", "failed")
	page.refused(http.StatusUnauthorized, "Log in")
	if !strings.Contains(page.body, `name="next" value="/jobs?state=failed"`) || strings.Contains(page.body, "resize-image") || strings.Contains(page.body, "<nav") {
		t.Errorf("the page of the login is %s", page.body)
	}
	b.post("/login", "token", "wrong", "next", "/jobs?state=failed").refused(http.StatusUnauthorized, "That token does not let you look")
	in := b.post("/login", "token", "reader", "next", "/jobs?state=failed")
	if in.status != http.StatusSeeOther || in.header.Get("Location") != "/jobs?state=failed" {
		t.Fatalf("status %d to %q", in.status, in.header.Get("Location"))
	}
	cookie := in.header.Get("Set-Cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, "reader") || strings.Contains(cookie, "Secure") {
		t.Errorf("the cookie is %q", cookie)
	}
	behind := form("/login", "token", "reader")
	behind.Header.Set("X-Forwarded-Proto", "https")
	if cookie := b.do(behind).header.Get("Set-Cookie"); !strings.Contains(cookie, "Secure") {
		t.Errorf("behind a proxy the cookie is %q", cookie)
	}
	out := b.post("/logout")
	if out.status != http.StatusSeeOther || !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("the logout: %d, %v", out.status, out.header)
	}
	if token, ok := TokenOf(withToken(httptest.NewRequest(http.MethodGet, "/", nil), "reader")); !ok || token != "reader" {
		t.Errorf("the cookie holds %q", token)
	}
	newBench(t).post("/login", "token", "reader").refused(http.StatusNotFound, "nothing to log in to")
}

func TestReadersLookAndOperatorsAct(t *testing.T) {
	b := loaded(t, WithLogin(login))
	reader := b.do(withToken(httptest.NewRequest(http.MethodGet, "/job?id="+b.load.Failed, nil), "reader"))
	reader.shows("Log out", "resize-image", "Runs")
	if strings.Contains(reader.body, "Retry") || strings.Contains(reader.body, "Remove") {
		t.Error("a reader is offered what he may not do")
	}
	operator := b.do(withToken(httptest.NewRequest(http.MethodGet, "/job?id="+b.load.Failed, nil), "operator"))
	operator.shows("Retry", "Remove")
	for _, path := range []string{"/queues/pause", "/queues/resume", "/job/retry", "/job/cancel", "/job/promote", "/job/remove", "/schedules/run", "/schedules/remove"} {
		fields := []string{"id", b.load.Failed, "queue", "email", "key", "daily-sales"}
		b.do(withToken(form(path, fields...), "reader")).refused(http.StatusForbidden, "needs the role operate")
		b.do(form(path, fields...)).refused(http.StatusUnauthorized, "Log in")
	}
	if b.state(b.load.Failed) != braid.Failed || b.paused("email") {
		t.Error("somebody who may not has changed something")
	}
	b.do(withToken(form("/job/retry", "id", b.load.Failed), "operator")).leads("retried")
}

func TestAnAuthorizerDecides(t *testing.T) {
	access := Access{}
	b := loaded(t, WithAuthorizer(func(*http.Request) Access { return access }))
	b.get("/").refused(http.StatusForbidden, "You may not look at this")
	access.Read = true
	b.get("/").shows("Waiting")
	b.post("/queues/pause", "queue", "email").refused(http.StatusForbidden, "operate")
	access.Operate = true
	b.post("/queues/pause", "queue", "email").leads("paused")
}

func TestPagesAreLiveWhereThereAreEvents(t *testing.T) {
	if page := loaded(t).get("/"); strings.Contains(page.body, "data-events") {
		t.Error("a page follows a stream that is not there")
	}
	b := loaded(t, WithEvents("/api/v1/events"), WithLogin(login))
	page := b.do(withToken(httptest.NewRequest(http.MethodGet, "/?store=other", nil), "reader"))
	if !strings.Contains(page.body, `data-events="/api/v1/events?store=other"`) {
		t.Errorf("the page does not follow the stream of its store: %s", page.body)
	}
	if page := b.get("/"); strings.Contains(page.body, "data-events") {
		t.Error("the page of the login follows the stream")
	}
}

func TestAClientThatWasNotMadeIsAnError(t *testing.T) {
	h := New(nil)
	for _, path := range []string{"/", "/jobs", "/?store=a"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

func TestAPanicIsAPage(t *testing.T) {
	b := newBench(t)
	w := httptest.NewRecorder()
	b.handler.page(func(*call) (*page, error) { panic("boom") }).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "boom") || !strings.Contains(b.log.String(), "boom") {
		t.Errorf("status %d: %s\n%s", w.Code, w.Body, b.log)
	}
}

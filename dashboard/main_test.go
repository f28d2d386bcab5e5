package dashboard

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/internal/sampleload"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a dashboard on a memory store.
type bench struct {
	*testing.T
	store   *memstore.Store
	counted *faultstore.Store // store, with its calls counted
	client  *braid.Client
	handler *Handler
	load    sampleload.Load
	log     *strings.Builder
}

func newBench(t *testing.T, options ...Option) *bench {
	t.Helper()
	store, other := memstore.New(), memstore.New()
	log := &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	b := &bench{T: t, store: store, counted: faultstore.New(store), log: log}
	b.client = braid.NewClient(b.counted, braid.WithStore("other", other), braid.WithLogger(logger))
	b.handler = New(b.client, append([]Option{WithLogger(logger)}, options...)...)
	t.Cleanup(func() {
		b.client.Close()
		store.Close()
		other.Close()
	})
	return b
}

// loaded returns a bench whose store is full of jobs.
func loaded(t *testing.T, options ...Option) *bench {
	t.Helper()
	b := newBench(t, options...)
	var err error
	if b.load, err = sampleload.Fill(t.Context(), b.store, driver.TimeOf(time.Now()), 1); err != nil {
		t.Fatal(err)
	}
	return b
}

// answer is what a request was answered with.
type answer struct {
	*bench
	status int
	header http.Header
	body   string
}

func (b *bench) do(r *http.Request) answer {
	b.Helper()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	a := answer{b, w.Code, w.Result().Header, w.Body.String()}
	if a.status == http.StatusInternalServerError {
		b.Errorf("%s %s: %s\n%s", r.Method, r.URL, a.body, b.log)
	}
	if got := a.header.Get("Content-Security-Policy"); got != policy {
		b.Errorf("%s %s: the policy is %q", r.Method, r.URL, got)
	}
	return a
}

// get reads a page; parameters are names and values in turn.
func (b *bench) get(path string, parameters ...string) answer {
	b.Helper()
	return b.do(httptest.NewRequest(http.MethodGet, address(path, parameters), nil))
}

// post sends a form, as a page of the dashboard does.
func (b *bench) post(path string, fields ...string) answer {
	b.Helper()
	return b.do(form(path, fields...))
}

func form(path string, fields ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(values(fields).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

func address(path string, parameters []string) string {
	if len(parameters) == 0 {
		return path
	}
	return path + "?" + values(parameters).Encode()
}

func values(pairs []string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

// shows fails the test unless the page was served and shows all of these, in order.
func (a answer) shows(want ...string) {
	a.Helper()
	if a.status != http.StatusOK {
		a.Fatalf("status %d: %s", a.status, a.body)
	}
	a.has(want...)
}

func (a answer) has(want ...string) {
	a.Helper()
	rest := text(a.body)
	for _, w := range want {
		_, behind, ok := strings.Cut(rest, w)
		if !ok {
			a.Fatalf("there is no %q in what follows of\n%s", w, rest)
		}
		rest = behind
	}
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// text is what a reader sees of a page, words apart by one space.
func text(body string) string {
	plain := tags.ReplaceAllString(body, " ")
	for escape, char := range map[string]string{"&lt;": "<", "&gt;": ">", "&#34;": `"`, "&#39;": "'", "&#43;": "+"} {
		plain = strings.ReplaceAll(plain, escape, char)
	}
	return spaces.ReplaceAllString(strings.ReplaceAll(plain, "&amp;", "&"), " ")
}

// leads fails the test unless the answer leads to a page with that notice, and returns
// where.
func (a answer) leads(notice string) string {
	a.Helper()
	location := a.header.Get("Location")
	parsed, err := url.Parse(location)
	if a.status != http.StatusSeeOther || err != nil || parsed.Query().Get("notice") != notice {
		a.Fatalf("status %d, to %q; want a way to a page with the notice %s\n%s", a.status, location, notice, text(a.body))
	}
	return parsed.Path
}

// refused fails the test unless the request was refused in this way.
func (a answer) refused(status int, want ...string) {
	a.Helper()
	if a.status != status {
		a.Fatalf("status %d, want %d: %s", a.status, status, text(a.body))
	}
	a.has(want...)
}

func (b *bench) state(id string) braid.State {
	b.Helper()
	job, err := b.client.Get(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return job.State
}

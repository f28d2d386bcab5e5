package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(everyEndpoint{m}) }

// everyEndpoint fails a whole run of the tests in which an endpoint never succeeded:
// then nothing has held its reply against the document.
type everyEndpoint struct{ tests *testing.M }

func (e everyEndpoint) Run() int {
	code := e.tests.Run()
	if code != 0 || flag.Lookup("test.run").Value.String() != "" {
		return code
	}
	for _, endpoint := range endpoints {
		if _, ok := succeeded.Load(endpoint.method + " " + endpoint.path); !ok && endpoint.reply != nil {
			fmt.Printf("no test has had a success of %s %s\n", endpoint.method, endpoint.path)
			code = 1
		}
	}
	return code
}

// succeeded holds the patterns of the endpoints that have answered with a success.
var succeeded sync.Map

// bench is an API on a memory store. Every reply that it sees must fit the document.
type bench struct {
	*testing.T
	client *braid.Client
	store  *memstore.Store
	api    *Handler
	doc    *openDocument
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newBench(t *testing.T, options ...Option) *bench {
	t.Helper()
	store, other := memstore.New(), memstore.New()
	log := &lockedBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	b := &bench{T: t, client: braid.NewClient(store, braid.WithStore("other", other), braid.WithLogger(logger)),
		store: store, doc: readDocument(t), log: log}
	b.api = New(b.client, append([]Option{WithLogger(logger), WithPollInterval(5 * time.Millisecond)}, options...)...)
	t.Cleanup(func() {
		b.client.Close()
		store.Close()
		other.Close()
	})
	return b
}

// answer is what a request was answered with.
type answer struct {
	*bench
	status int
	header http.Header
	body   []byte
}

// do makes a request. A body that is not a string is sent as JSON.
func (b *bench) do(method, path string, body any, change ...func(*http.Request)) answer {
	b.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	default:
		encoded, err := json.Marshal(body)
		if err != nil {
			b.Fatal(err)
		}
		reader = bytes.NewReader(encoded)
	}
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, path, reader)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	b.api.ServeHTTP(w, r)
	a := answer{b, w.Code, w.Result().Header, w.Body.Bytes()}
	a.fits(r)
	return a
}

// fits holds the reply against the document.
func (a answer) fits(r *http.Request) {
	a.Helper()
	if a.status == http.StatusInternalServerError {
		a.Errorf("%s %s: %s\n%s", r.Method, r.URL, a.body, a.log)
	}
	_, pattern := a.api.mux.Handler(r)
	schema := "ErrorReply"
	if a.status < 300 {
		method, path, _ := strings.Cut(pattern, " ")
		var documented bool
		if schema, documented = a.doc.reply(method, path); !documented {
			a.Errorf("%s is not in the document", pattern)
		}
		succeeded.Store(pattern, true)
	}
	if schema == "" {
		return
	}
	for _, problem := range a.doc.check(schema, a.body) {
		a.Errorf("%s %s: the reply is not as documented: %s\n%s", r.Method, r.URL, problem, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		a.Errorf("%s %s: the reply is sent as %q", r.Method, r.URL, got)
	}
}

// ok fails the test unless the request succeeded, and decodes the reply.
func (a answer) ok(into any) {
	a.Helper()
	if a.status != http.StatusOK {
		a.Fatalf("status %d: %s", a.status, a.body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		a.Fatalf("%v: %s", err, a.body)
	}
}

// refused fails the test unless the request was refused in this way.
func (a answer) refused(status int, code Code, field string) Error {
	a.Helper()
	var reply ErrorReply
	if err := json.Unmarshal(a.body, &reply); err != nil || reply.Error == nil || a.status != status || reply.Error.Code != code || reply.Error.Field != field {
		a.Fatalf("status %d, %s; want %d, %s, field %q", a.status, a.body, status, code, field)
	}
	return *reply.Error
}

func (b *bench) enqueue(jobs ...NewJob) []Enqueued {
	b.Helper()
	var reply EnqueueReply
	b.do("POST", "/api/v1/jobs", EnqueueRequest{Jobs: jobs}).ok(&reply)
	return reply.Results
}

func (b *bench) get(id string) Job {
	b.Helper()
	var job Job
	b.do("GET", "/api/v1/jobs/"+url.PathEscape(id), nil).ok(&job)
	return job
}

func (b *bench) claim(request ClaimRequest) []ClaimedJob {
	b.Helper()
	request.Worker = "tester"
	var reply Claimed
	b.do("POST", "/api/v1/work/claim", request).ok(&reply)
	return reply.Jobs
}

func (b *bench) ack(acks ...Ack) []BatchResult {
	b.Helper()
	var reply AckReply
	b.do("POST", "/api/v1/work/ack", AckRequest{acks}).ok(&reply)
	return reply.Results
}

// failed makes a job that has failed.
func (b *bench) failed(name string) string {
	b.Helper()
	id := b.enqueue(NewJob{Name: name, JobOptions: JobOptions{Queue: "failing"}})[0].ID
	job := b.claim(ClaimRequest{Queue: "failing", Names: []string{name}})[0]
	b.ack(Ack{ID: id, Token: job.Token, Outcome: "failed", NoRetry: true, Error: &RunError{Message: "no luck", Type: "Oops", Stack: "line 1"}})
	return id
}

func pointer[T any](v T) *T { return &v }

func ids(n int, prefix string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(prefix, i)
	}
	return all
}

package server

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving is a server that runs until the test ends.
type serving struct {
	*testing.T
	*Server
	http *http.Client
	stop func() error
}

func serve(t *testing.T, change ...func(*Config)) *serving {
	t.Helper()
	store := memstore.New()
	config := Config{Store: store, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), Version: "test"}
	for _, c := range change {
		c(&config)
	}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ended := false
	transport := &http.Transport{}
	v := &serving{T: t, Server: s, http: &http.Client{Transport: transport}}
	v.stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(20 * time.Second):
			return errors.New("the server does not stop")
		}
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := v.stop(); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return v
}

func (v *serving) request(method, path, body string, change ...func(*http.Request)) (int, string, http.Header) {
	r, err := http.NewRequestWithContext(v.Context(), method, "http://"+v.Address()+path, strings.NewReader(body))
	if err != nil {
		v.Error(err)
		return 0, "", nil
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	response, err := v.http.Do(r)
	if err != nil {
		v.Error(err)
		return 0, "", nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		v.Error(err)
	}
	return response.StatusCode, string(text), response.Header
}

func TestAServerServes(t *testing.T) {
	other := memstore.New()
	defer other.Close()
	v := serve(t, func(c *Config) { c.Named = map[string]driver.Store{"other": other} })
	for path, want := range map[string]string{
		"/healthz": "ok\n", "/readyz": "ready\n", "/api/v1/info": `"stores":["default","other"]`, "/": "<title>Overview",
	} {
		if status, text, _ := v.request("GET", path, ""); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text, _ := v.request("GET", "/api/v1/jobs//retry", ""); status != http.StatusNotFound {
		t.Errorf("an unclean path: %d %s", status, text)
	}
}

func TestAServerKeepsHouse(t *testing.T) {
	v := serve(t, func(c *Config) { c.Keeper.SweepInterval = 100 * time.Millisecond })
	v.request("POST", "/api/v1/jobs", `{"jobs":[{"name":"a"}]}`)
	v.request("POST", "/api/v1/work/claim", `{"names":["a"],"worker":"dead","lockMs":100}`)
	status, text, _ := v.request("POST", "/api/v1/work/claim", `{"names":["a"],"worker":"alive","waitMs":15000}`)
	if status != http.StatusOK || !strings.Contains(text, `"stalledCount":1`) {
		t.Errorf("%d %s", status, text)
	}
}

func TestTheServerMeasures(t *testing.T) {
	v := serve(t)
	v.request("POST", "/api/v1/jobs", `{"jobs":[{"name":"a\"b\\c\n","queue":"q","delayMs":60000},{"name":"run"}]}`)
	_, claimed, _ := v.request("POST", "/api/v1/work/claim", `{"names":["run"],"worker":"w"}`)
	_, token, _ := strings.Cut(claimed, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	v.request("POST", "/api/v1/work/ack", `{"acks":[{"id":"j-2","token":"`+token+`","outcome":"completed"}]}`)
	status, text, header := v.request("GET", "/metrics", "")
	if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", status, header)
	}
	for _, line := range []string{
		`braid_jobs_enqueued_total{duplicate="false",job="a\"b\\c\n",queue="q",store="default"} 1`,
		"# TYPE braid_jobs_enqueued_total counter",
		`braid_queue_depth{queue="q",state="delayed",store="default"} 1`,
		`braid_runs_total{job="run",outcome="completed",queue="default",store="default"} 1`,
		`braid_run_duration_seconds_bucket{job="run",outcome="completed",queue="default",store="default",le="+Inf"} 1`,
		`braid_run_duration_seconds_count{job="run",outcome="completed",queue="default",store="default"} 1`,
		`braid_outbox_backlog{store="default"} 0`,
		`braid_scrape_complete 1`, `braid_build_info{version="test",go="`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		series := line[:strings.LastIndexByte(line, ' ')]
		if seen[series] && !strings.HasPrefix(line, "#") {
			t.Errorf("twice: %s", series)
		}
		seen[series] = true
	}
}

func TestJobsJoinTheCallersTrace(t *testing.T) {
	v := serve(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	v.request("POST", "/api/v1/jobs", `{"jobs":[{"name":"a"}]}`, func(r *http.Request) { r.Header.Set("Traceparent", parent) })
	if _, text, _ := v.request("GET", "/api/v1/jobs/j-1", ""); !strings.Contains(text, `"traceparent":"`+parent+`"`) {
		t.Errorf("%s", text)
	}
}

func TestNothingButLoopbackWithoutTokens(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		_, err := New(Config{Store: store, Listen: address})
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "no tokens") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := New(Config{Store: store, Listen: "nonsense"}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("nonsense: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if _, err := New(Config{Store: store, Listen: listener.Addr().String()}); err == nil {
		t.Error("a port that is taken")
	}
	tokens, err := parseTokens(strings.NewReader("0123456789abcdef read"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Store: store, Listen: "0.0.0.0:0", Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(s.Address(), "0.0.0.0:") {
		t.Errorf("it listens on %s", s.Address())
	}
	s.listener.Close()
	s.client.Close()
}

func TestOtherNamesLeadNowhere(t *testing.T) {
	v := serve(t)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "app.localhost": 200, "127.0.0.1:1": 200, "[::1]:80": 200, "LOCALHOST.": 200,
		"evil.example": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:80": 421, "192.168.0.1": 421,
	} {
		if status, text, _ := v.request("GET", "/api/v1/info", "", func(r *http.Request) { r.Host = host }); status != want {
			t.Errorf("%s: %d %s", host, status, text)
		}
	}
}

func TestTokensOpenWhatTheirRolesAllow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	content := "# who looks\n\nreader-0123456789 read\noperator-0123456789 read,operate\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := ReadTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	v := serve(t, func(c *Config) {
		c.Tokens = tokens
	})
	nobody := func(*http.Request) {}
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	basic := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth("anybody", token) }
	}
	cookie := func(token string) func(*http.Request) {
		return func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: "braid_token", Value: base64.RawURLEncoding.EncodeToString([]byte(token))})
		}
	}
	for _, test := range []struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		{"GET", "/api/v1/jobs", bearer("reader-0123456789"), 200},
		{"GET", "/api/v1/jobs", basic("reader-0123456789"), 200},
		{"GET", "/api/v1/jobs", bearer("reader-012345678"), 401},
		{"GET", "/api/v1/jobs", bearer(""), 401},
		{"GET", "/api/v1/jobs", nobody, 401},
		{"POST", "/api/v1/queues/q/pause", bearer("reader-0123456789"), 403},
		{"POST", "/api/v1/queues/q/pause", bearer("operator-0123456789"), 200},
		{"GET", "/metrics", bearer("reader-0123456789"), 200},
		{"GET", "/metrics", nobody, 401},
		{"GET", "/", nobody, 401},
		{"GET", "/", basic("operator-0123456789"), 200},
		{"GET", "/jobs", bearer("reader-0123456789"), 200},
		{"GET", "/jobs", cookie("reader-0123456789"), 200},
		{"GET", "/jobs", cookie("nobody-0123456789"), 401},
		{"GET", "/api/v1/jobs", cookie("reader-0123456789"), 200},
		{"POST", "/api/v1/queues/q/pause", cookie("operator-0123456789"), 401},
		{"GET", "/static/style.css", nobody, 200},
		{"GET", "/healthz", nobody, 200},
		{"GET", "/readyz", nobody, 200},
		{"GET", "/api/v1/info", func(r *http.Request) { r.Host = "braid.example"; basic("reader-0123456789")(r) }, 200},
	} {
		if status, text, _ := v.request(test.method, test.path, "", test.change); status != test.want {
			t.Errorf("%s %s: %d, want %d: %s", test.method, test.path, status, test.want, text)
		}
	}
	if _, text, _ := v.request("GET", "/", ""); !strings.Contains(text, `name="token"`) {
		t.Errorf("a browser is not asked for a token: %s", text)
	}
	if _, _, header := v.request("GET", "/metrics", ""); !strings.HasPrefix(header.Get("WWW-Authenticate"), "Basic") {
		t.Errorf("a scraper is not asked for a token: %v", header)
	}
}

func TestTokenFilesAreChecked(t *testing.T) {
	for content, want := range map[string]string{
		"":                               "there is no token",
		"secret-token-123":               "line 1 is not a token and its roles",
		"\nshort read":                   "the token of line 2 is too short",
		"secret-token-123 read,rule":     `line 1: braid: invalid role "rule"`,
		"secret-token-123 read more":     "line 1 is not",
		"secret-token-\xff\xfe\xfd read": "the token of line 1 is not valid UTF-8",
		"a-secret-token-1 read\na-secret-token-1 work": "the token of line 2 is there twice",
	} {
		_, err := parseTokens(strings.NewReader(content))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := ReadTokens(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestAServerStopsInGoodOrder(t *testing.T) {
	v := serve(t)
	// Two requests that would wait for a minute, and for ever.
	waiting, streaming := make(chan int, 1), make(chan int, 1)
	go func() {
		status, _, _ := v.request("POST", "/api/v1/work/claim", `{"names":["a"],"worker":"w","waitMs":60000}`)
		waiting <- status
	}()
	go func() {
		status, _, _ := v.request("GET", "/api/v1/events", "")
		streaming <- status
	}()
	for deadline := time.Now().Add(10 * time.Second); v.underWay.Load() < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	if err := v.stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > stopPatience/2 {
		t.Errorf("it took %v", took)
	}
	for name, status := range map[string]chan int{"the claim": waiting, "the stream": streaming} {
		if got := <-status; got != http.StatusOK {
			t.Errorf("%s ended with %d", name, got)
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	v := serve(t)
	for path, allow := range map[string]string{
		"/": "GET, HEAD, POST", "/jobs": "GET, HEAD, POST", "/healthz": "GET, HEAD", "/readyz": "GET, HEAD", "/metrics": "GET, HEAD", "/api/v1/queues": "GET, HEAD",
	} {
		for _, method := range []string{"PUT", "DELETE", "OPTIONS", "TRACE"} {
			status, text, header := v.request(method, path, "")
			if status != http.StatusMethodNotAllowed || header.Get("Allow") != allow || strings.Contains(text, "<") {
				t.Errorf("%s %s: %d, allow %q: %s", method, path, status, header.Get("Allow"), text)
			}
		}
	}
	if status, text, _ := v.request("POST", "/healthz", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("POST /healthz: %d %s", status, text)
	}
	if status, _, _ := v.request("HEAD", "/healthz", ""); status != http.StatusOK {
		t.Errorf("HEAD /healthz: %d", status)
	}
}

// TestAServerDoesNotStopForSlowClients has some that send half a body, and some that do
// not read what they have asked for.
func TestAServerDoesNotStopForSlowClients(t *testing.T) {
	v := serve(t)
	v.request("POST", "/api/v1/jobs", `{"jobs":[{"name":"a","id":"long","payload":"`+strings.Repeat("x", 16<<20)+`"}]}`)
	const half = "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	const unread = "GET /api/v1/jobs/long HTTP/1.1\r\nHost: localhost\r\n\r\n"
	const page = "GET /job?id=long HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, request := range []string{half, half, unread, unread, page} {
		conn, err := net.Dial("tcp", v.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); v.underWay.Load() < 4; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests are under way", v.underWay.Load())
		}
	}
	began := time.Now()
	if err := v.stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAStoreThatIsGoneIsNotReady(t *testing.T) {
	store := memstore.New()
	v := serve(t, func(c *Config) { c.Named = map[string]driver.Store{"gone": store} })
	store.Close()
	status, text, _ := v.request("GET", "/readyz", "")
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "store gone: cannot be reached") {
		t.Errorf("%d %s", status, text)
	}
	if status, text, _ := v.request("GET", "/metrics", ""); status != http.StatusOK || !strings.Contains(text, "braid_scrape_complete 0") {
		t.Errorf("metrics: %d %s", status, text)
	}
	if status, text, _ := v.request("GET", "/api/v1/jobs?store=gone", ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "unavailable") {
		t.Errorf("the API: %d %s", status, text)
	}
}

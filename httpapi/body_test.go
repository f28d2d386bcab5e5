package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// upload begins to send a body of so many bytes, and sends a part of it.
func upload(t *testing.T, server *httptest.Server, length int, part string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := fmt.Fprintf(conn, "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, part); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answered reads the answer to what was sent over a connection.
func answered(t *testing.T, conn net.Conn) (reply, Error) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var failure ErrorReply
	if err := json.NewDecoder(response.Body).Decode(&failure); err != nil {
		t.Fatal(err)
	}
	got := reply{response.StatusCode, response.Header, response.Close}
	if failure.Error == nil {
		return got, Error{}
	}
	return got, *failure.Error
}

// reply is what came before the body of an answer.
type reply struct {
	StatusCode int
	Header     http.Header
	Close      bool // the connection is not kept
}

// holding waits until requests hold so much of the budget.
func (b *bench) holding(n int64) {
	b.Helper()
	for deadline := time.Now().Add(10 * time.Second); b.api.limits.HeldBytes-b.api.budget.left.Load() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("%d bytes are held, want %d", b.api.limits.HeldBytes-b.api.budget.left.Load(), n)
		}
	}
}

func TestLongBodiesShareABudget(t *testing.T) {
	b := newBench(t, WithLimits(Limits{BodyBytes: 1 << 20, HeldBytes: 1 << 20}))
	server := httptest.NewServer(b.api)
	defer server.Close()
	const begin = `{"jobs":[{"name":"a","payload":"`
	long := begin + strings.Repeat("x", 700<<10)
	stalled := upload(t, server, len(long)+4, long)
	b.holding(counted(int64(len(long) + 5)))
	// There is no room for another long one, and room for short ones.
	refused := upload(t, server, len(long)+4, long)
	response, e := answered(t, refused)
	if response.StatusCode != http.StatusServiceUnavailable || e.Code != CodeUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("the second long body: %d %+v", response.StatusCode, e)
	}
	b.enqueue(NewJob{Name: "short", Payload: json.RawMessage(`"` + strings.Repeat("y", 50<<10) + `"`)})
	// What was told, and has not come, takes nothing.
	upload(t, server, 1<<20, begin).Close()
	if _, err := fmt.Fprint(stalled, `"}]}`); err != nil {
		t.Fatal(err)
	}
	if response, e := answered(t, stalled); response.StatusCode != http.StatusOK {
		t.Errorf("the first long body: %d %+v", response.StatusCode, e)
	}
	b.holding(0)
	again := upload(t, server, len(long)+4, long+`"}]}`)
	if response, e := answered(t, again); response.StatusCode != http.StatusOK {
		t.Errorf("once there is room: %d %+v", response.StatusCode, e)
	}
}

func TestLongRepliesShareTheBudget(t *testing.T) {
	b := newBench(t, WithLimits(Limits{HeldBytes: 1 << 20}))
	b.enqueue(NewJob{Name: "a", ID: "long", Payload: json.RawMessage(`"` + strings.Repeat("x", 900<<10) + `"`)})
	b.holding(0)
	b.do("GET", "/api/v1/jobs", nil).ok(nil)
	b.api.budget.force(500 << 10)
	for _, path := range []string{"jobs", "jobs/long"} {
		a := b.do("GET", "/api/v1/"+path, nil)
		a.refused(http.StatusServiceUnavailable, CodeUnavailable, "")
	}
	// What has been done is told, however little is left.
	if jobs := b.claim(ClaimRequest{Names: []string{"a"}}); len(jobs) != 1 {
		t.Errorf("claimed %d", len(jobs))
	}
	b.holding(500 << 10)
}

func TestReadsTakeTurns(t *testing.T) {
	b := newBench(t, WithLimits(Limits{Reads: 1}))
	b.api.reads <- struct{}{} // somebody reads
	done := make(chan int, 1)
	go func() { done <- b.do("GET", "/api/v1/jobs", nil).status }()
	b.do("GET", "/api/v1/queues", nil).ok(nil) // which is no heavy request
	select {
	case status := <-done:
		t.Fatalf("the second was served beside the first: %d", status)
	default:
	}
	<-b.api.reads
	if status := <-done; status != http.StatusOK {
		t.Errorf("in its turn: %d", status)
	}
}

func TestABodyThatDoesNotComeIsATimeout(t *testing.T) {
	b := newBench(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.api.ServeHTTP(impatient{w}, r)
	}))
	defer server.Close()
	response, e := answered(t, upload(t, server, 100, `{"jobs":`))
	if response.StatusCode != http.StatusRequestTimeout || e.Code != CodeTimeout || strings.Contains(e.Message, "127.0.0.1") || strings.Contains(e.Message, "tcp") {
		t.Errorf("%d %+v", response.StatusCode, e)
	}
	if !response.Close {
		t.Error("the connection is kept, with a part of a body in it")
	}
}

// impatient is a writer whose deadlines come at once.
type impatient struct{ http.ResponseWriter }

func (w impatient) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		at = time.Now().Add(50 * time.Millisecond)
	}
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(at)
}

func TestABodyThatBreaksOffTellsNoAddresses(t *testing.T) {
	b := newBench(t)
	server := httptest.NewServer(b.api)
	defer server.Close()
	conn := upload(t, server, 100, `{"jobs":`)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, e := answered(t, conn)
	if response.StatusCode != http.StatusBadRequest || e.Code != CodeInvalid || !strings.Contains(e.Message, "broke off") || strings.Contains(e.Message, "127.0.0.1") {
		t.Errorf("%d %+v", response.StatusCode, e)
	}
}

func TestACompressedBodyIsRefused(t *testing.T) {
	b := newBench(t)
	for _, encoding := range []string{"gzip", "br", "x, y"} {
		e := b.do("POST", "/api/v1/jobs", `{"jobs":[{"name":"a"}]}`, func(r *http.Request) { r.Header.Set("Content-Encoding", encoding) }).
			refused(http.StatusUnsupportedMediaType, CodeMediaType, "")
		if !strings.Contains(e.Message, encoding) {
			t.Error(e.Message)
		}
	}
	b.do("POST", "/api/v1/jobs", `{"jobs":[{"name":"a"}]}`, func(r *http.Request) { r.Header.Set("Content-Encoding", "identity") }).ok(nil)
}

func TestADrainedServerDoesNotWaitForSlowCallers(t *testing.T) {
	b := newBench(t)
	b.enqueue(NewJob{Name: "a", ID: "long", Payload: json.RawMessage(`"` + strings.Repeat("x", 16<<20) + `"`)})
	held := counted(int64(len(b.do("GET", "/api/v1/jobs/long", nil).body)))
	var underWay counter
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		underWay.add(1)
		defer underWay.add(-1)
		b.api.ServeHTTP(w, r)
	}))
	defer server.Close()
	sender := upload(t, server, 100, `{"jobs":`)
	reader, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := fmt.Fprint(reader, "GET /api/v1/jobs/long HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	b.holding(held) // the reply has begun, and nobody reads it
	underWay.await(t, 2)
	began := time.Now()
	b.api.Drain()
	response, e := answered(t, sender)
	if response.StatusCode != http.StatusServiceUnavailable || e.Code != CodeUnavailable {
		t.Errorf("the sender got %d %+v", response.StatusCode, e)
	}
	underWay.await(t, 0)
	if took := time.Since(began); took > drainPatience+3*time.Second {
		t.Errorf("it took %v", took)
	}
}

// counter counts requests that are under way.
type counter struct{ n atomic.Int64 }

func (c *counter) add(n int64) { c.n.Add(n) }

func (c *counter) await(t *testing.T, n int64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); c.n.Load() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests are under way, want %d", c.n.Load(), n)
		}
	}
}

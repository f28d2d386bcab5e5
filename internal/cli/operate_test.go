package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid/httpapi"
)

// runServerHere runs braid server in this process until the test ends, and points the
// other commands at it.
func runServerHere(t *testing.T, args ...string) (url string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // its default store
	ctx, stop := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, append([]string{"server", "--listen", "127.0.0.1:0"}, args...), writer, io.Discard)
		writer.Close()
	}()
	line := make([]byte, 200)
	n, err := reader.Read(line)
	if err != nil {
		t.Fatalf("the server did not start: exit code %d", <-done)
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	t.Cleanup(func() {
		stop()
		select {
		case code := <-done:
			if code != exitOK {
				t.Errorf("the server ended with %d", code)
			}
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
		http.DefaultClient.CloseIdleConnections()
	})
	url = strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "braid server listens on "))
	t.Setenv(storeVariable, url)
	t.Setenv(tokenVariable, "")
	return url
}

// good runs a command that must succeed, and returns what it prints.
func good(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := run(t, t.Context(), args...)
	if code != exitOK {
		t.Fatalf("braid %s: exit code %d\n%s\n%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

func TestCommandsLookAndOperate(t *testing.T) {
	runServerHere(t)
	if got := good(t, "enqueue", "mail", `{"to":"ann"}`, "--id", "m1", "--queue", "mail", "--metadata", "tenant=acme", "--delay", "1h", "--attempts", "3", "--timeout", "0s"); got != "m1\n" {
		t.Errorf("enqueue: %q", got)
	}
	code, stdout, stderr := run(t, t.Context(), "enqueue", "mail", "--id", "m1")
	if code != exitOK || stdout != "m1\n" || !strings.Contains(stderr, "duplicate") {
		t.Errorf("a duplicate: %d %q %q", code, stdout, stderr)
	}
	good(t, "enqueue", "mail", "--dedupe-key", "k", "--dedupe-window", "1m", "--at", "2030-01-01T00:00:00Z")
	good(t, "enqueue", "plain")

	if got := good(t, "jobs", "list", "--metadata", "tenant=acme"); !strings.Contains(got, "m1  mail  mail   delayed  0/3") || strings.Count(got, "\n") != 2 {
		t.Errorf("list:\n%s", got)
	}
	var page httpapi.JobPage
	if err := json.Unmarshal([]byte(good(t, "jobs", "list", "--json", "--limit", "1", "--all", "--ascending")), &page); err != nil || len(page.Jobs) != 3 || page.Jobs[0].ID != "m1" {
		t.Errorf("list --all: %+v, %v", page, err)
	}
	if _, stdout, stderr := run(t, t.Context(), "jobs", "list", "--limit", "1"); strings.Count(stdout, "\n") != 2 || !strings.HasPrefix(stderr, "more: --cursor ") {
		t.Errorf("a page: %q, %q", stdout, stderr)
	}
	got := good(t, "jobs", "get", "m1")
	for _, want := range []string{"id         m1\n", "attempts   0 of 3\n", "metadata   tenant=acme\n", `payload    {"to":"ann"}` + "\n", "why        It is not due before "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := good(t, "jobs", "promote", "m1"); got != "m1: waiting\n" {
		t.Errorf("promote: %q", got)
	}
	good(t, "queues", "pause", "mail", "other")
	if got := good(t, "queues"); !strings.Contains(got, "mail           1        0       0         0          0       0          0  paused\n") {
		t.Errorf("queues:\n%s", got)
	}
	if got := good(t, "why", "m1"); !strings.Contains(got, `Its queue "mail" is paused`) {
		t.Errorf("why: %s", got)
	}
	if got := good(t, "queues", "resume", "mail", "other"); !strings.HasPrefix(got, "mail: runs, 1 waiting\n") {
		t.Errorf("resume: %s", got)
	}
	code, stdout, stderr = run(t, t.Context(), "jobs", "cancel", "m1", "none")
	if code != exitFailure || stdout != "m1: cancelled\n" || !strings.Contains(stderr, "none: not found") || !strings.Contains(stderr, "1 of 2 jobs") {
		t.Errorf("cancel: %d %q %q", code, stdout, stderr)
	}
	if got := good(t, "jobs", "remove", "--state", "cancelled", "--dry-run"); got != "remove: 1 job selected, 1 would be changed\n" {
		t.Errorf("dry run: %q", got)
	}
	if got := good(t, "jobs", "remove", "--state", "cancelled"); got != "remove: 1 job selected, 1 changed\n" {
		t.Errorf("remove: %q", got)
	}
	if got := good(t, "top"); !strings.Contains(got, "QUEUE") || !strings.Contains(got, "default") {
		t.Errorf("top: %s", got)
	}
	if got := good(t, "workers"); got != "no worker is alive\n" {
		t.Errorf("workers: %s", got)
	}
	if got := good(t, "doctor"); !strings.Contains(got, "ok    clock") {
		t.Errorf("doctor: %s", got)
	}
}

func TestCommandsKeepSchedules(t *testing.T) {
	runServerHere(t)
	file := filepath.Join(t.TempDir(), "payload.json")
	if err := os.WriteFile(file, []byte(" [1,2]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good(t, "schedules", "put", "daily", "--job", "report", "--cron", "0 9 * * *", "--zone", "Europe/Berlin", "--payload", "@"+file, "--skip-overlap", "--metadata", "k=v")
	good(t, "schedules", "put", "often", "--job", "poll", "--every", "90s", "--queue", "polls")
	got := good(t, "schedules")
	if !strings.Contains(got, "0 9 * * * Europe/Berlin") || !strings.Contains(got, "every 1m30s") {
		t.Errorf("schedules:\n%s", got)
	}
	if got := good(t, "schedules", "--queue", "polls"); strings.Contains(got, "daily") {
		t.Errorf("of a queue:\n%s", got)
	}
	id := strings.TrimSpace(good(t, "schedules", "run", "daily"))
	if got := good(t, "jobs", "get", id, "--json"); !strings.Contains(got, `"k": "v"`) {
		t.Errorf("the run: %s", got)
	}
	good(t, "schedules", "remove", "daily")
	if code, _, stderr := run(t, t.Context(), "schedules", "remove", "daily"); code != exitFailure || !strings.Contains(stderr, "no schedule") {
		t.Errorf("remove again: %d %s", code, stderr)
	}
}

func TestASickStoreIsTold(t *testing.T) {
	url := runServerHere(t, "--sweep-interval", "1h")
	good(t, "enqueue", "a")
	response, err := http.Post(url+"/api/v1/work/claim", "application/json", strings.NewReader(`{"names":["a"],"worker":"dead","lockMs":100}`))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	response.Body.Close()
	d := &doctor{now: time.Now().Add(time.Hour)}
	if err := (&target{}).withContext(t, func(s *session) error { d.session = s; return d.locks() }); err != nil {
		t.Fatal(err)
	}
	if d.bad != 1 || !strings.Contains(d.findings[0].Text, "1 job has lost its worker for more than") {
		t.Errorf("findings %+v", d.findings)
	}
	good(t, "enqueue", "b", "--queue", "q")
	good(t, "enqueue", "b", "--queue", "q", "--delay", "1s")
	q := httpapi.Queue{Name: "q"}
	q.Counts.Waiting, q.Counts.Delayed = 1, 1
	d.findings = nil
	if err := (&target{}).withContext(t, func(s *session) error { d.session = s; return d.queue(q) }); err != nil {
		t.Fatal(err)
	}
	if len(d.findings) != 2 || d.findings[0].Check != "waiting" || d.findings[1].Check != "due" {
		t.Errorf("findings %+v", d.findings)
	}
}

// withContext is with, for a test.
func (t *target) withContext(test *testing.T, do func(*session) error) error {
	client, end, err := t.connect(test.Context())
	if err != nil {
		return err
	}
	defer end()
	return do(&session{Client: client, ctx: test.Context(), out: io.Discard, errs: io.Discard})
}

func TestCommandsNeedTheToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("reader-token-0123 read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runServerHere(t, "--token-file", file)
	if code, _, stderr := run(t, t.Context(), "queues"); code != exitFailure || !strings.Contains(stderr, "needs a token") {
		t.Errorf("without: %d %s", code, stderr)
	}
	t.Setenv(tokenVariable, "reader-token-0123")
	good(t, "queues")
	if code, _, stderr := run(t, t.Context(), "queues", "pause", "a"); code != exitFailure || !strings.Contains(stderr, "needs the role operate") {
		t.Errorf("with too little: %d %s", code, stderr)
	}
}

func TestCommandsWorkOnAStoreItself(t *testing.T) {
	t.Setenv(storeVariable, "memory:")
	if got := good(t, "enqueue", "a"); got != "j-1\n" {
		t.Errorf("enqueue: %q", got)
	}
	if got := good(t, "doctor", "--json"); !strings.Contains(got, `"level": "ok"`) {
		t.Errorf("doctor: %s", got)
	}
}

func TestHarmfulNamesDoNotReachTheTerminal(t *testing.T) {
	runServerHere(t)
	const evil = "a\x1b[2J\r\u202e\nfake"
	id := "id" + evil
	good(t, "enqueue", evil, `"`+`\u001b[31m`+`"`, "--queue", evil, "--id", id, "--metadata", "k="+evil)
	good(t, "schedules", "put", evil, "--job", evil, "--every", "1h")
	for _, args := range [][]string{{"jobs", "list"}, {"jobs", "get", id}, {"why", id}, {"queues"}, {"workers"}, {"top"}, {"schedules"}, {"doctor"}, {"jobs", "cancel", id}, {"jobs", "list", "--json"}} {
		_, stdout, stderr := run(t, t.Context(), args...)
		if strings.ContainsAny(stdout+stderr, "\x1b\r\u202e") && args[len(args)-1] != "--json" || strings.ContainsAny(stdout+stderr, "\x1b\r") {
			t.Errorf("braid %v: %q %q", args, stdout, stderr)
		}
	}
}

func TestCommandLinesThatCannotBeCarriedOut(t *testing.T) {
	runServerHere(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"jobs", "lst"}, `unknown command "lst"; use cancel, get, list, promote, remove or retry`},
		{[]string{"jobs", "get"}, "no job is named"},
		{[]string{"jobs", "retry"}, "no job is named"},
		{[]string{"jobs", "retry", "a", "--queue", "b"}, "use one way"},
		{[]string{"jobs", "list", "--metadata", "x"}, "use key=value"},
		{[]string{"jobs", "list", "--limit", "0"}, "limit cannot be"},
		{[]string{"jobs", "list", "--state", "odd"}, "state cannot be"},
		{[]string{"jobs", "list", "--on", "none"}, "store cannot be"},
		{[]string{"jobs", "list", "--store", "memory:", "--on", "x"}, "--on names a store of a server"},
		{[]string{"jobs", "list", "--store", "http://"}, "invalid server"},
		{[]string{"enqueue"}, "no job is named"},
		{[]string{"enqueue", "a", "{"}, "invalid payload"},
		{[]string{"enqueue", "a", "--at", "soon"}, "invalid --at"},
		{[]string{"enqueue", "a", "--delay", "-1s"}, "delayMs cannot be -1000"},
		{[]string{"queues", "stop"}, `unknown command "stop"; use pause or resume`},
		{[]string{"queues", "pause"}, "no queue is named"},
		{[]string{"schedules", "put", "a", "--job", "b"}, "cron is missing"},
		{[]string{"top", "--interval", "1ms"}, "use 100ms or more"},
		{[]string{"server", "--store", "memory:", "--store", "memory:"}, "names the store \"default\" twice"},
		{[]string{"server", "--store", "a=memory:"}, "names no default store"},
		{[]string{"server", "--listen", "0.0.0.0:0"}, "there are no tokens"},
	} {
		if code, stdout, stderr := run(t, t.Context(), test.args...); code != exitUsage || stdout != "" || !strings.Contains(stderr, test.want) {
			t.Errorf("braid %s: exit code %d, %q, %q", strings.Join(test.args, " "), code, stdout, stderr)
		}
	}
}

func TestTheScreenOfTopTellsChanges(t *testing.T) {
	var before, now topLook
	before.Queues.Queues = []httpapi.Queue{{Name: "idle"}, {Name: "busy"}}
	now.Queues.Queues = []httpapi.Queue{{Name: "idle", Paused: true}, {Name: "busy"}}
	now.Queues.Queues[1].Counts.Active, now.Queues.Queues[1].Counts.Waiting, now.Total.Completed = 2, 5, 30
	var out strings.Builder
	if err := writeTop(&out, now, &before, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if strings.Index(got, "busy") > strings.Index(got, "idle") || !strings.Contains(got, "5 +5") || !strings.Contains(got, "+15 per second") || !strings.Contains(got, "paused") {
		t.Errorf("%s", got)
	}
}

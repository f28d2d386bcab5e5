package e2etest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/cli"
	"github.com/braidmq/braid/internal/server"
	"github.com/braidmq/braid/internal/storeurl"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/memstore"
)

const (
	// goWorkerVariable makes the test binary a worker of the store at that URL.
	goWorkerVariable = "BRAID_E2E_GO_WORKER"
	// programVariable makes it the program braid.
	programVariable = "BRAID_E2E_PROGRAM"
	// processLock is for how long each of the processes locks its jobs.
	processLock = time.Second
)

var sleepJob = braid.NewJob[sleepPayload, map[string]any]("sleep", braid.Queue("python"))

type sleepPayload struct {
	Seconds float64 `json:"seconds"`
}

func TestMain(m *testing.M) {
	if url := os.Getenv(goWorkerVariable); url != "" {
		workUntilKilled(url)
		return
	}
	if os.Getenv(programVariable) != "" {
		os.Exit(cli.Main(os.Args[1:]))
	}
	os.Exit(testserver.Main(m).Run())
}

// workUntilKilled is the Go worker, a process of its own.
func workUntilKilled(url string) {
	store, err := storeurl.Open(context.Background(), url)
	if err != nil {
		panic(err)
	}
	client := braid.NewClient(store, braid.WithLogger(slog.New(slog.DiscardHandler)))
	worker := braid.NewWorker(client, braid.WorkerOptions{Concurrency: 4, LockDuration: processLock, SweepInterval: 250 * time.Millisecond})
	sleepJob.Handle(worker, func(ctx context.Context, p sleepPayload) (map[string]any, error) {
		select {
		case <-time.After(time.Duration(p.Seconds * float64(time.Second))):
			return map[string]any{"slept": p.Seconds}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	fmt.Println("works")
	if err := worker.Run(context.Background()); err != nil {
		panic(err)
	}
}

// serveStore serves a store until the test ends.
func serveStore(t *testing.T, store driver.Store) (url string, client *braid.Client) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	s, err := server.New(server.Config{Store: store, Listen: "127.0.0.1:0", Logger: quiet, Keeper: braid.KeeperOptions{SweepInterval: 250 * time.Millisecond, MaxStalled: 100}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client = braid.NewClient(store, braid.WithLogger(quiet))
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		client.Close()
	})
	return "http://" + s.Address(), client
}

// process is a worker that can be killed.
type process struct {
	*exec.Cmd
	ended chan struct{}
}

// start starts a program and waits until it says something, such as that it works. It
// returns the line, too.
func start(t *testing.T, until string, environment []string, program string, args ...string) (*process, string) {
	t.Helper()
	p := &process{exec.Command(program, args...), make(chan struct{})}
	p.Env = append(os.Environ(), environment...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr = writer, writer
	if err := p.Start(); err != nil {
		t.Fatalf("%v; `make test` installs what is missing", err)
	}
	writer.Close()
	output := bufio.NewReader(reader)
	line := ""
	for !strings.Contains(line, until) {
		if line, err = output.ReadString('\n'); err != nil {
			t.Fatalf("it printed %q, and ended: %v", line, err)
		}
	}
	go func() {
		defer close(p.ended)
		_, _ = io.Copy(io.Discard, output)
		_ = p.Wait() // how it ended is not what is tested
		reader.Close()
	}()
	t.Cleanup(func() { p.kill(syscall.SIGKILL) })
	return p, line
}

func (p *process) kill(signal syscall.Signal) {
	_ = p.Process.Signal(signal) // it may have ended
	<-p.ended
}

func startPython(t *testing.T, url string) *process {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "python", "worker.py"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := start(t, "works", []string{"BRAID_URL=" + url, fmt.Sprint("LOCK_MS=", processLock.Milliseconds()), "PYTHONDONTWRITEBYTECODE=1"}, "python3", "-u", path)
	return p
}

// startGo starts the worker in Go.
func startGo(t *testing.T, store string) *process {
	t.Helper()
	p, _ := start(t, "works", []string{goWorkerVariable + "=" + store}, thisProgram(t))
	return p
}

// startServer starts braid server, and returns where it listens.
func startServer(t *testing.T, store, listen string) (p *process, address string) {
	t.Helper()
	p, line := start(t, "listens on", []string{programVariable + "=1"}, thisProgram(t), "server", "--store", store, "--listen", listen, "--sweep-interval", "250ms")
	_, address, _ = strings.Cut(strings.TrimSpace(line), "http://")
	return p, address
}

func thisProgram(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(40 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestAWorkerInPython(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	url, client := serveStore(t, store)
	python := startPython(t, url)
	enqueue := func(name, payload string, options ...braid.EnqueueOption) string {
		t.Helper()
		h, err := client.Enqueue(t.Context(), name, json.RawMessage(payload), append(options, braid.Queue("python"))...)
		if err != nil {
			t.Fatal(err)
		}
		return h.ID
	}
	get := func(id string) *braid.JobInfo {
		t.Helper()
		job, err := client.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	counted := enqueue("word-count", `{"text":"to be or not to be"}`)
	failing := enqueue("word-count", `{"txt":1}`, braid.Attempts(2), braid.Backoff(braid.Fixed(time.Millisecond)))
	long := enqueue("sleep", `{"seconds":600}`)
	until(t, "the result", func() bool { return get(counted).State == braid.Completed })
	if got := string(get(counted).Exit); got != `{"words": 6, "distinct": 4}` {
		t.Errorf("result %s", got)
	}
	until(t, "the failure", func() bool { return get(failing).State == braid.Failed })
	if err := new(braid.JobError); !errors.As(get(failing).Err(), &err) || err.Type != "KeyError" || !strings.Contains(err.Stack, "word_count") || err.Attempts != 2 {
		t.Errorf("error %+v", err)
	}
	// A long job outlives its lock, which heartbeats renew, until it is cancelled.
	began := get(long).LockExpiresAt
	until(t, "a heartbeat", func() bool { return get(long).LockExpiresAt.After(began) })
	if err := client.Cancel(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	until(t, "the cancel", func() bool { return get(long).State == braid.Cancelled })
	if job := get(long); job.StalledCount != 0 {
		t.Errorf("the long job %+v", job)
	}
	python.kill(syscall.SIGTERM)
}

// A server, a worker in Python that goes through it, and one in Go on the store itself are
// killed one after the other while they work.
func TestWorkersOfTwoLanguagesShareAQueueAndKillingEitherLosesNothing(t *testing.T) {
	redis := testserver.Redis(t, testserver.AppendOnly())
	store, err := storeurl.Open(t.Context(), redis.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	client := braid.NewClient(store, braid.WithLogger(slog.New(slog.DiscardHandler)))
	defer client.Close()
	const jobs = 300
	payloads := make([]sleepPayload, jobs)
	for i := range payloads {
		payloads[i].Seconds = 0.1
	}
	handles, err := sleepJob.EnqueueMany(t.Context(), client, payloads)
	if err != nil {
		t.Fatal(err)
	}
	completed := func() int64 {
		counts, err := client.Counts(t.Context(), "python")
		if err != nil {
			t.Fatal(err)
		}
		return counts.Completed
	}
	braidServer, address := startServer(t, redis.URL(), "127.0.0.1:0")
	inGo, inPython := startGo(t, redis.URL()), startPython(t, "http://"+address)
	killPython := func() { inPython.kill(syscall.SIGKILL); inPython = startPython(t, "http://"+address) }
	killGo := func() { inGo.kill(syscall.SIGKILL); inGo = startGo(t, redis.URL()) }
	killServer := func() {
		braidServer.kill(syscall.SIGKILL)
		braidServer, _ = startServer(t, redis.URL(), address)
	}
	for i, kill := range []func(){killPython, killGo, killServer, killGo, killPython} {
		at := int64(20 + 50*i)
		until(t, fmt.Sprint(at, " jobs"), func() bool { return completed() >= at })
		kill()
	}
	until(t, "all jobs", func() bool { return completed() == jobs })
	byWorker, stalled := map[bool]int{}, 0
	for _, h := range handles {
		attempts, err := h.Attempts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stalls, byPython := checkRuns(t, h.ID, attempts)
		stalled += stalls
		byWorker[byPython]++
	}
	if byWorker[true] == 0 || byWorker[false] == 0 || stalled == 0 {
		t.Errorf("by Python %d, by Go %d, recovered %d", byWorker[true], byWorker[false], stalled)
	}
}

// checkRuns checks that a job was completed by its last run, that the runs before it lost
// their worker, and that none began within the lock of another. It returns how many were
// lost, and whether the last one was in Python.
func checkRuns(t *testing.T, id string, attempts []braid.AttemptInfo) (stalls int, byPython bool) {
	t.Helper()
	for i, a := range attempts {
		last := i == len(attempts)-1
		switch {
		case last && a.Outcome == braid.OutcomeCompleted:
			byPython = strings.HasPrefix(a.Worker, "python-")
		case !last && a.Outcome == braid.OutcomeStalled:
			stalls++
			if held := a.FinishedAt.Sub(a.StartedAt); held < processLock {
				t.Errorf("job %s: its run %d was taken away after %v, within its lock", id, a.Attempt, held)
			}
		default:
			t.Errorf("job %s: of %d runs, number %d ended %v", id, len(attempts), a.Attempt, a.Outcome)
		}
		if i > 0 && a.StartedAt.Before(attempts[i-1].FinishedAt) {
			t.Errorf("job %s: its run %d began %v before the one before it ended", id, a.Attempt, attempts[i-1].FinishedAt.Sub(a.StartedAt))
		}
	}
	if len(attempts) == 0 {
		t.Errorf("job %s: no run is known", id)
	}
	return stalls, byPython
}

// The shell commands of the page about the API must print what it says that they print.
func TestTheCommandsOfTheAPIPagePrintWhatItSays(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "http-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	var script, want strings.Builder
	script.WriteString("set -eu\n")
	for _, part := range regexp.MustCompile("(?s)\n```(sh|json)\n(.*?\n)```\n").FindAllSubmatch(page, -1) {
		if string(part[1]) == "sh" {
			script.Write(part[2])
		} else {
			want.Write(part[2])
		}
	}
	store := memstore.New()
	defer store.Close()
	url, _ := serveStore(t, store)
	shell := exec.Command("sh", "-c", script.String())
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "BRAID="+url)
	var stdout, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &stdout, &stderr
	if err := shell.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if stdout.String() != want.String() {
		t.Errorf("printed\n%s\nthe page says\n%s", stdout.String(), want.String())
	}
}

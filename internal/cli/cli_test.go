package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/internal/benchmark"
	"github.com/braidmq/braid/internal/demo"
	"github.com/braidmq/braid/internal/storeurl"
	"github.com/braidmq/braid/internal/testserver"
)

// programVariable makes the test binary the program.
const programVariable = "BRAID_CLI_PROGRAM"

// TestMain gives the default store a folder of its own.
func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		os.Exit(Main(os.Args[1:]))
	}
	goleak.VerifyTestMain(home{testserver.Main(m)})
}

type home struct{ tests interface{ Run() int } }

func (h home) Run() int {
	folder, err := os.MkdirTemp("", "braid-cli-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	os.Setenv("XDG_STATE_HOME", folder)
	return h.tests.Run()
}

func TestWhatDoesNotExistIsRefusedWithWhatDoes(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"dmeo"}, `braid: unknown command "dmeo"; use bench, completion, demo, doctor, enqueue, flow, help, jobs, migrate, queues, schedules, server, top, version, why or workers`},
		{[]string{"help", "dmeo"}, `braid: unknown command "dmeo"; use bench, completion, demo, doctor, enqueue, flow, help, jobs, migrate, queues, schedules, server, top, version, why or workers`},
		{[]string{"help", "demo", "x"}, `braid: "braid demo" has no command "x"`},
		{[]string{"--jsn"}, `braid: unknown flag: --jsn; the flags of braid are --help and --version`},
		{[]string{"demo", "--jsn"}, `braid: unknown flag: --jsn; the flags of braid demo are --child-store, --concurrency, --help, --json, --live, --rate and --store`},
		{[]string{"demo", "-x"}, `braid: unknown shorthand flag: 'x' in -x; the flags of braid demo are --child-store, --concurrency, --help, --json, --live, --rate and --store`},
		{[]string{"demo", "a", "b"}, `braid: unexpected argument "b"; the command is braid demo [DIR] [flags]`},
		{[]string{"demo", "--concurrency", "0"}, `braid: invalid --concurrency 0: use 1 or more`},
		{[]string{"demo", "--store", "mongo://ann:secret@db"}, `braid: invalid store "mongo://ann:xxxxx@db": has an unknown scheme; use ` + storeExamples()},
		{[]string{"demo", "--store", "http://127.0.0.1:8080"}, `braid: --store http://127.0.0.1:8080 names a server, and a demo runs its jobs itself; write --store with the store of that server, such as --store ` + defaultStore()},
		{[]string{"demo", "--live", "."}, `braid: --live runs a shop, which takes no folder; leave "." out`},
		{[]string{"demo", "--live", "--json"}, `braid: --json is for the demo over a folder; leave it or --live out`},
		{[]string{"demo", "--live", "--rate", "0"}, `braid: invalid --rate 0: use 1 to 100`},
		{[]string{"demo", "--live", "--store", "memory:"}, `braid: --live on a memory store would be seen by nobody; use a store that processes share, such as ` + defaultStore()},
		{[]string{"demo", "--rate", "2"}, `braid: --rate is how many orders come to the shop of --live; give --live, too`},
		{[]string{"demo", "--child-store", "x"}, `braid: invalid store "x": has no scheme; use ` + storeExamples()},
		{[]string{"flow"}, `braid: no flow is named; the command is braid flow ID [flags]`},
		{[]string{"flow", "a", "b"}, `braid: unexpected argument "b"; the command is braid flow ID [flags]`},
		{[]string{"flow", "a", "--each", "0"}, `braid: invalid --each 0: use 1 or more`},
		{[]string{"flow", "a", "--with", "memory:"}, `braid: invalid --with "memory:": use NAME=URL`},
		{[]string{"bench", "--keep", "some"}, `braid: invalid --keep "some": use all or none`},
		{[]string{"bench", "--payload", "1"}, `braid: invalid --payload 1: use 2 or more`},
		{[]string{"bench", "--store", "x"}, `braid: invalid store "x": has no scheme; use ` + storeExamples()},
		{[]string{"jobs", "get", ""}, `braid: a job is named by an empty text; the command is braid jobs get ID [flags]`},
		{[]string{"why", ""}, `braid: a job is named by an empty text; the command is braid why ID [flags]`},
		{[]string{"enqueue", "n", "@/dev/zero"}, `braid: invalid payload "@/dev/zero": is longer than 64 MiB; keep what is large elsewhere, and enqueue where it is`},
		{[]string{"enqueue", "n", "--dedupe-window", "1m"}, `braid: --dedupe-window is how long a key holds; give --dedupe-key, too, or leave it out`},
		{[]string{"enqueue", "n", "--metadata", "a=1", "--metadata", "a=2"}, `braid: invalid --metadata "a=2": the key is given twice; write it once`},
		{[]string{"version", "x"}, `braid: unexpected argument "x"; the command is braid version [flags]`},
	} {
		code, stdout, stderr := run(t, t.Context(), test.args...)
		if code != exitUsage || stdout != "" || stderr != test.want+"\n" {
			t.Errorf("braid %s: exit code %d\nstdout: %s\nstderr: %s\nwant:   %s", strings.Join(test.args, " "), code, stdout, stderr, test.want)
		}
	}
}

func TestADemoIsNotSentToTheServerOfTheEnvironment(t *testing.T) {
	t.Setenv(storeVariable, "http://ann:secret@127.0.0.1:8080")
	want := "braid: BRAID_STORE=http://ann:xxxxx@127.0.0.1:8080 names a server, and a demo runs its jobs itself; write --store with the store of that server, such as --store " + defaultStore() + "\n"
	if code, _, stderr := run(t, t.Context(), "demo"); code != exitUsage || stderr != want {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestErrorsNeverShowAPassword(t *testing.T) {
	const url = "postgres://ann:hun/ter2@db/x"
	for _, args := range [][]string{
		{url}, {"queues", url}, {"jobs", "list", url}, {"jobs", "list", "--store", url}, {"jobs", "list", "--limit", url}, {"--store" + url},
		{"jobs", "list", "--store", "postgres//ann:hunter2@db/x"}, {"jobs", "list", "--store", "host=db password=hunter2"},
		{"jobs", "list", "--store", "http://ann:hunter2@127.0.0.1:1"}, {"jobs", "list", "--store", "http://ann:hunter2@127.0.0.1:1%zz"},
		{"server", "--store", "a=" + url}, {"demo", "--store", "http://ann:hunter2@db"}, {"migrate", "up", "--store", url},
		{"bench", "--store", url}, {"flow", "f", "--with", url}, {"doctor", "--deep", "--store", "memory:", "--with", "a=" + url},
	} {
		code, _, stderr := run(t, t.Context(), args...)
		if code == exitOK || strings.Contains(stderr, "ter2") {
			t.Errorf("braid %q: exit code %d, %s", args, code, stderr)
		}
	}
}

// storeExamples lists the URLs as an error does.
func storeExamples() string {
	var examples []string
	for _, form := range storeurl.Forms() {
		examples = append(examples, form.Example)
	}
	last := len(examples) - 1
	return strings.Join(examples[:last], ", ") + " or " + examples[last]
}

func TestHelpNamesTheCommandsAndStores(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"--help"}} {
		code, stdout, stderr := run(t, t.Context(), args...)
		if code != exitOK || stderr != "" {
			t.Errorf("braid %v: exit code %d, stderr %s", args, code, stderr)
		}
		for _, word := range []string{"demo", "bench", "version", "memory:", filepath.Join(os.Getenv("XDG_STATE_HOME"), "braid", "braid.db")} {
			if !strings.Contains(stdout, word) {
				t.Errorf("braid %v does not name %s:\n%s", args, word, stdout)
			}
		}
	}
	if code, stdout, _ := run(t, t.Context(), "help", "demo"); code != exitOK || !strings.Contains(stdout, "duplicates") {
		t.Errorf("braid help demo: exit code %d\n%s", code, stdout)
	}
}

func TestVersionTellsTheBuild(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		code, stdout, stderr := run(t, t.Context(), arg)
		if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, "braid ") || !strings.Contains(stdout, "go1.") {
			t.Errorf("braid %s: exit code %d, %q, %q", arg, code, stdout, stderr)
		}
	}
}

func TestDemoPrintsAReport(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{"a.txt": "1\n2\n", "b.txt": "1\n2\n", "c": "3"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := run(t, t.Context(), "demo", folder)
	if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, "3 files in "+folder) || !strings.Contains(stdout, "  .txt      2      8      4\n") {
		t.Errorf("braid demo: exit code %d\n%s\n%s", code, stdout, stderr)
	}

	code, stdout, stderr = run(t, t.Context(), "demo", "--json", "--concurrency", "2", folder)
	var report demo.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitOK || stderr != "" {
		t.Fatalf("braid demo --json: exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	if report.Files != 3 || report.Bytes != 9 || report.Lines != 4 || report.Duplicates != 1 || report.Concurrency != 2 ||
		report.Seconds <= 0 || report.JobsPerSecond <= 0 {
		t.Errorf("report: %+v", report)
	}
}

func TestADemoCanHaveItsChildrenInAnotherStore(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	store := "sqlite:" + filepath.Join(t.TempDir(), "braid.db")
	code, stdout, stderr := run(t, t.Context(), "demo", "--store", store, "--child-store", "memory:", folder)
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "(sqlite store, children in a memory store, ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	// The memory store is gone, and nothing waits for it.
	code, stdout, stderr = run(t, t.Context(), "doctor", "--deep", "--store", store)
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "is not among those given (") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestAFlowThatIsNotThereIsAnError(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "flow", "f-1", "--with", "email=memory:")
	if code != exitFailure || stdout != "" || stderr != "braid: not found: job \"f-1\"\n" {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestAnInterruptedDemoSaysSo(t *testing.T) {
	folder := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	code, stdout, _ := run(t, ctx, "demo", folder)
	if code != exitInterrupted || !strings.Contains(stdout, "PARTIAL") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func TestAFolderThatDoesNotExistIsAnError(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "demo", filepath.Join(t.TempDir(), "none"))
	if code != exitFailure || stdout != "" || !strings.Contains(stderr, "no such file") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestBenchPrintsEachPhase(t *testing.T) {
	for _, keep := range []string{"all", "none"} {
		args := []string{"bench", "--jobs", "103", "--batch", "10", "--producers", "3", "--concurrency", "5", "--keep", keep, "--rate", "5000"}
		code, stdout, stderr := run(t, t.Context(), args...)
		if code != exitOK || stderr != "" {
			t.Fatalf("exit code %d\n%s\n%s", code, stdout, stderr)
		}
		for _, phase := range []string{"enqueue one by one: ", "enqueue in batches: ", "process a backlog: ", "steady load: ", "p99 ", "goroutines at the end: "} {
			if !strings.Contains(stdout, phase) {
				t.Errorf("no %q in\n%s", phase, stdout)
			}
		}
	}
	code, stdout, stderr := run(t, t.Context(), "bench", "--jobs", "7", "--rate", "5000", "--json")
	var report benchmark.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, %v\n%s\n%s", code, err, stdout, stderr)
	}
	jobs := map[string]int{}
	for _, phase := range report.Phases {
		jobs[phase.Name] = phase.Jobs
	}
	if jobs["enqueue one by one"]+jobs["enqueue in batches"] != 7 || jobs["process a backlog"] != 7 || jobs["steady load"] != 7 {
		t.Errorf("jobs by phase: %v", jobs)
	}
}

func TestTheBarFitsTheTerminal(t *testing.T) {
	p := demo.Progress{Found: 100, Walked: true, Done: 50, Failed: 2, Bytes: 7_000_000}
	const text = "50 of 100 files, 7 MB, 2 failed"
	if got := progressBar(p, 100); got != "["+strings.Repeat("█", 15)+strings.Repeat("░", 15)+"] "+text {
		t.Errorf("got %s", got)
	}
	if got := progressBar(p, 20); got != text[:19] {
		t.Errorf("got %s", got)
	}
	if got := progressText(demo.Progress{Found: 3}); got != "0 of at least 3 files, 0 MB" {
		t.Errorf("got %s", got)
	}
	for width := 1; width < 60; width++ {
		if got := progressBar(p, width); len([]rune(got)) >= max(width, 1) && width > 1 {
			t.Errorf("%d columns for a terminal of %d: %s", len([]rune(got)), width, got)
		}
	}
}

// run runs the program in this process, with a deadline.
func run(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = Run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

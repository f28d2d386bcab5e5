package benchmark

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(store driver.Store) Options {
	return Options{
		Store: store, Jobs: 1001, Concurrency: 7, Producers: 3, Batch: 50, Payload: 37,
		Rate: 10_000, SteadyJobs: 100, Logger: slog.New(slog.DiscardHandler),
	}
}

func TestEveryJobIsEnqueuedProcessedAndKeptAsAskedFor(t *testing.T) {
	for _, keepAll := range []bool{true, false} {
		store := memstore.New()
		o := options(store)
		o.KeepAll = keepAll
		var told []string
		o.Done = func(p Phase) { told = append(told, p.Name) }
		report, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Phases) != 4 || len(told) != 4 {
			t.Fatalf("phases: %+v, told of %q", report.Phases, told)
		}
		for _, p := range report.Phases {
			if p.Jobs == 0 || p.Seconds <= 0 || p.JobsPerSecond <= 0 || p.CPUMicros <= 0 {
				t.Errorf("phase %+v", p)
			}
			if l := p.Latency; l != nil && !(0 < l.P50 && l.P50 <= l.P95 && l.P95 <= l.P99 && l.P99 <= l.Max) {
				t.Errorf("%s: latency %+v", p.Name, l)
			}
		}
		want := driver.Counts{}
		if keepAll {
			want.Completed = int64(o.Jobs + o.SteadyJobs)
		}
		if counts, err := store.Counts(t.Context(), ""); err != nil || counts != want {
			t.Errorf("keep all %v: left %+v, %v; want %+v", keepAll, counts, err, want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAClosedStoreAndAnInterruptEndTheBench(t *testing.T) {
	closed := memstore.New()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), options(closed)); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("closed store: %v", err)
	}
	store := memstore.New()
	defer store.Close()
	ctx, cancel := context.WithCancel(t.Context())
	o := options(store)
	o.Done = func(p Phase) {
		if p.Name == "enqueue in batches" {
			cancel()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "bench/") {
		t.Errorf("interrupted: %v", err)
	}
}

func TestPayloadsHaveTheSizeThatWasAskedFor(t *testing.T) {
	store := &payloads{Store: memstore.New()}
	defer store.Close()
	o := options(store)
	o.Payload = 100
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if store.other != 0 || store.right != o.Jobs+o.SteadyJobs {
		t.Errorf("%d payloads of 100 bytes, %d others", store.right, store.other)
	}
}

// payloads counts payloads by whether they have 100 bytes.
type payloads struct {
	*memstore.Store
	mu           sync.Mutex
	right, other int
}

func (p *payloads) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	p.mu.Lock()
	for _, req := range batch {
		if len(req.Payload) == 100 {
			p.right++
		} else {
			p.other++
		}
	}
	p.mu.Unlock()
	return p.Store.Enqueue(ctx, now, batch)
}

func TestPercentilesAreThoseOfTheNearestRank(t *testing.T) {
	var all []time.Duration
	for i := 100; i >= 1; i-- {
		all = append(all, time.Duration(i)*time.Millisecond)
	}
	if got := *distribution("x", all[:40], all[40:]); got != (Latency{Of: "x", P50: 50, P95: 95, P99: 99, Max: 100}) {
		t.Errorf("of 1 to 100: %+v", got)
	}
	if got := *distribution("x", all[:1]); got != (Latency{Of: "x", P50: 100, P95: 100, P99: 100, Max: 100}) {
		t.Errorf("of one: %+v", got)
	}
	if got := distribution("x"); got != nil {
		t.Errorf("of none: %+v", got)
	}
}

func TestTheTextOfAPhase(t *testing.T) {
	var got bytes.Buffer
	p := Phase{Name: "some phase", Measured: "this", Jobs: 12345, Seconds: 2, JobsPerSecond: 6172.5, CPUMicros: 7.25,
		Latency: &Latency{Of: "one call", P50: 1, P95: 2.5, P99: 3, Max: 4}}
	m := Memory{Start: 1_000_000, Backlog: 2_500_000, Processed: 3_000_000, End: 1_000_000, Goroutines: 4}
	if err := errors.Join(p.WriteText(&got), m.WriteText(&got)); err != nil {
		t.Fatal(err)
	}
	const want = `some phase: 6,173 jobs/s, 7.2 µs of CPU per job
  12,345 jobs in 2.00 s: this
  one call: p50 1.000 ms, p95 2.500 ms, p99 3.000 ms, max 4.000 ms
memory
  heap in use: 1.0 MB at the start, 2.5 MB with the backlog, 3.0 MB with the backlog processed, 1.0 MB at the end
  goroutines at the end: 4
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// BenchmarkMemory measures the memory store with b.N jobs, for profiles.
func BenchmarkMemory(b *testing.B) {
	store := memstore.New()
	defer store.Close()
	report, err := Run(b.Context(), Options{
		Store: store, Jobs: b.N, Concurrency: 100, Producers: 4, Batch: 1000, Payload: 37,
		Rate: 10_000, SteadyJobs: 1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range report.Phases[:len(report.Phases)-1] {
		b.ReportMetric(p.JobsPerSecond, strings.ReplaceAll(p.Name, " ", "-")+"/s")
	}
}

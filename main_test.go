package braid_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a store with a client, for tests.
type bench struct {
	*testing.T
	ctx    context.Context
	store  driver.Store
	client *braid.Client
	log    *logRecorder
}

func newBench(t *testing.T, opts ...braid.ClientOption) *bench {
	return newBenchOn(t, memstore.New(), opts...)
}

func newBenchOn(t *testing.T, store driver.Store, opts ...braid.ClientOption) *bench {
	t.Helper()
	log := &logRecorder{}
	opts = append([]braid.ClientOption{braid.WithLogger(slog.New(log))}, opts...)
	b := &bench{T: t, ctx: t.Context(), store: store, client: braid.NewClient(store, opts...), log: log}
	t.Cleanup(func() {
		b.client.Close()
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return b
}

// work runs a worker until the test ends.
func (b *bench) work(options braid.WorkerOptions, register func(*braid.Worker)) *braid.Worker {
	b.Helper()
	worker := braid.NewWorker(b.client, options)
	register(worker)
	var ran sync.WaitGroup
	ran.Go(func() {
		if err := worker.Run(context.Background()); err != nil {
			b.Errorf("Run: %v", err)
		}
	})
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := worker.Stop(ctx); err != nil {
			b.Errorf("Stop: %v", err)
		}
		ran.Wait()
	})
	return worker
}

// within bounds a wait of a test.
func (b *bench) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(b.ctx, d)
	b.Cleanup(cancel)
	return ctx
}

// receive returns what comes over a channel, or fails.
func receive[T any](b *bench, c <-chan T, what string) T {
	b.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		b.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

// logRecorder keeps log records.
type logRecorder struct {
	mu      sync.Mutex
	records []string
}

func (r *logRecorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *logRecorder) Handle(_ context.Context, record slog.Record) error {
	line := record.Message
	record.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, line)
	return nil
}

func (r *logRecorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logWithAttrs{Handler: r, attrs: attrs}
}

func (r *logRecorder) WithGroup(string) slog.Handler { return r }

func (r *logRecorder) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.records...)
}

// logWithAttrs adds attributes to a recorder's records.
type logWithAttrs struct {
	slog.Handler
	attrs []slog.Attr
}

func (l *logWithAttrs) Handle(ctx context.Context, record slog.Record) error {
	record.AddAttrs(l.attrs...)
	return l.Handler.Handle(ctx, record)
}

func (l *logWithAttrs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logWithAttrs{Handler: l.Handler, attrs: append(append([]slog.Attr(nil), l.attrs...), attrs...)}
}

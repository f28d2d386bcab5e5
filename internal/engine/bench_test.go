package engine

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// BenchmarkEngineNoop runs a prepared backlog of jobs whose handler does nothing:
// the engine's own cost, and the store's.
func BenchmarkEngineNoop(b *testing.B) {
	for _, observed := range []bool{false, true} {
		b.Run(fmt.Sprintf("observed=%v", observed), func(b *testing.B) {
			store := memstore.New()
			defer store.Close()
			keepNone := &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}}
			request := driver.EnqueueRequest{Spec: driver.Spec{
				Name: "noop", Queue: "q", Payload: []byte(`{"to":"somebody@example.org","n":1234}`),
				AttemptsMax: 3, Keep: keepNone,
			}}
			for left := b.N; left > 0; left -= 1000 {
				batch := slices.Repeat([]driver.EnqueueRequest{request}, min(left, 1000))
				if _, err := store.Enqueue(b.Context(), driver.TimeOf(time.Now()), batch); err != nil {
					b.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(b.Context())
			var ran atomic.Int64
			config := Config{
				Store: store, Queues: []Queue{{Name: "q", Slots: 100}},
				Handlers: map[string]Handler{"noop": {Run: func(context.Context, *Run) ([]byte, error) {
					if ran.Add(1) == int64(b.N) {
						cancel()
					}
					return nil, nil
				}}},
			}
			if observed {
				config.Observer = countingObserver{}
			}
			e, err := New(config)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := e.Run(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

type countingObserver struct{}

func (countingObserver) Claimed(string, int) {}
func (countingObserver) RunsEnded([]RunEnd)  {}
func (countingObserver) LocksLost(int)       {}
func (countingObserver) Stuck(int)           {}

// BenchmarkPickUp is the time from an enqueue to the start of its handler on an
// idle worker.
func BenchmarkPickUp(b *testing.B) {
	store := memstore.New()
	defer store.Close()
	started := make(chan time.Time, 1)
	e, err := New(Config{
		Store: store, Queues: []Queue{{Name: "q", Slots: 10}},
		Handlers: map[string]Handler{"noop": {Run: func(context.Context, *Run) ([]byte, error) {
			started <- time.Now()
			return nil, nil
		}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	request := []driver.EnqueueRequest{{Spec: driver.Spec{Name: "noop", Queue: "q", AttemptsMax: 1}}}
	var took []time.Duration
	for b.Loop() {
		time.Sleep(200 * time.Microsecond) // the worker becomes idle
		start := time.Now()
		if _, err := store.Enqueue(ctx, driver.TimeOf(start), request); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-started).Sub(start))
	}
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkGroupAlone is what grouping costs a caller that is alone.
func BenchmarkGroupAlone(b *testing.B) {
	g := NewGroup(func(_ context.Context, batch []int) ([]int, error) { return batch, nil }, nil, 250)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Do(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

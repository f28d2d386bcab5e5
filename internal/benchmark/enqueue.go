package benchmark

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/braidmq/braid/internal/plural"
)

// singly is the part of the backlog that is enqueued one by one: one in so many.
const singly = 5

// enqueueSingly enqueues the first part of the backlog, one job per call.
func (b *bench) enqueueSingly(ctx context.Context) (Phase, error) {
	job, _ := b.definition("backlog")
	payload := b.payload("")
	return b.produce(ctx, Phase{
		Name:     "enqueue one by one",
		Measured: fmt.Sprintf("Enqueue from %s at once", plural.Of(b.Producers, "goroutine", "goroutines")),
		Jobs:     b.Jobs / singly,
	}, 1, func(ctx context.Context, _ int) error {
		_, err := job.Enqueue(ctx, b.client, payload)
		return err
	})
}

// enqueueBatches enqueues the rest of it, many jobs per call.
func (b *bench) enqueueBatches(ctx context.Context) (Phase, error) {
	job, _ := b.definition("backlog")
	payloads := make([]string, b.Batch)
	for i := range payloads {
		payloads[i] = b.payload("")
	}
	return b.produce(ctx, Phase{
		Name: "enqueue in batches",
		Measured: fmt.Sprintf("EnqueueMany with %s from %s at once",
			plural.Of(b.Batch, "job", "jobs"), plural.Of(b.Producers, "goroutine", "goroutines")),
		Jobs: b.Jobs - b.Jobs/singly,
	}, b.Batch, func(ctx context.Context, n int) error {
		_, err := job.EnqueueMany(ctx, b.client, payloads[:n])
		return err
	})
}

// produce shares the phase's jobs out among the producers, each of which calls
// enqueue with up to batch of them at a time, and measures.
func (b *bench) produce(ctx context.Context, phase Phase, batch int, enqueue func(ctx context.Context, n int) error) (Phase, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	durations := make([][]time.Duration, b.Producers)
	var producers sync.WaitGroup
	start := time.Now()
	for p := range b.Producers {
		share := phase.Jobs / b.Producers
		if p < phase.Jobs%b.Producers {
			share++
		}
		took := make([]time.Duration, 0, share/batch+1)
		producers.Go(func() {
			for left := share; left > 0 && ctx.Err() == nil; {
				n := min(left, batch)
				left -= n
				called := time.Now()
				if err := enqueue(ctx, n); err != nil {
					cancel(err)
					return
				}
				took = append(took, time.Since(called))
			}
			durations[p] = took
		})
	}
	producers.Wait()
	phase.Seconds = since(start)
	if err := context.Cause(ctx); err != nil {
		return Phase{}, err
	}
	phase.Latency = distribution("one call", durations...)
	return phase, nil
}

package compare

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// Braid is Braid on some store. Finished jobs stay.
type Braid struct {
	// Open opens the store, which is closed after each phase.
	Open    func(ctx context.Context, logger *slog.Logger) (driver.Store, error)
	Payload string
	Batch   int // jobs of one call that takes many
	// Deletes says that finished jobs do not stay; Name then says so, too.
	Deletes bool
}

const braidQueue = "bench"

// braidJob is a job that does nothing.
var braidJob = braid.NewJob[string, braid.None]("bench", braid.Queue(braidQueue))

// Name is part of System.
func (b *Braid) Name() string {
	if b.Deletes {
		return "braid, deleting"
	}
	return "braid"
}

// Enqueue is part of System.
func (b *Braid) Enqueue(ctx context.Context, jobs, producers int) (took time.Duration, err error) {
	err = b.connected(ctx, func(client *braid.Client) error {
		took, err = Produce(ctx, jobs, producers, func(ctx context.Context) error {
			_, err := braidJob.Enqueue(ctx, client, b.Payload)
			return err
		})
		return err
	})
	return took, err
}

// EnqueueBatches is part of System.
func (b *Braid) EnqueueBatches(ctx context.Context, jobs int) (took time.Duration, err error) {
	payloads := make([]string, b.Batch)
	for i := range payloads {
		payloads[i] = b.Payload
	}
	err = b.connected(ctx, func(client *braid.Client) error {
		// Two calls under way, so that client and server work at the same time.
		var begun atomic.Int64
		took, err = Produce(ctx, (jobs+b.Batch-1)/b.Batch, 2, func(ctx context.Context) error {
			end := int(begun.Add(int64(b.Batch)))
			_, err := braidJob.EnqueueMany(ctx, client, payloads[:min(b.Batch, jobs-(end-b.Batch))])
			return err
		})
		return err
	})
	return took, err
}

// Process is part of System.
func (b *Braid) Process(ctx context.Context, jobs, concurrency int) (took time.Duration, err error) {
	err = b.connected(ctx, func(client *braid.Client) error {
		worker := braid.NewWorker(client, braid.WorkerOptions{Concurrency: concurrency})
		var ran atomic.Int64
		all := make(chan struct{})
		braidJob.Handle(worker, func(context.Context, string) (braid.None, error) {
			if ran.Add(1) == int64(jobs) {
				close(all)
			}
			return braid.None{}, nil
		})
		var stopped sync.WaitGroup
		var failed error
		start := time.Now()
		stopped.Go(func() { failed = worker.Run(ctx) })
		select {
		case <-all:
			err = Poll(ctx, func() (bool, error) {
				counts, err := client.Counts(ctx, braidQueue)
				left := int64(jobs) - counts.Completed
				if b.Deletes {
					left = counts.Waiting + counts.Active
				}
				return err == nil && left == 0, err
			})
		case <-ctx.Done():
			err = ctx.Err()
		}
		took = time.Since(start)
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, worker.Stop(stopCtx))
		stopped.Wait()
		return errors.Join(err, failed)
	})
	return took, err
}

// connected opens the store, calls do, and closes it.
func (b *Braid) connected(ctx context.Context, do func(*braid.Client) error) (err error) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := b.Open(ctx, quiet)
	if err != nil {
		return err
	}
	client := braid.NewClient(store, braid.WithLogger(quiet))
	defer func() {
		client.Close()
		err = errors.Join(err, store.Close())
	}()
	return do(client)
}

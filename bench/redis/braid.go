package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/redisstore"
)

// braidSystem is Braid on its Redis store, with the store's default options: both list
// indexes are on, finished jobs stay.
type braidSystem struct {
	url     string
	payload string
}

const braidQueue = "bench"

// braidJob is a job that does nothing.
var braidJob = braid.NewJob[string, braid.None]("bench", braid.Queue(braidQueue))

func (b *braidSystem) Name() string { return "braid" }

func (b *braidSystem) Enqueue(ctx context.Context, jobs, producers int) (took time.Duration, err error) {
	err = b.connected(ctx, func(client *braid.Client) error {
		took, err = produce(ctx, jobs, producers, func(ctx context.Context) error {
			_, err := braidJob.Enqueue(ctx, client, b.payload)
			return err
		})
		return err
	})
	return took, err
}

func (b *braidSystem) EnqueueBatches(ctx context.Context, jobs int) (took time.Duration, err error) {
	payloads := make([]string, batchSize)
	for i := range payloads {
		payloads[i] = b.payload
	}
	err = b.connected(ctx, func(client *braid.Client) error {
		// Two calls under way, so that client and server work at the same time.
		var left atomic.Int64
		left.Store(int64(jobs))
		took, err = produce(ctx, (jobs+batchSize-1)/batchSize, 2, func(ctx context.Context) error {
			_, err := braidJob.EnqueueMany(ctx, client, payloads[:min(batchSize, batchSize+left.Add(-batchSize))])
			return err
		})
		return err
	})
	return took, err
}

func (b *braidSystem) Process(ctx context.Context, jobs, concurrency int) (took time.Duration, err error) {
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
			err = poll(ctx, func() (bool, error) {
				counts, err := client.Counts(ctx, braidQueue)
				return counts.Completed == int64(jobs), err
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
func (b *braidSystem) connected(ctx context.Context, do func(*braid.Client) error) (err error) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := redisstore.Open(ctx, b.url, redisstore.WithLogger(quiet))
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

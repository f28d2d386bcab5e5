package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"github.com/braidmq/braid/bench/compare"
)

// asynqSystem is github.com/hibiken/asynq. It has no call for many jobs: its batches
// are single enqueues.
type asynqSystem struct {
	addr    string
	payload []byte
}

const (
	asynqType      = "bench"
	asynqQueue     = "default"
	asynqRetention = 24 * time.Hour
)

func (a *asynqSystem) Name() string { return "asynq" }

func (a *asynqSystem) redis() asynq.RedisClientOpt { return asynq.RedisClientOpt{Addr: a.addr} }

func (a *asynqSystem) Enqueue(ctx context.Context, jobs, producers int) (time.Duration, error) {
	client := asynq.NewClient(a.redis())
	defer func() { _ = client.Close() }()
	if err := client.Ping(); err != nil {
		return 0, err
	}
	return compare.Produce(ctx, jobs, producers, func(ctx context.Context) error {
		_, err := client.EnqueueContext(ctx, asynq.NewTask(asynqType, a.payload), asynq.Retention(asynqRetention))
		return err
	})
}

func (a *asynqSystem) EnqueueBatches(ctx context.Context, jobs int) (time.Duration, error) {
	return a.Enqueue(ctx, jobs, producers)
}

func (a *asynqSystem) Process(ctx context.Context, jobs, concurrency int) (time.Duration, error) {
	inspector := asynq.NewInspector(a.redis())
	defer func() { _ = inspector.Close() }()
	server := asynq.NewServer(a.redis(), asynq.Config{Concurrency: concurrency, LogLevel: asynq.ErrorLevel})
	var ran atomic.Int64
	all := make(chan struct{})
	var once sync.Once
	start := time.Now()
	if err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if ran.Add(1) == int64(jobs) {
			once.Do(func() { close(all) })
		}
		return nil
	})); err != nil {
		return 0, err
	}
	defer server.Shutdown()
	select {
	case <-all:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	err := compare.Poll(ctx, func() (bool, error) {
		info, err := inspector.GetQueueInfo(asynqQueue)
		return err == nil && info.Completed == jobs, err
	})
	return time.Since(start), err
}

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
)

const (
	producers   = 2
	batch       = 250
	concurrency = 500
	// mostOpen is how many jobs may be open at once: producers wait for workers.
	mostOpen = 10_000
)

// loads are the kinds of load, by what their jobs are enqueued with.
var loads = map[string][]braid.EnqueueOption{
	"plain":   nil,
	"delayed": {braid.In(100 * time.Millisecond)},
	"kept":    {braid.Keep(braid.KeepLast(1000))},
}

// load is jobs that do nothing, produced as quickly as they are worked.
type load struct {
	client  *braid.Client
	job     *braid.Job[int, braid.None]
	options []braid.EnqueueOption
	worker  *braid.Worker

	begun, done atomic.Int64 // jobs
	cancel      context.CancelCauseFunc
	running     sync.WaitGroup
}

func newLoad(client *braid.Client, options []braid.EnqueueOption) *load {
	l := &load{client: client, job: braid.NewJob[int, braid.None]("held"), options: options,
		worker: braid.NewWorker(client, braid.WorkerOptions{Concurrency: concurrency})}
	l.job.Handle(l.worker, func(context.Context, int) (braid.None, error) {
		l.done.Add(1)
		return braid.None{}, nil
	})
	return l
}

// start begins to produce and to work, and returns the context of the load, which ends
// with an error of either.
func (l *load) start(ctx context.Context) context.Context {
	ctx, l.cancel = context.WithCancelCause(ctx)
	for range producers {
		l.running.Go(func() {
			if err := l.produce(ctx); err != nil && ctx.Err() == nil {
				l.cancel(err)
			}
		})
	}
	l.running.Go(func() {
		if err := l.worker.Run(context.WithoutCancel(ctx)); err != nil {
			l.cancel(err)
		}
	})
	return ctx
}

func (l *load) produce(ctx context.Context) error {
	pause := time.NewTicker(time.Millisecond)
	defer pause.Stop()
	payloads := make([]int, batch)
	for ctx.Err() == nil {
		if l.begun.Load()-l.done.Load() > mostOpen {
			<-pause.C
			continue
		}
		l.begun.Add(batch)
		if _, err := l.job.EnqueueMany(ctx, l.client, payloads, l.options...); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the load.
func (l *load) stop() error {
	l.cancel(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := l.worker.Stop(ctx)
	l.running.Wait()
	return err
}

// rates returns how many jobs ran per second, step by step.
func (l *load) rates(ctx context.Context, d time.Duration) (rates []int64, err error) {
	tick := time.NewTicker(step)
	defer tick.Stop()
	last, since := l.done.Load(), time.Now()
	for range max(1, d/step) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		done, now := l.done.Load(), time.Now()
		rates = append(rates, int64(float64(done-last)/now.Sub(since).Seconds()))
		last, since = done, now
	}
	return rates, nil
}

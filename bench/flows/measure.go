package main

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// bench measures on a fresh store each time.
type bench struct {
	open   func() (driver.Store, error)
	logger *slog.Logger
}

var (
	noop   = braid.NewJob[string, string]("noop", braid.Queue("children"))
	parent = braid.NewFlow("bench", braid.NewJob[int, int64]("parent", braid.Queue("parents")), braid.Children(noop))

	payload = strings.Repeat("x", 35)
)

// flowResult is how long the parts of a flow took.
type flowResult struct {
	whole   time.Duration // from the enqueue to the result
	collect time.Duration // reading all results
	heap    int64         // how much the heap grew while collecting
}

// jobs enqueues and processes plain jobs.
func (b bench) jobs(ctx context.Context, n, slots int) (time.Duration, error) {
	var took time.Duration
	err := b.with(ctx, slots, n, nil, func(client *braid.Client, worker *braid.Worker, all <-chan struct{}) error {
		start := time.Now()
		if err := enqueue(ctx, client, n); err != nil {
			return err
		}
		err := wait(ctx, all)
		took = time.Since(start)
		return err
	})
	return took, err
}

// sharing runs one flow whose children are held back until all of them wait, and
// returns how long its handlers took from then on.
func (b bench) sharing(ctx context.Context, n, slots int) (time.Duration, error) {
	var took time.Duration
	var first atomic.Int64
	collected := func(began time.Time, _ time.Duration, _ int64) { took = began.Sub(time.Unix(0, first.Load())) }
	err := b.with(ctx, slots, n, &first, func(client *braid.Client, _ *braid.Worker, _ <-chan struct{}) error {
		if err := client.Pause(ctx, "children"); err != nil {
			return err
		}
		handle, err := parent.Enqueue(ctx, client, n)
		if err != nil {
			return err
		}
		for {
			counts, err := client.Counts(ctx, "children")
			if err != nil {
				return err
			}
			if counts.Waiting == int64(n) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := client.Resume(ctx, "children"); err != nil {
			return err
		}
		_, err = handle.Wait(ctx)
		return err
	}, collected)
	return took, err
}

// processing processes a backlog of plain jobs.
func (b bench) processing(ctx context.Context, n, slots, rounds int) (best, error) {
	var fastest best
	for range rounds {
		store, err := b.open()
		if err != nil {
			return fastest, err
		}
		client := braid.NewClient(store, braid.WithLogger(b.logger))
		err = enqueue(ctx, client, n)
		var first atomic.Int64
		if err == nil {
			err = b.on(ctx, client, slots, n, &first, func(_ *braid.Worker, all <-chan struct{}) error {
				err := wait(ctx, all)
				fastest.add(time.Since(time.Unix(0, first.Load())))
				return err
			})
		}
		client.Close()
		if err = errors.Join(err, store.Close()); err != nil {
			return fastest, err
		}
	}
	return fastest, nil
}

// flow runs one flow.
func (b bench) flow(ctx context.Context, n, slots int) (flowResult, error) {
	var result flowResult
	collected := func(_ time.Time, took time.Duration, heap int64) { result.collect, result.heap = took, heap }
	err := b.with(ctx, slots, n, nil, func(client *braid.Client, worker *braid.Worker, _ <-chan struct{}) error {
		start := time.Now()
		sum, err := parent.Do(ctx, client, n)
		result.whole = time.Since(start)
		if err == nil && sum != int64(n) {
			err = errors.New("the flow collected " + strconv.FormatInt(sum, 10) + " results")
		}
		return err
	}, collected)
	return result, err
}

// with opens a store and runs a worker on it during do.
func (b bench) with(
	ctx context.Context, slots, n int, first *atomic.Int64,
	do func(client *braid.Client, worker *braid.Worker, all <-chan struct{}) error,
	collected ...func(began time.Time, took time.Duration, heap int64),
) error {
	store, err := b.open()
	if err != nil {
		return err
	}
	client := braid.NewClient(store, braid.WithLogger(b.logger))
	err = b.on(ctx, client, slots, n, first, func(worker *braid.Worker, all <-chan struct{}) error {
		return do(client, worker, all)
	}, collected...)
	client.Close()
	return errors.Join(err, store.Close())
}

// on runs a worker during do; all is closed when n children or jobs have run.
func (b bench) on(
	ctx context.Context, client *braid.Client, slots, n int, first *atomic.Int64,
	do func(worker *braid.Worker, all <-chan struct{}) error,
	collected ...func(began time.Time, took time.Duration, heap int64),
) error {
	worker := braid.NewWorker(client, braid.WorkerOptions{Concurrency: slots})
	all := make(chan struct{})
	var ran atomic.Int64
	noop.Handle(worker, func(_ context.Context, s string) (string, error) {
		count := ran.Add(1)
		if count == 1 && first != nil {
			first.Store(time.Now().UnixNano())
		}
		if count == int64(n) {
			close(all)
		}
		return s, nil
	})
	parent.Handle(worker,
		func(_ context.Context, n int, out *braid.FanOut) error {
			for i := range n {
				noop.Child(out, strconv.Itoa(i), payload)
			}
			return out.Err()
		},
		func(ctx context.Context, n int, results *braid.Results) (int64, error) {
			began := time.Now()
			before, most := heapInUse(), uint64(0)
			seen := int64(0)
			for child, err := range noop.Results(ctx, results) {
				if err != nil {
					return 0, err
				}
				if child.Err != nil {
					return 0, child.Err
				}
				if seen++; seen%int64(max(1, n/4)) == 0 { // as often, whatever the number
					most = max(most, heapInUse())
				}
			}
			for _, tell := range collected {
				tell(began, time.Since(began), int64(max(most, before)-before))
			}
			return seen, nil
		})
	var running sync.WaitGroup
	var failed error
	running.Go(func() { failed = worker.Run(ctx) })
	err := do(worker, all)
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err = errors.Join(err, worker.Stop(stopCtx))
	running.Wait()
	return errors.Join(err, failed)
}

func enqueue(ctx context.Context, client *braid.Client, n int) error {
	payloads := make([]string, min(n, 1000))
	for i := range payloads {
		payloads[i] = payload
	}
	for n > 0 {
		batch := payloads[:min(n, len(payloads))]
		if _, err := noop.EnqueueMany(ctx, client, batch); err != nil {
			return err
		}
		n -= len(batch)
	}
	return nil
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// heapInUse is what is reachable, after a collection.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

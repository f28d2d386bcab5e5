package benchmark

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
)

// processBacklog works off the jobs of the phases before, with a handler that does
// nothing, until the store holds none that has not finished.
func (b *bench) processBacklog(ctx context.Context) (Phase, error) {
	job, queue := b.definition("backlog")
	var handled atomic.Int64
	all := make(chan struct{})
	worker, stop := b.startWorker(ctx, job, func(context.Context, string) (braid.None, error) {
		if handled.Add(1) == int64(b.Jobs) {
			close(all)
		}
		return braid.None{}, nil
	})
	start := time.Now()
	go worker()
	err := await(ctx, all, stop.ended)
	for err == nil {
		var counts braid.Counts
		if counts, err = b.client.Counts(ctx, queue); err != nil || counts.Waiting+counts.Delayed+counts.Active == 0 {
			break
		}
		err = pause(ctx, time.Millisecond)
	}
	seconds := since(start)
	if stopErr := stop.now(); err == nil {
		err = stopErr
	}
	return Phase{
		Name:     "process a backlog",
		Measured: fmt.Sprintf("from the worker's start until the last result is stored, %d at once, a handler that does nothing", b.Concurrency),
		Jobs:     b.Jobs, Seconds: seconds,
	}, err
}

// steadyLoad enqueues at a pace that leaves the worker idle, and measures how long a
// job takes from the call of Enqueue to the start of its handler.
func (b *bench) steadyLoad(ctx context.Context) (Phase, error) {
	job, _ := b.definition("steady")
	called := make([]time.Time, b.SteadyJobs)
	took := make([]time.Duration, b.SteadyJobs)
	var handled atomic.Int64
	all := make(chan struct{})
	worker, stop := b.startWorker(ctx, job, func(_ context.Context, payload string) (braid.None, error) {
		started := time.Now()
		number, err := strconv.Atoi(strings.TrimRight(payload, "."))
		if err != nil {
			return braid.None{}, err
		}
		took[number] = started.Sub(called[number])
		if handled.Add(1) == int64(b.SteadyJobs) {
			close(all)
		}
		return braid.None{}, nil
	})
	go worker()
	start := time.Now()
	var err error
	for i := 0; i < b.SteadyJobs && err == nil; i++ {
		due := start.Add(time.Duration(i) * time.Second / time.Duration(b.Rate))
		if err = pause(ctx, time.Until(due)); err != nil {
			break
		}
		called[i] = time.Now()
		_, err = job.Enqueue(ctx, b.client, b.payload(strconv.Itoa(i)))
	}
	if err == nil {
		err = await(ctx, all, stop.ended)
	}
	seconds := since(start)
	if stopErr := stop.now(); err == nil {
		err = stopErr
	}
	return Phase{
		Name:     "steady load",
		Measured: fmt.Sprintf("one job at a time, %d a second, on an idle worker", b.Rate),
		Jobs:     b.SteadyJobs, Seconds: seconds,
		Latency: distribution("from the call of Enqueue to the handler's start", took),
	}, err
}

// stopper ends a worker.
type stopper struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when the worker has ended
	err    error         // why, once it has
}

// now stops the worker, waits for it, and returns its error.
func (s *stopper) now() error {
	s.cancel()
	<-s.ended
	return s.err
}

// startWorker returns a function that runs a worker, and what ends it.
func (b *bench) startWorker(ctx context.Context, job *braid.Job[string, braid.None],
	handler func(context.Context, string) (braid.None, error),
) (run func(), stop *stopper) {
	worker := braid.NewWorker(b.client, braid.WorkerOptions{Concurrency: b.Concurrency, Logger: b.Logger})
	job.Handle(worker, handler)
	ctx, cancel := context.WithCancel(ctx)
	stop = &stopper{cancel: cancel, ended: make(chan struct{})}
	return func() {
		stop.err = worker.Run(ctx)
		close(stop.ended)
	}, stop
}

// await waits for all, unless ctx or the worker ends first.
func await(ctx context.Context, all, ended <-chan struct{}) error {
	select {
	case <-all:
		return nil
	case <-ended:
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return fmt.Errorf("the worker ended early")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause waits for d, if that is positive, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

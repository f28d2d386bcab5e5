package compare

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Produce calls enqueue so many times, from so many goroutines, and measures.
func Produce(ctx context.Context, calls, goroutines int, enqueue func(context.Context) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var left atomic.Int64
	left.Store(int64(calls))
	var running sync.WaitGroup
	start := time.Now()
	for range goroutines {
		running.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				if err := enqueue(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return time.Since(start), context.Cause(ctx)
}

// Poll waits until done says so, which it asks each millisecond: for the last few jobs,
// whose handlers have ended and which are not stored as finished yet.
func Poll(ctx context.Context, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

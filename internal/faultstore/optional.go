package faultstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

var _ interface {
	driver.Store
	driver.Waker
	driver.FinishWatcher
	driver.CancelWatcher
} = (*Store)(nil)

// Info implements driver.Store; it has no faults.
func (s *Store) Info() driver.Info { return s.inner.Info() }

// Ping implements driver.Store.
func (s *Store) Ping(ctx context.Context) error {
	return callError(ctx, s, "Ping", func() error { return s.inner.Ping(ctx) })
}

// Close closes the inner store; it has no faults.
func (s *Store) Close() error { return s.inner.Close() }

// AwaitWake implements driver.Waker.
func (s *Store) AwaitWake(ctx context.Context, queues []string, since driver.WakeCursor) error {
	return callError(ctx, s, "AwaitWake", func() error {
		if waker, ok := s.inner.(driver.Waker); ok {
			return waker.AwaitWake(ctx, queues, since)
		}
		<-ctx.Done()
		return ctx.Err()
	})
}

// WatchFinished implements driver.FinishWatcher.
func (s *Store) WatchFinished(ctx context.Context, id string) (<-chan driver.Finished, error) {
	return call(ctx, s, "WatchFinished", func() (<-chan driver.Finished, error) {
		if watcher, ok := s.inner.(driver.FinishWatcher); ok {
			return watcher.WatchFinished(ctx, id)
		}
		closed := make(chan driver.Finished)
		close(closed)
		return closed, nil
	})
}

// WatchCancels implements driver.CancelWatcher.
func (s *Store) WatchCancels(ctx context.Context, deliver func(id string)) error {
	return callError(ctx, s, "WatchCancels", func() error {
		if watcher, ok := s.inner.(driver.CancelWatcher); ok {
			return watcher.WatchCancels(ctx, deliver)
		}
		<-ctx.Done()
		return ctx.Err()
	})
}

package faultstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// Enqueue implements driver.Producer.
func (s *Store) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	return call(ctx, s, "Enqueue", func() ([]driver.EnqueueResult, error) {
		return s.inner.Enqueue(ctx, now, batch)
	})
}

// CancelByDedupe implements driver.Producer.
func (s *Store) CancelByDedupe(ctx context.Context, now driver.Time, name, key string) (bool, error) {
	return call(ctx, s, "CancelByDedupe", func() (bool, error) {
		return s.inner.CancelByDedupe(ctx, now, name, key)
	})
}

// Claim implements driver.Consumer.
func (s *Store) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	return call(ctx, s, "Claim", func() (driver.ClaimResult, error) {
		return s.inner.Claim(ctx, now, req)
	})
}

// Ack implements driver.Consumer.
func (s *Store) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	return call(ctx, s, "Ack", func() ([]driver.AckResult, error) {
		return s.inner.Ack(ctx, now, batch)
	})
}

// Heartbeat implements driver.Consumer.
func (s *Store) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, duration driver.Millis) (driver.HeartbeatResult, error) {
	return call(ctx, s, "Heartbeat", func() (driver.HeartbeatResult, error) {
		return s.inner.Heartbeat(ctx, now, locks, duration)
	})
}

// RecoverStalled implements driver.Consumer.
func (s *Store) RecoverStalled(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
	return call(ctx, s, "RecoverStalled", func() (driver.RecoverResult, error) {
		return s.inner.RecoverStalled(ctx, now, req)
	})
}

// Jobs implements driver.Inspector.
func (s *Store) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	return call(ctx, s, "Jobs", func() ([]*driver.Job, error) {
		return s.inner.Jobs(ctx, ids)
	})
}

// Attempts implements driver.Inspector.
func (s *Store) Attempts(ctx context.Context, id string) ([]driver.Attempt, error) {
	return call(ctx, s, "Attempts", func() ([]driver.Attempt, error) {
		return s.inner.Attempts(ctx, id)
	})
}

// List implements driver.Inspector.
func (s *Store) List(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
	return call(ctx, s, "List", func() (driver.ListResult, error) {
		return s.inner.List(ctx, req)
	})
}

// Counts implements driver.Inspector.
func (s *Store) Counts(ctx context.Context, queue string) (driver.Counts, error) {
	return call(ctx, s, "Counts", func() (driver.Counts, error) {
		return s.inner.Counts(ctx, queue)
	})
}

// Queues implements driver.Inspector.
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	return call(ctx, s, "Queues", func() ([]string, error) {
		return s.inner.Queues(ctx)
	})
}

// Position implements driver.Inspector.
func (s *Store) Position(ctx context.Context, id string) (driver.Opt[int], error) {
	return call(ctx, s, "Position", func() (driver.Opt[int], error) {
		return s.inner.Position(ctx, id)
	})
}

// Cancel implements driver.Operator.
func (s *Store) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return call(ctx, s, "Cancel", func() ([]driver.OperateResult, error) {
		return s.inner.Cancel(ctx, now, ids)
	})
}

// Promote implements driver.Operator.
func (s *Store) Promote(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return call(ctx, s, "Promote", func() ([]driver.OperateResult, error) {
		return s.inner.Promote(ctx, now, ids)
	})
}

// Retry implements driver.Operator.
func (s *Store) Retry(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	return call(ctx, s, "Retry", func() ([]driver.OperateResult, error) {
		return s.inner.Retry(ctx, now, ids)
	})
}

// Remove implements driver.Operator.
func (s *Store) Remove(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
	return call(ctx, s, "Remove", func() ([]bool, error) {
		return s.inner.Remove(ctx, now, ids)
	})
}

// Pause implements driver.Operator.
func (s *Store) Pause(ctx context.Context, queue string) error {
	return callError(ctx, s, "Pause", func() error { return s.inner.Pause(ctx, queue) })
}

// Resume implements driver.Operator.
func (s *Store) Resume(ctx context.Context, queue string) error {
	return callError(ctx, s, "Resume", func() error { return s.inner.Resume(ctx, queue) })
}

// PausedQueues implements driver.Operator.
func (s *Store) PausedQueues(ctx context.Context) ([]string, error) {
	return call(ctx, s, "PausedQueues", func() ([]string, error) {
		return s.inner.PausedQueues(ctx)
	})
}

package braid

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// Cancel cancels a job that has not finished: a waiting or delayed one at once; a
// running one by ending its handler's context, with the cause ErrCancelRequested.
// A handler that returns a result all the same has completed. A finished job is
// ErrNotCancellable, an unknown one ErrNotFound.
func (c *Client) Cancel(ctx context.Context, id string) error {
	return c.operateOne(ctx, driver.Operator.Cancel, id)
}

// Promote makes a delayed job run now. Others are ErrNotPromotable.
func (c *Client) Promote(ctx context.Context, id string) error {
	return c.operateOne(ctx, driver.Operator.Promote, id)
}

// Retry gives a failed job a fresh budget of attempts and makes it wait again. Its
// ledger stays. Others are ErrNotRetryable.
func (c *Client) Retry(ctx context.Context, id string) error {
	return c.operateOne(ctx, driver.Operator.Retry, id)
}

// Remove deletes a job and its ledger, and reports whether it did: a job that runs,
// or waits for its children, stays; an unknown one is no error.
func (c *Client) Remove(ctx context.Context, id string) (bool, error) {
	removed, err := c.RemoveMany(ctx, id)
	if err != nil {
		return false, err
	}
	return removed[0], nil
}

// CancelByKey cancels the waiting or delayed job of a name that holds a dedup key,
// and reports whether there was one.
func (c *Client) CancelByKey(ctx context.Context, name, key string) (bool, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return false, err
	}
	defer cancel()
	if err := driver.CheckText("job name", name, driver.MaxNameBytes); err != nil {
		return false, err
	}
	if err := driver.CheckText("dedupe key", key, driver.MaxKeyBytes); err != nil {
		return false, err
	}
	return c.store.driver.CancelByDedupe(ctx, c.now(), name, key)
}

// Pause keeps the jobs of a queue from being started, until Resume. Jobs that run go
// on, and more can be enqueued.
func (c *Client) Pause(ctx context.Context, queue string) error {
	return c.onQueue(ctx, queue, driver.Operator.Pause)
}

// Resume ends a pause. It is no error if there was none.
func (c *Client) Resume(ctx context.Context, queue string) error {
	return c.onQueue(ctx, queue, driver.Operator.Resume)
}

// PausedQueues returns the names of the paused queues, sorted.
func (c *Client) PausedQueues(ctx context.Context) ([]string, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return c.store.driver.PausedQueues(ctx)
}

func (c *Client) onQueue(ctx context.Context, queue string, do func(driver.Operator, context.Context, string) error) error {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	if err := driver.CheckText("queue", queue, driver.MaxNameBytes); err != nil {
		return err
	}
	return do(c.store.driver, ctx, queue)
}

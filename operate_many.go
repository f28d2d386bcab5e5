package braid

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/braidmq/braid/driver"
)

// OperateResult is what an operation on a batch did to one of its jobs.
type OperateResult struct {
	ID string
	// State is the state after the operation, if Err is nil. Active after a cancel
	// means that the job's worker was asked to end it.
	State State
	// Err is nil, or matches ErrNotFound, ErrNotCancellable, ErrNotPromotable or
	// ErrNotRetryable. Then the job was not changed.
	Err error
}

// CancelMany is [Client.Cancel] for several jobs, answered in their order, each on
// its own.
func (c *Client) CancelMany(ctx context.Context, ids ...string) ([]OperateResult, error) {
	return c.operate(ctx, driver.Operator.Cancel, ids)
}

// PromoteMany is [Client.Promote] for several jobs, answered in their order, each on
// its own.
func (c *Client) PromoteMany(ctx context.Context, ids ...string) ([]OperateResult, error) {
	return c.operate(ctx, driver.Operator.Promote, ids)
}

// RetryMany is [Client.Retry] for several jobs, answered in their order, each on its
// own.
func (c *Client) RetryMany(ctx context.Context, ids ...string) ([]OperateResult, error) {
	return c.operate(ctx, driver.Operator.Retry, ids)
}

// RemoveMany is [Client.Remove] for several jobs, answered in their order.
func (c *Client) RemoveMany(ctx context.Context, ids ...string) ([]bool, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	removed, err := answerIDs(ids, false, func(ids []string) ([]bool, error) {
		return c.store.driver.Remove(ctx, c.now(), ids)
	})
	if err != nil {
		return nil, err
	}
	if slices.Contains(removed, true) {
		c.shared.pulse(c.store.name)
	}
	return removed, nil
}

type operation = func(driver.Operator, context.Context, driver.Time, []string) ([]driver.OperateResult, error)

func (c *Client) operateOne(ctx context.Context, do operation, id string) error {
	results, err := c.operate(ctx, do, []string{id})
	if err != nil {
		return err
	}
	return results[0].Err
}

func (c *Client) operate(ctx context.Context, do operation, ids []string) ([]OperateResult, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	unknown := driver.OperateResult{Err: driver.ErrNotFound}
	answers, err := answerIDs(ids, unknown, func(ids []string) ([]driver.OperateResult, error) {
		return do(c.store.driver, ctx, c.now(), ids)
	})
	if err != nil {
		return nil, err
	}
	results := make([]OperateResult, len(answers))
	cancelled := false
	for i, answer := range answers {
		results[i] = OperateResult{ID: ids[i], State: answer.State, Err: answer.Err}
		if errors.Is(answer.Err, driver.ErrNotFound) {
			results[i].Err = fmt.Errorf("%w: job %q", ErrNotFound, ids[i])
		}
		cancelled = cancelled || answer.State == driver.Cancelled
	}
	if cancelled {
		c.shared.pulse(c.store.name)
	}
	return results, nil
}

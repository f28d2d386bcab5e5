package drivertest

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// operation is Cancel, Promote or Retry of a store.
type operation = func(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error)

// operate calls an operation on a batch of ids.
func (t *T) operate(op operation, now driver.Time, ids ...string) []driver.OperateResult {
	t.Helper()
	results, err := op(t.ctx, now, ids)
	if err != nil {
		t.Fatalf("operating on %q: %v", ids, err)
	}
	if len(results) != len(ids) {
		t.Fatalf("operating on %d ids answered %d results", len(ids), len(results))
	}
	return results
}

//go:build unix

package demo

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// flaky loses the reply of every third enqueue after it was applied, and fails every
// third read.
type flaky struct {
	*memstore.Store
	enqueues, reads, faults atomic.Int64
}

func (f *flaky) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	results, err := f.Store.Enqueue(ctx, now, batch)
	if f.enqueues.Add(1)%3 == 1 {
		f.faults.Add(1)
		return nil, &driver.StoreError{Op: "Enqueue", Err: errors.New("the reply was lost"), Retryable: true, OutcomeUnknown: true}
	}
	return results, err
}

func (f *flaky) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	if f.reads.Add(1)%3 == 1 {
		f.faults.Add(1)
		return nil, &driver.StoreError{Op: "Jobs", Err: errors.New("the connection broke"), Retryable: true}
	}
	return f.Store.Jobs(ctx, ids)
}

func TestAStoreThatFailsNowAndThenChangesNothingInTheReport(t *testing.T) {
	root := tree(t)
	store := &flaky{Store: memstore.New()}
	defer store.Close()
	report := run(t, t.Context(), newDemo(t, root, store))
	want := compute(t, root)
	if report.Files != want.files || report.Bytes != want.bytes || report.Duplicates != want.duplicates || report.Failed != 0 {
		t.Errorf("report %+v\nwant %+v", report, want)
	}
	if store.faults.Load() < 2 {
		t.Errorf("only %d faults", store.faults.Load())
	}
}

func TestAStoreThatIsClosedEndsTheDemoWithItsError(t *testing.T) {
	store := memstore.New()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := newDemo(t, tree(t), store).Run(t.Context())
	if !errors.Is(err, driver.ErrClosed) {
		t.Errorf("report %+v, error %v", report, err)
	}
}

package braid_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/braidmq/braid"
)

func (b *bench) enqueueNamed(name string, opts ...braid.EnqueueOption) string {
	b.Helper()
	h, err := b.client.Enqueue(b.ctx, name, nil, opts...)
	if err != nil {
		b.Fatalf("enqueue %q: %v", name, err)
	}
	return h.ID
}

// failed leases a job of that name and fails it for good.
func (b *bench) failed(name string) string {
	b.Helper()
	id := b.enqueueNamed(name, braid.Queue("failing-"+name))
	b.settle(b.lease(braid.LeaseRequest{Queue: "failing-" + name, Names: []string{name}, Worker: "w"})[0],
		braid.Settlement{Kind: braid.SettleFailed, Message: "no luck", NoRetry: true})
	return id
}

func (b *bench) state(id string) braid.State {
	b.Helper()
	job, err := b.client.Get(b.ctx, id)
	if err != nil {
		b.Fatalf("get %q: %v", id, err)
	}
	return job.State
}

func TestBatchesAreAnsweredJobByJob(t *testing.T) {
	b := newBench(t)
	waiting, delayed := b.enqueueNamed("a"), b.enqueueNamed("a", braid.In(1e12))
	failed := b.failed("b")

	promoted, err := b.client.PromoteMany(b.ctx, delayed, waiting, "none")
	if err != nil || promoted[0].State != braid.Waiting || !errors.Is(promoted[1].Err, braid.ErrNotPromotable) ||
		!errors.Is(promoted[2].Err, braid.ErrNotFound) || promoted[2].ID != "none" {
		t.Errorf("promote: %+v, %v", promoted, err)
	}
	retried, err := b.client.RetryMany(b.ctx, failed, waiting)
	if err != nil || retried[0].State != braid.Waiting || !errors.Is(retried[1].Err, braid.ErrNotRetryable) {
		t.Errorf("retry: %+v, %v", retried, err)
	}
	cancelled, err := b.client.CancelMany(b.ctx, waiting, waiting)
	if err != nil || cancelled[0].State != braid.Cancelled || !errors.Is(cancelled[1].Err, braid.ErrNotCancellable) {
		t.Errorf("cancel: %+v, %v", cancelled, err)
	}
	removed, err := b.client.RemoveMany(b.ctx, waiting, "none", delayed)
	if err != nil || !slices.Equal(removed, []bool{true, false, true}) {
		t.Errorf("remove: %v, %v", removed, err)
	}
}

func TestABulkOperationGoesThroughAllThatItSelects(t *testing.T) {
	b := newBench(t)
	for i := range 7 {
		b.enqueueNamed("a", braid.ID(fmt.Sprint("a", i)), braid.Metadata(map[string]string{"tenant": fmt.Sprint(i % 2)}))
	}
	other := b.enqueueNamed("b")

	dry, err := b.client.Bulk(b.ctx, braid.BulkRequest{Action: braid.BulkCancel, Name: "a", DryRun: true})
	if err != nil || dry.Matched != 7 || dry.Changed != 7 || dry.Cursor != "" {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	if b.state("a0") != braid.Waiting {
		t.Fatal("the dry run changed a job")
	}

	req := braid.BulkRequest{Action: braid.BulkCancel, Metadata: map[string]string{"tenant": "0"}, Limit: 3}
	first, err := b.client.Bulk(b.ctx, req)
	if err != nil || first.Changed != 3 || first.Cursor == "" {
		t.Fatalf("first call: %+v, %v", first, err)
	}
	req.Cursor = first.Cursor
	second, err := b.client.Bulk(b.ctx, req)
	if err != nil || second.Changed != 1 || second.Cursor != "" {
		t.Fatalf("second call: %+v, %v", second, err)
	}
	for i := range 7 {
		want := braid.Cancelled
		if i%2 == 1 {
			want = braid.Waiting
		}
		if got := b.state(fmt.Sprint("a", i)); got != want {
			t.Errorf("a%d is %v, want %v", i, got, want)
		}
	}

	remove, err := b.client.Bulk(b.ctx, braid.BulkRequest{Action: braid.BulkRemove, Name: "a"})
	if err != nil || remove.Matched != 4 || remove.Changed != 4 {
		t.Errorf("remove takes finished jobs: %+v, %v", remove, err)
	}
	if b.state(other) != braid.Waiting {
		t.Error("a job of another name was touched")
	}
}

func TestABulkOperationReportsWhatItRefuses(t *testing.T) {
	b := newBench(t)
	id := b.enqueueNamed("a")
	for _, dry := range []bool{true, false} {
		result, err := b.client.Bulk(b.ctx, braid.BulkRequest{Action: braid.BulkRetry, States: []braid.State{braid.Waiting}, DryRun: dry})
		if err != nil || result.Matched != 1 || result.Changed != 0 || len(result.Refused) != 1 ||
			result.Refused[0].ID != id || !errors.Is(result.Refused[0].Err, braid.ErrNotRetryable) {
			t.Errorf("dry run %v: %+v, %v", dry, result, err)
		}
	}
	b.lease(braid.LeaseRequest{Names: []string{"a"}, Worker: "w"})
	for _, dry := range []bool{true, false} {
		result, err := b.client.Bulk(b.ctx, braid.BulkRequest{Action: braid.BulkRemove, Name: "a", States: []braid.State{braid.Active}, DryRun: dry})
		if err != nil || result.Changed != 0 || len(result.Refused) != 1 {
			t.Errorf("remove of an active job, dry run %v: %+v, %v", dry, result, err)
		}
	}
}

func TestABulkOperationNeedsAFilterAndAnAction(t *testing.T) {
	b := newBench(t)
	for field, req := range map[string]braid.BulkRequest{
		"filter": {Action: braid.BulkCancel},
		"action": {Name: "a"},
		"limit":  {Name: "a", Action: braid.BulkCancel, Limit: 10_001},
		"cursor": {Name: "a", Action: braid.BulkCancel, Cursor: "nonsense"},
	} {
		var invalid *braid.InvalidError
		if _, err := b.client.Bulk(b.ctx, req); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%+v: %v, want the field %s", req, err, field)
		}
	}
}

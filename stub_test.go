package braid_test

import (
	"context"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// stubStore is a memory store with single methods replaced, where they are set.
type stubStore struct {
	*memstore.Store
	enqueue func(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error)
	watch   func(ctx context.Context, id string) (<-chan driver.Finished, error)
}

func newStub() *stubStore { return &stubStore{Store: memstore.New()} }

func (s *stubStore) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	if s.enqueue == nil {
		return s.Store.Enqueue(ctx, now, batch)
	}
	return s.enqueue(ctx, batch)
}

func (s *stubStore) WatchFinished(ctx context.Context, id string) (<-chan driver.Finished, error) {
	if s.watch == nil {
		return s.Store.WatchFinished(ctx, id)
	}
	return s.watch(ctx, id)
}

// apply really stores a batch, from inside a replaced Enqueue.
func (s *stubStore) apply(ctx context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	return s.Store.Enqueue(ctx, driver.TimeOf(time.Now()), batch)
}

// complete runs a waiting job of the default queue without a worker.
func complete(t *testing.T, store driver.Store, name string, exit string) {
	t.Helper()
	ctx, now := t.Context(), driver.TimeOf(time.Now())
	claim := driver.ClaimRequest{Queue: "default", Names: []string{name}, Worker: "w", Token: "t", Limit: 1, LockDuration: 1000}
	claimed, err := store.Claim(ctx, now, claim)
	if err != nil || len(claimed.Jobs) != 1 {
		t.Fatalf("claim: %+v, %v", claimed, err)
	}
	ack := driver.Ack{ID: claimed.Jobs[0].ID, Token: "t", Kind: driver.AckComplete, Exit: []byte(exit)}
	if results, err := store.Ack(ctx, now, []driver.Ack{ack}); err != nil || results[0].Err != nil {
		t.Fatalf("ack: %+v, %v", results, err)
	}
}

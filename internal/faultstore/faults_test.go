package faultstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/memstore"
)

func enqueue(ctx context.Context, s driver.Store, id string) error {
	_, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{
		{ID: id, Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1}},
	})
	return err
}

func exists(t *testing.T, s driver.Store, id string) bool {
	t.Helper()
	jobs, err := s.Jobs(t.Context(), []string{id})
	if err != nil {
		t.Fatal(err)
	}
	return jobs[0] != nil
}

func TestAFailedCallHasNoEffect(t *testing.T) {
	s := faultstore.New(memstore.New())
	defer s.Close()
	end := s.Fail(true, "Enqueue")
	if err := enqueue(t.Context(), s, "a"); !driver.Retryable(err) || driver.OutcomeUnknown(err) || !errors.Is(err, faultstore.ErrInjected) {
		t.Fatalf("got %v, want a retryable injected fault", err)
	}
	if exists(t, s, "a") {
		t.Error("the failed call had its effect")
	}
	end()
	if err := enqueue(t.Context(), s, "a"); err != nil {
		t.Errorf("after the fault's end: %v", err)
	}
	if n := s.Calls("Enqueue"); n != 2 {
		t.Errorf("%d calls were counted, want 2", n)
	}
}

func TestADroppedReplyHasItsEffect(t *testing.T) {
	s := faultstore.New(memstore.New())
	defer s.Close()
	s.DropReplies(1, "Enqueue")
	if err := enqueue(t.Context(), s, "a"); !driver.OutcomeUnknown(err) {
		t.Fatalf("got %v, want an unknown outcome", err)
	}
	if !exists(t, s, "a") {
		t.Error("the call had no effect")
	}
	if err := enqueue(t.Context(), s, "b"); err != nil {
		t.Errorf("the reply after the dropped one: %v", err)
	}
}

func TestABlackHoleEndsWithTheContext(t *testing.T) {
	s := faultstore.New(memstore.New())
	defer s.Close()
	s.BlackHole()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := enqueue(ctx, s, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestABlockedCallGoesOnWhenReleased(t *testing.T) {
	s := faultstore.New(memstore.New())
	defer s.Close()
	release := s.Block("Enqueue")
	result := make(chan error, 1)
	go func() { result <- enqueue(t.Context(), s, "a") }()
	if err := s.AwaitCalls(t.Context(), "Enqueue", 1); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-result:
		t.Fatalf("the blocked call returned %v", err)
	default:
	}
	release()
	if err := <-result; err != nil {
		t.Errorf("after the release: %v", err)
	}
}

func TestAPlainStoreHasNoOptionalPowers(t *testing.T) {
	s := faultstore.New(memstore.New())
	defer s.Close()
	if _, ok := s.Plain().(driver.Waker); ok {
		t.Error("the plain store pushes wake-ups")
	}
	if err := s.Plain().Ping(t.Context()); err != nil || s.Calls("Ping") != 1 {
		t.Errorf("the plain store does not go through the faults: %v", err)
	}
}

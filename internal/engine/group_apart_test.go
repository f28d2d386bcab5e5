package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// A call whose batch collides with a transaction of somebody's waits alone.
func TestCallsOfABatchThatIsContendedWaitApart(t *testing.T) {
	first, release := make(chan struct{}), make(chan struct{})
	group := NewGroup(func(ctx context.Context, batch []int) ([]int, error) {
		switch {
		case batch[0] == 0: // the call under way while the others gather
			<-first
		case slices.Contains(batch, 1):
			return nil, errContended()
		}
		return double(ctx, batch)
	}, waitForOnes(release), 10)
	do := func(ctx context.Context, n int) chan fate {
		got := make(chan fate, 1)
		go func() {
			res, err := group.Do(ctx, n)
			got <- fate{res, err}
		}()
		return got
	}
	zero := do(t.Context(), 0)
	for !isBusy(group) {
		time.Sleep(time.Millisecond)
	}
	impatient, leave := context.WithCancel(t.Context())
	blocked, left := do(t.Context(), 1), do(impatient, 1)
	free := []chan fate{do(t.Context(), 2), do(t.Context(), 3)}
	for pendingCalls(group) < 4 {
		time.Sleep(time.Millisecond)
	}
	close(first)
	<-zero
	for i, got := range free {
		if f := <-got; f.err != nil || f.res != 2*(i+2) {
			t.Errorf("the call of %d got %d, %v", i+2, f.res, f.err)
		}
	}
	// What comes later does not wait either.
	if res, err := group.Do(t.Context(), 4); res != 8 || err != nil {
		t.Errorf("a later call got %d, %v", res, err)
	}
	leave()
	if f := <-left; !errors.Is(f.err, context.Canceled) {
		t.Errorf("the caller that left got %d, %v", f.res, f.err)
	}
	select {
	case f := <-blocked:
		t.Errorf("the call that collides got %d, %v before the other transaction ended", f.res, f.err)
	default:
	}
	close(release)
	if f := <-blocked; f.res != 2 || f.err != nil {
		t.Errorf("the call that collided got %d, %v", f.res, f.err)
	}
}

// Nor does a lone call that collides hold up those that come after it, however few.
func TestALoneCallThatIsContendedHoldsUpNobody(t *testing.T) {
	release := make(chan struct{})
	group := NewGroup(func(ctx context.Context, batch []int) ([]int, error) {
		if slices.Contains(batch, 1) {
			return nil, errContended()
		}
		return double(ctx, batch)
	}, waitForOnes(release), 10)
	blocked := make(chan fate, 1)
	asked := make(chan struct{})
	go func() {
		close(asked)
		res, err := group.Do(t.Context(), 1)
		blocked <- fate{res, err}
	}()
	<-asked
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if res, err := group.Do(ctx, 2+i); res != 2*(2+i) || err != nil {
			t.Fatalf("a call that does not collide got %d, %v", res, err)
		}
		cancel()
		runtime.Gosched()
	}
	select {
	case f := <-blocked:
		t.Errorf("the call that collides got %d, %v before the other transaction ended", f.res, f.err)
	default:
	}
	close(release)
	if f := <-blocked; f.res != 2 || f.err != nil {
		t.Errorf("the call that collided got %d, %v", f.res, f.err)
	}
}

func errContended() error {
	return &driver.StoreError{Op: "Enqueue", Err: driver.ErrContended, Retryable: true}
}

// waitForOnes is a call in which a 1 waits for release, and which takes one request.
func waitForOnes(release <-chan struct{}) func(context.Context, []int) ([]int, error) {
	return func(ctx context.Context, batch []int) ([]int, error) {
		if len(batch) > 1 {
			return nil, fmt.Errorf("a batch of %d", len(batch))
		}
		if batch[0] == 1 {
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return double(ctx, batch)
	}
}

func isBusy(g *Group[int, int]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.flights > 0
}

func pendingCalls(g *Group[int, int]) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pending)
}

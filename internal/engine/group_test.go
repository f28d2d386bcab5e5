package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/braidmq/braid/driver"
)

func double(_ context.Context, batch []int) ([]int, error) {
	results := make([]int, len(batch))
	for i, n := range batch {
		results[i] = 2 * n
	}
	return results, nil
}

// gate is a do function whose calls wait until they are let through.
type gate struct {
	arrived chan []int
	open    chan struct{}
	do      func(context.Context, []int) ([]int, error)
}

func newGate() *gate {
	return &gate{arrived: make(chan []int, 100), open: make(chan struct{}), do: double}
}

func (g *gate) call(ctx context.Context, batch []int) ([]int, error) {
	g.arrived <- slices.Clone(batch)
	select {
	case <-g.open:
		return g.do(ctx, batch)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fate is what one caller got.
type fate struct {
	res int
	err error
}

// crowd starts one caller, waits for its call, and lets n more gather.
func crowd(t *testing.T, g *gate, group *Group[int, int], n int) (first chan fate, others []chan fate) {
	t.Helper()
	start := func(ctx context.Context, n int) chan fate {
		got := make(chan fate, 1)
		go func() {
			res, err := group.Do(ctx, n)
			got <- fate{res, err}
		}()
		return got
	}
	first = start(t.Context(), 0)
	receive(t, g.arrived, "the first call")
	for i := range n {
		others = append(others, start(t.Context(), i+1))
		eventually(t, "the caller waits", func() bool {
			group.mu.Lock()
			defer group.mu.Unlock()
			return len(group.pending) == i+1
		})
	}
	return first, others
}

func TestWhatArrivesDuringACallGoesInTheNextInOrder(t *testing.T) {
	g := newGate()
	group := NewGroup(g.call, g.call, 4)
	first, others := crowd(t, g, group, 6)
	close(g.open)
	if got := receive(t, first, "the first result"); got != (fate{0, nil}) {
		t.Errorf("the first caller got %+v", got)
	}
	for i, other := range others {
		if got := receive(t, other, "a result"); got != (fate{2 * (i + 1), nil}) {
			t.Errorf("caller %d got %+v", i+1, got)
		}
	}
	if second, third := receive(t, g.arrived, "a batch"), receive(t, g.arrived, "a batch"); !slices.Equal(second, []int{1, 2, 3, 4}) || !slices.Equal(third, []int{5, 6}) {
		t.Errorf("the batches were %v and %v", second, third)
	}
}

func TestACrowdHasTwoCallsUnderWay(t *testing.T) {
	g := newGate()
	group := NewGroup(g.call, g.call, 100)
	first, others := crowd(t, g, group, crowded-1)
	last := make(chan fate, 1)
	go func() {
		res, err := group.Do(t.Context(), crowded)
		last <- fate{res, err}
	}()
	if batch := receive(t, g.arrived, "the second call"); len(batch) != crowded {
		t.Errorf("the second call has %v; want the %d that waited", batch, crowded)
	}
	more := make(chan fate, 3*crowded)
	for n := range cap(more) {
		go func() {
			res, err := group.Do(t.Context(), n)
			more <- fate{res, err}
		}()
	}
	eventually(t, "all others wait", func() bool {
		group.mu.Lock()
		defer group.mu.Unlock()
		return len(group.pending) == cap(more)
	})
	if len(g.arrived) > 0 {
		t.Error("a third call began beside two")
	}
	close(g.open)
	for _, caller := range append(others, first, last) {
		if got := receive(t, caller, "a result"); got.err != nil {
			t.Error(got.err)
		}
	}
	for range cap(more) {
		if got := receive(t, more, "a result"); got.err != nil {
			t.Error(got.err)
		}
	}
}

func TestALoneCallerMakesItsCallItself(t *testing.T) {
	var inside int64
	group := NewGroup(func(_ context.Context, batch []int) ([]int, error) {
		inside = goroutineID()
		return batch, nil
	}, nil, 10)
	for range 3 {
		if _, err := group.Do(t.Context(), 1); err != nil || inside != goroutineID() {
			t.Errorf("the call was made by goroutine %d, the caller is %d (%v)", inside, goroutineID(), err)
		}
	}
}

func TestACallerLeavesWhenItsContextEnds(t *testing.T) {
	g := newGate()
	group := NewGroup(g.call, g.call, 10)
	first, _ := crowd(t, g, group, 0)

	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan fate, 1)
	go func() { res, err := group.Do(ctx, 7); waiting <- fate{res, err} }()
	eventually(t, "the caller waits", func() bool { group.mu.Lock(); defer group.mu.Unlock(); return len(group.pending) == 1 })
	cancel()
	if got := receive(t, waiting, "the one that leaves"); !errors.Is(got.err, context.Canceled) || driver.OutcomeUnknown(got.err) {
		t.Errorf("a request that was not sent ended with %v", got.err)
	}

	ctx, cancel = context.WithCancel(t.Context())
	stay := make(chan fate, 1)
	go func() { res, err := group.Do(t.Context(), 8); stay <- fate{res, err} }()
	eventually(t, "the caller waits", func() bool { group.mu.Lock(); defer group.mu.Unlock(); return len(group.pending) == 1 })
	go func() { res, err := group.Do(ctx, 9); waiting <- fate{res, err} }()
	eventually(t, "both wait", func() bool { group.mu.Lock(); defer group.mu.Unlock(); return len(group.pending) == 2 })
	g.open <- struct{}{}
	receive(t, first, "the first result")
	if batch := receive(t, g.arrived, "the batch"); !slices.Equal(batch, []int{8, 9}) {
		t.Fatalf("the batch is %v", batch)
	}
	cancel()
	if got := receive(t, waiting, "the one that leaves"); !errors.Is(got.err, context.Canceled) || !driver.OutcomeUnknown(got.err) {
		t.Errorf("a request under way ended with %v", got.err)
	}
	close(g.open)
	if got := receive(t, stay, "the one that stays"); got != (fate{16, nil}) {
		t.Errorf("the one that stays got %+v", got)
	}
}

func TestACallThatAllCallersLeftIsEnded(t *testing.T) {
	g := newGate()
	group := NewGroup(g.call, g.call, 10)
	first, _ := crowd(t, g, group, 0)
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan fate, 2)
	for i := range 2 {
		go func() { res, err := group.Do(ctx, i+1); got <- fate{res, err} }()
		eventually(t, "the caller waits", func() bool { group.mu.Lock(); defer group.mu.Unlock(); return len(group.pending) == i+1 })
	}
	g.open <- struct{}{}
	receive(t, first, "the first result")
	receive(t, g.arrived, "the batch")
	cancel() // the gate stays shut: only its context ends the call
	for range 2 {
		if f := receive(t, got, "a caller that left"); !errors.Is(f.err, context.Canceled) {
			t.Errorf("a caller that left got %v", f.err)
		}
	}
	eventually(t, "the group is idle", func() bool { group.mu.Lock(); defer group.mu.Unlock(); return group.flights == 0 })
}

func TestEachCallerOfABatchHasItsOwnFate(t *testing.T) {
	down := &driver.StoreError{Op: "Enqueue", Err: errors.New("down"), Retryable: true, OutcomeUnknown: true}
	g := newGate()
	g.do = func(ctx context.Context, batch []int) ([]int, error) {
		if len(batch) == 1 {
			return double(ctx, batch)
		}
		results, _ := double(ctx, batch[:2])
		return results, &driver.PartialError{Applied: 2, Unknown: 1, Err: down}
	}
	group := NewGroup(g.call, g.call, 10)
	first, others := crowd(t, g, group, 5)
	close(g.open)
	receive(t, first, "the first result")
	for i, other := range others {
		got := receive(t, other, "a result")
		switch {
		case i < 2 && got != (fate{2 * (i + 1), nil}):
			t.Errorf("the applied request %d got %+v", i, got)
		case i == 2 && !driver.OutcomeUnknown(got.err):
			t.Errorf("the request in doubt got %v", got.err)
		case i > 2 && (got.err == nil || driver.OutcomeUnknown(got.err) || !driver.Retryable(got.err)):
			t.Errorf("the request that was not sent got %v", got.err)
		}
	}
}

func TestARefusedRequestDoesNotFailItsNeighbours(t *testing.T) {
	for name, wrap := range map[string]func(error, int) error{
		"whole batch": func(err error, _ int) error { return err },
		"one chunk":   func(err error, at int) error { return &driver.PartialError{Applied: at, Err: err} },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			g.do = func(ctx context.Context, batch []int) ([]int, error) {
				if at := slices.Index(batch, 3); at >= 0 {
					at = min(at, 1)
					results, _ := double(ctx, batch[:at])
					return results, wrap(&driver.InvalidError{Field: "id", Reason: "is 3"}, at)
				}
				return double(ctx, batch)
			}
			group := NewGroup(g.call, g.call, 10)
			first, others := crowd(t, g, group, 5)
			close(g.open)
			receive(t, first, "the first result")
			for i, other := range others {
				got := receive(t, other, "a result")
				if refused := i+1 == 3; refused != errors.Is(got.err, driver.ErrInvalid) || !refused && got.res != 2*(i+1) {
					t.Errorf("request %d got %+v", i+1, got)
				}
			}
		})
	}
}

func TestAPanicOrGoexitInACallReachesItsCallersAsAnError(t *testing.T) {
	for name, misbehave := range map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			g.do = func(ctx context.Context, batch []int) ([]int, error) {
				if batch[0] == 1 {
					misbehave()
				}
				return double(ctx, batch)
			}
			group := NewGroup(g.call, g.call, 2)
			first, others := crowd(t, g, group, 3)
			close(g.open)
			receive(t, first, "the first result")
			for i, other := range others {
				got := receive(t, other, "a result")
				var panicked *PanicError
				if i < 2 && !(errors.As(got.err, &panicked) && driver.OutcomeUnknown(got.err)) {
					t.Errorf("request %d got %+v", i+1, got)
				}
				if i == 2 && got != (fate{6, nil}) {
					t.Errorf("the request after the batch got %+v", got)
				}
			}
			if res, err := group.Do(t.Context(), 5); err != nil || res != 10 {
				t.Errorf("afterwards: %d, %v", res, err)
			}
		})
	}
}

func TestManyCallersEachGetTheirOwnResult(t *testing.T) {
	var calls atomic.Int64
	group := NewGroup(func(ctx context.Context, batch []int) ([]int, error) {
		calls.Add(1)
		if len(batch) > 64 {
			return nil, fmt.Errorf("a batch of %d", len(batch))
		}
		return double(ctx, batch)
	}, nil, 64)
	var callers sync.WaitGroup
	for c := range 50 {
		callers.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%10 == 0 {
					go cancel()
				}
				n := c*1000 + i
				if res, err := group.Do(ctx, n); err == nil && res != 2*n || err != nil && i%10 != 0 {
					t.Errorf("%d became %d, %v", n, res, err)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	if n := calls.Load(); n > 10_000 {
		t.Errorf("10,000 requests took %d calls", n)
	}
}

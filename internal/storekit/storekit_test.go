package storekit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

func TestAWaiterIsWokenByItsQueuesOnly(t *testing.T) {
	book := NewWakeBook()
	w := book.Enter([]string{"a", "b"}, 5)
	book.Wake("c", 6)
	book.Wake("a", 5)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Await(ended, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("a wake of another queue, or one that was seen: %v", err)
	}
	book.Wake("b", 7)
	book.Wake("a", 8)
	if err := w.Await(t.Context(), nil); err != nil {
		t.Error(err)
	}
	book.Leave(w)
	if len(book.waiters) > 0 {
		t.Errorf("%v is kept, and nobody waits", book.waiters)
	}
}

func TestAWakeThatWasNotSeenIsNotLost(t *testing.T) {
	book := NewWakeBook()
	book.Wake("a", 7)
	book.Wake("a", 6) // old news
	if book.Latest("a") != 7 || book.Enter([]string{"b", "a"}, 6) != nil || book.Enter([]string{"b"}, 0) == nil || book.Enter([]string{"a"}, 7) == nil {
		t.Error("a wait does not go by the latest wake of its queues")
	}
	parked := book.Enter([]string{"b"}, 7)
	book.WakeAll(8)
	if err := parked.Await(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if book.Enter([]string{"a"}, 7) != nil || book.Enter([]string{"a"}, 8) == nil {
		t.Error("everybody is woken once")
	}
}

func TestForgottenWakesAreNotLost(t *testing.T) {
	book := NewWakeBook()
	const queues = 3 * maxWakes
	for i := range queues {
		book.Wake(strconv.Itoa(i), driver.WakeCursor(i+1))
	}
	if n := len(book.latest); n > maxWakes {
		t.Errorf("%d wakes are remembered, the bound is %d", n, maxWakes)
	}
	for _, i := range []int{0, queues / 2, queues - 1} {
		if book.Enter([]string{strconv.Itoa(i)}, driver.WakeCursor(i)) != nil {
			t.Errorf("the wake of queue %d is lost", i)
		}
	}
	if book.Enter([]string{"0"}, queues) == nil {
		t.Error("a queue counts as woken behind the last wake of all")
	}
}

func TestCancelsReachEveryWatchInOrder(t *testing.T) {
	var watches CancelWatches
	if watches.Announce("nobody hears"); watches.Any() {
		t.Error("somebody watches from the beginning")
	}
	closing := make(chan struct{})
	var all sync.WaitGroup
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
	}
	for range 3 {
		w := watches.Enter()
		all.Go(func() {
			defer w.Leave()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []string
			err := w.Deliver(ctx, closing, func(id string) {
				if got = append(got, id); len(got) == len(want) {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) || !slices.Equal(got, want) {
				t.Errorf("a watch delivered %q, %v", got, err)
			}
		})
	}
	for _, id := range want {
		watches.Announce(id)
	}
	all.Wait()
	if watches.Any() {
		t.Error("watches that have left are kept")
	}
	w := watches.Enter()
	defer w.Leave()
	close(closing)
	if err := w.Deliver(t.Context(), closing, nil); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("a watch of a closed store: %v", err)
	}
}

func TestChunksAreBoundedByNumberAndSize(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		most  int
		want  []int
	}{
		{nil, 2, nil},
		{[]int{1, 1, 1, 1, 1}, 2, []int{2, 4, 5}},
		{[]int{driver.ChunkBytes, 1, driver.ChunkBytes + 1, 0}, 9, []int{1, 2, 3, 4}},
	} {
		var ends []int
		for from := 0; from < len(c.sizes); {
			from = ChunkEnd(from, len(c.sizes), c.most, func(i int) int { return c.sizes[i] })
			ends = append(ends, from)
		}
		if !slices.Equal(ends, c.want) {
			t.Errorf("items of %v bytes end their chunks at %v, want %v", c.sizes, ends, c.want)
		}
	}
}

func TestErrorsAreTold(t *testing.T) {
	broken, ours := errors.New("broken"), errors.New("ours")
	invalid := &driver.InvalidError{Field: "name", Value: "", Reason: "is empty"}
	for _, c := range []struct {
		err           error
		item, refusal bool
	}{
		{broken, false, false},
		{ours, false, true},
		{driver.ErrClosed, false, true},
		{&driver.StoreError{Err: broken}, false, true},
		{fmt.Errorf("item 3: %w", driver.ErrLockLost), true, true},
		{&driver.StateError{}, true, true},
		{invalid, true, true},
	} {
		if IsItemRefusal(c.err) != c.item || IsRefusal(c.err, ours) != c.refusal {
			t.Errorf("%v: a refusal of its item %t, a refusal %t", c.err, IsItemRefusal(c.err), IsRefusal(c.err, ours))
		}
	}
	var partial *driver.PartialError
	if err := Partial(3, broken); !errors.As(err, &partial) || partial.Applied != 3 || !errors.Is(err, broken) {
		t.Errorf("3 items and an error: %v", err)
	}
	if Partial(3, nil) != nil || Partial(0, broken) != broken { //nolint:errorlint // it is not wrapped
		t.Error("a batch that is whole, or of which nothing was applied, is called partial")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, ttl := HistoryTTL(-time.Second)
	_, ceiling := HistoryCeiling(driver.HistoryCeiling{})
	_, generator := IDGenerator(nil)
	_, logger := Logger(nil)
	for option, err := range map[string]error{"history ttl": ttl, "ceiling": ceiling, "id generator": generator, "logger": logger} {
		if !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("a bad %s: %v", option, err)
		}
	}
	if c, err := HistoryTTL(time.Minute); err != nil || c != driver.CeilingForAll(60_000) {
		t.Errorf("a minute is the ceiling %+v, %v", c, err)
	}
}

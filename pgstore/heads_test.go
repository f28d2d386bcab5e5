package pgstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// claimIDs claims and returns the ids.
func claimIDs(t *testing.T, s driver.Store, now driver.Time, token string, limit int) []string {
	t.Helper()
	result, err := s.Claim(t.Context(), now, driver.ClaimRequest{Queue: "q", Names: []string{"work"}, Worker: "w",
		Token: token, Limit: limit, LockDuration: 1000})
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	var ids []string
	for _, job := range result.Jobs {
		ids = append(ids, job.ID)
	}
	return ids
}

func release(t *testing.T, s driver.Store, id, token string) {
	t.Helper()
	results, err := s.Ack(t.Context(), 1, []driver.Ack{{ID: id, Token: token, Kind: driver.AckRelease}})
	if err != nil || results[0].Err != nil {
		t.Fatalf("Ack: %v, %v", results, err)
	}
}

// lengthened returns a store whose claims begin where the last ones ended: behind a and b,
// which are claimed.
func lengthened(t *testing.T) (store testedStore, other testedStore) {
	t.Helper()
	s := stores{book: schemaBook(t)}
	store = s.open(t, s.book.take(t))
	other = s.open(t, store.schema)
	store.LengthenHeads()
	enqueue(t, store, job("a"), job("b"), job("c"))
	if got := claimIDs(t, store, 1, "first", 2); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("claimed %v", got)
	}
	until(t, "the head is long", func() bool { return store.HeadIsLong("q", "work") })
	return store, other
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(faultWait); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to pass that %s", what)
		}
	}
}

func TestBehindALongHeadAReleasedJobKeepsItsPlace(t *testing.T) {
	store, _ := lengthened(t)
	release(t, store, "a", "first")
	if got := claimIDs(t, store, 1, "second", 2); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("claimed %v", got)
	}
}

func TestBehindALongHeadPrioritiesCount(t *testing.T) {
	store, _ := lengthened(t)
	high, low := job("high"), job("low")
	high.Priority, low.Priority = 5, -5
	enqueue(t, store, low, high)
	if got := claimIDs(t, store, 1, "second", 3); !slices.Equal(got, []string{"high", "c", "low"}) {
		t.Errorf("claimed %v", got)
	}
}

func TestBehindALongHeadDueJobsAreFound(t *testing.T) {
	store, _ := lengthened(t)
	late, after := job("late"), job("after")
	late.Delay = 100
	enqueue(t, store, late)
	enqueue(t, store, after)
	if got := claimIDs(t, store, 1, "second", 2); !slices.Equal(got, []string{"c", "after"}) {
		t.Fatalf("claimed %v", got)
	}
	var got []string
	until(t, "the due job is claimed", func() bool {
		got = append(got, claimIDs(t, store, 1000, "third", 2)...)
		return len(got) > 0
	})
	if !slices.Equal(got, []string{"late"}) {
		t.Errorf("claimed %v", got)
	}
}

// What another process sends back is found by itself, and whoever waits is told.
func TestBehindALongHeadTheStraysOfOthersAreFound(t *testing.T) {
	store, other := lengthened(t)
	if got := claimIDs(t, store, 1, "second", 2); !slices.Equal(got, []string{"c"}) {
		t.Fatalf("claimed %v", got)
	}
	release(t, other, "b", "first")
	var got []string
	until(t, "the job is claimed", func() bool {
		got = append(got, claimIDs(t, store, 1, "third", 2)...)
		return len(got) > 0
	})
	if !slices.Equal(got, []string{"b"}) {
		t.Errorf("claimed %v", got)
	}
}

// Many jobs that are sent back at once are all claimed again.
func TestBehindALongHeadNoNumberOfStraysIsTooMuch(t *testing.T) {
	store, other := lengthened(t)
	var batch []driver.EnqueueRequest
	for n := range 3000 {
		batch = append(batch, job(fmt.Sprint("job-", n)))
	}
	enqueue(t, store, batch...)
	claimed := claimIDs(t, store, 1, "second", 5000)
	acks := make([]driver.Ack, len(claimed))
	for i, id := range claimed {
		acks[i] = driver.Ack{ID: id, Token: "second", Kind: driver.AckRelease}
	}
	half := len(acks) / 2
	if _, err := store.Ack(t.Context(), 1, acks[:half]); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Ack(t.Context(), 1, acks[half:]); err != nil {
		t.Fatal(err)
	}
	again := map[string]bool{}
	until(t, "all jobs are claimed again", func() bool {
		for _, id := range claimIDs(t, store, 1, "third", 500) {
			if again[id] {
				t.Fatalf("%s is claimed twice", id)
			}
			again[id] = true
		}
		return len(again) == len(claimed)
	})
}

// A delayed job whose transaction took longer than its delay is promoted all the same.
func TestBehindALongHeadALateDelayedJobIsFound(t *testing.T) {
	store, other := lengthened(t)
	for n := range 3 {
		delayed := job(fmt.Sprint("delayed-", n))
		delayed.Delay = 10
		enqueue(t, store, delayed)
	}
	claimIDs(t, store, 1000, "second", 1)
	until(t, "the head of delayed jobs is long", func() bool {
		claimIDs(t, store, 1000, "third", 10)
		return store.HeadIsLong("q", "")
	})
	late := job("late")
	late.Delay = 10
	enqueue(t, other, late) // at a time long past
	until(t, "the job is claimed", func() bool { return slices.Contains(claimIDs(t, store, 1000, "fourth", 10), "late") })
}

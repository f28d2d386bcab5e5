package sqlitestore_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// openTwo opens two stores on one file, which know no more of each other than two
// processes do.
func openTwo(t *testing.T) (first, second *sqlitestore.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jobs.db")
	var stores [2]*sqlitestore.Store
	for i := range stores {
		s, err := sqlitestore.Open(path, sqlitestore.WithRelaxedDurability())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores[i] = s
	}
	return stores[0], stores[1]
}

func TestTheCommitOfAnotherProcessWakesSoon(t *testing.T) {
	s, other := openTwo(t)
	took := median(21, func() time.Duration {
		return wokenAfter(t, s, func() { enqueue(t, other, job("")) })
	})
	if took > wakeLimit {
		t.Errorf("the median wake took %v, want at most %v", took, wakeLimit)
	}
}

// What another process commits between the claim and the wait, when nobody looks, is
// not lost.
func TestAWakeOfAnotherProcessIsNotLostBeforeTheWait(t *testing.T) {
	s, other := openTwo(t)
	for range 5 {
		since := cursor(t, s)
		enqueue(t, other, job(""))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if err := s.AwaitWake(ctx, []string{"q"}, since); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

// begin enqueues a job on one store and claims it on another.
func begin(t *testing.T, s driver.Store, id string, keep *driver.Keep) driver.Ack {
	t.Helper()
	req := job(id)
	req.Keep = keep
	enqueue(t, s, req)
	result, err := s.Claim(t.Context(), 0, driver.ClaimRequest{Queue: "q", Names: []string{"work"}, Worker: "w", Token: "t-" + id, Limit: 1, LockDuration: 1000})
	if err != nil || len(result.Jobs) != 1 {
		t.Fatalf("Claim: %+v, %v", result, err)
	}
	return driver.Ack{ID: id, Token: "t-" + id, Kind: driver.AckComplete, Exit: []byte(`1`)}
}

func finish(t *testing.T, s driver.Store, ack driver.Ack) {
	t.Helper()
	if results, err := s.Ack(t.Context(), 1, []driver.Ack{ack}); err != nil || results[0].Err != nil {
		t.Fatalf("Ack: %v, %v", results, err)
	}
}

func TestAnEndInAnotherProcessIsDelivered(t *testing.T) {
	s, other := openTwo(t)
	ack := begin(t, other, "a", nil)
	ended, err := s.WatchFinished(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	finish(t, other, ack)
	select {
	case end := <-ended:
		if end.State != driver.Completed || string(end.Exit) != `1` || end.AttemptsMade != 1 {
			t.Errorf("told %+v", end)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the end was not delivered")
	}
}

func TestAnEndInAnotherProcessThatWasNotKeptEndsTheWatch(t *testing.T) {
	s, other := openTwo(t)
	ack := begin(t, other, "a", &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}})
	ended, err := s.WatchFinished(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	// The watch of a job that is gone before anybody has seen it is kept: so let the
	// poll see it, which it has when it delivers another end.
	second := begin(t, other, "b", nil)
	secondEnded, err := s.WatchFinished(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	finish(t, other, second)
	for _, what := range []struct {
		ended <-chan driver.Finished
		told  bool
	}{{secondEnded, true}, {ended, false}} {
		select {
		case end, told := <-what.ended:
			if told != what.told {
				t.Errorf("told %+v: %v, want %v", end, told, what.told)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the watch goes on")
		}
		if what.told {
			finish(t, other, ack)
		}
	}
}

func TestACancelRequestOfAnotherProcessIsDelivered(t *testing.T) {
	s, other := openTwo(t)
	begin(t, s, "a", nil)
	ctx, cancel := context.WithCancel(t.Context())
	ids, done := make(chan string, 10), make(chan error, 1)
	go func() { done <- s.WatchCancels(ctx, func(id string) { ids <- id }) }()
	if results, err := other.Cancel(t.Context(), 1, []string{"a"}); err != nil || results[0].State != driver.Active {
		t.Fatalf("Cancel: %+v, %v", results, err)
	}
	select {
	case id := <-ids:
		if id != "a" {
			t.Errorf("delivered %q", id)
		}
	case <-time.After(30 * time.Second):
		t.Error("the request was not delivered")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("WatchCancels: %v", err)
	}
}

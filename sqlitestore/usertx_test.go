package sqlitestore_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

// The caller's own rows and jobs share their fate.
func TestJobsShareTheFateOfTheCallersRows(t *testing.T) {
	db := database(t, filepath.Join(t.TempDir(), "app.db"), "")
	mustExec(t, db, "CREATE TABLE users (name TEXT)")
	s, err := sqlitestore.New(db, sqlitestore.WithMigrate())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	welcome := job("")
	welcome.Dedupe = &driver.Dedupe{Key: "ann", TTL: driver.Some(driver.Millis(1000))}
	welcome.Metadata = map[string]string{"user": "ann"}
	for _, commit := range []bool{false, true} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO users VALUES ('ann')"); err != nil {
			t.Fatal(err)
		}
		results, err := s.EnqueueTx(t.Context(), sqlitestore.Tx(tx), 0, []driver.EnqueueRequest{welcome})
		if err != nil || len(results) != 1 || results[0].Duplicate {
			t.Fatalf("EnqueueTx: %v, %v", results, err)
		}
		again, err := s.EnqueueTx(t.Context(), sqlitestore.Tx(tx), 0, []driver.EnqueueRequest{welcome})
		if err != nil || !again[0].Duplicate || again[0].ID != results[0].ID {
			t.Fatalf("EnqueueTx in the same transaction: %v, %v; want a duplicate of %v", again, err, results)
		}
		end := tx.Rollback
		if commit {
			end = tx.Commit
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		want := driver.Counts{}
		if commit {
			want.Waiting = 1
		}
		if counts, err := s.Counts(t.Context(), ""); err != nil || counts != want {
			t.Errorf("commit %v: counts are %+v, %v", commit, counts, err)
		}
		if err := s.CheckInvariants(); err != nil {
			t.Error(err)
		}
	}
}

func TestAFailedEnqueueLeavesTheTransactionUsable(t *testing.T) {
	s := openFile(t, sqlitestore.WithIDGenerator(func() string { return "the only one" }))
	tx, err := s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = s.EnqueueTx(t.Context(), sqlitestore.Tx(tx), 0, []driver.EnqueueRequest{job("a"), job(""), job("")})
	var failure *driver.StoreError
	if !errors.As(err, &failure) {
		t.Fatalf("EnqueueTx with a generator that repeats itself: %v", err)
	}
	if _, err := s.EnqueueTx(t.Context(), sqlitestore.Tx(tx), 0, []driver.EnqueueRequest{job("b")}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	found, err := s.Jobs(t.Context(), []string{"a", "b"})
	if err != nil || found[0] != nil || found[1] == nil {
		t.Errorf("jobs are %v, %v; want b alone", found, err)
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// However late in the call its context ends, the caller's transaction keeps what is
// his, and can be committed.
func TestAnInterruptedEnqueueLeavesTheTransactionWhole(t *testing.T) {
	s := openFile(t)
	mustExec(t, s.DB(), "CREATE TABLE own (x TEXT)")
	batch := make([]driver.EnqueueRequest, 1000)
	for i := range batch {
		batch[i] = job("")
	}
	interrupted := 0
	for i := range 100 {
		mustExec(t, s.DB(), "DELETE FROM own")
		tx, err := s.DB().Begin()
		if err != nil {
			t.Fatal(err)
		}
		insert := func(text string) {
			if _, err := tx.Exec("INSERT INTO own VALUES (?)", text); err != nil {
				t.Errorf("try %d: insert %s: %v", i, text, err)
			}
		}
		insert("before")
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(200+100*i)*time.Microsecond)
		if _, err := s.EnqueueTx(ctx, sqlitestore.Tx(tx), 0, batch); err != nil {
			interrupted++
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("try %d: EnqueueTx: %v", i, err)
			}
		}
		cancel()
		insert("after")
		if err := tx.Commit(); err != nil {
			t.Errorf("try %d: commit: %v", i, err)
		}
		rows := 0
		if err := s.DB().QueryRow("SELECT count(*) FROM own").Scan(&rows); err != nil || rows != 2 {
			t.Fatalf("try %d: %d of the caller's own 2 rows are there, %v", i, rows, err)
		}
	}
	if interrupted == 0 {
		t.Error("no call was interrupted")
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// A job that was never committed is unknown, not one whose result was lost.
func TestAJobOfATransactionIsUnknownWithoutItsCommit(t *testing.T) {
	s := openFile(t)
	client := braid.NewClient(s)
	defer client.Close()
	work := braid.NewJob[int, int]("work")
	tx, err := s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	h, err := work.Enqueue(t.Context(), client.Tx(sqlitestore.Tx(tx)), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"open", "rolled back"} {
		if state == "rolled back" {
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.Wait(t.Context()); !errors.Is(err, braid.ErrNotFound) || !strings.Contains(err.Error(), "not committed") {
			t.Errorf("%s: Wait: %v", state, err)
		}
	}
}

// median is that of some measurements: what a busy machine adds now and then is not the
// store's.
func median(rounds int, measure func() time.Duration) time.Duration {
	took := make([]time.Duration, rounds)
	for i := range took {
		took[i] = measure()
	}
	slices.Sort(took)
	return took[rounds/2]
}

// wakeLimit is how soon after a commit of others a waiter must be woken.
const wakeLimit = 50 * time.Millisecond

func cursor(t *testing.T, s driver.Store) driver.WakeCursor {
	t.Helper()
	result, err := s.Claim(t.Context(), 0, driver.ClaimRequest{Queue: "q", Names: []string{"nobody"}, Worker: "w", Token: "t", Limit: 1, LockDuration: 1})
	if err != nil {
		t.Fatal(err)
	}
	return result.Cursor
}

// wokenAfter returns how long after commit a waiter is woken.
func wokenAfter(t *testing.T, s *sqlitestore.Store, commit func()) time.Duration {
	t.Helper()
	since, woken := cursor(t, s), make(chan error, 1)
	go func() { woken <- s.AwaitWake(t.Context(), []string{"q"}, since) }()
	commit()
	committed := time.Now()
	select {
	case err := <-woken:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("not woken")
	}
	return time.Since(committed)
}

func TestTheCommitOfATransactionWakesSoon(t *testing.T) {
	s := openFile(t)
	took := median(21, func() time.Duration {
		return wokenAfter(t, s, func() {
			tx, err := s.DB().Begin()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.EnqueueTx(t.Context(), sqlitestore.Tx(tx), 0, []driver.EnqueueRequest{job("")}); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		})
	})
	if took > wakeLimit {
		t.Errorf("the median wake took %v, want at most %v", took, wakeLimit)
	}
}

// Neither does what was enqueued become visible, nor does anybody look for it.
func TestARollbackWakesNobody(t *testing.T) {
	s, other := openTwo(t)
	enqueue(t, s, job("before")) // so that the queue has a version
	before, beforeOther := cursor(t, s), cursor(t, other)
	tx, err := s.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnqueueTx(t.Context(), sqlitestore.Tx(tx), 0, []driver.EnqueueRequest{job("a")}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if after, afterOther := cursor(t, s), cursor(t, other); after != before || afterOther != beforeOther {
		t.Errorf("the wake cursors were %v and %v, and are %v and %v after a rollback", before, beforeOther, after, afterOther)
	}
}

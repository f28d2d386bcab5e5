package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// holdWriter keeps the writer busy with a call, so that what comes after it goes into
// one transaction, until release is called.
func holdWriter(t *testing.T, s *Store) (release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.write(context.Background(), "Hold", groupWeight, func(*tx) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// queued waits until so many calls wait for the writer.
func queued(t *testing.T, s *Store, calls int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for len(s.calls) < calls {
		select {
		case <-deadline:
			t.Fatalf("%d calls wait for the writer, want %d", len(s.calls), calls)
		case <-time.After(time.Millisecond):
		}
	}
}

func commitsOf(t *testing.T, s *Store) (commits int64) {
	t.Helper()
	if err := s.db.QueryRow("SELECT commits FROM braid_store").Scan(&commits); err != nil {
		t.Fatal(err)
	}
	return commits
}

func request(id string) driver.EnqueueRequest {
	return driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: "work", Queue: "q", AttemptsMax: 1}}
}

func TestCallsOfManyGoroutinesShareACommit(t *testing.T) {
	s := openForTest(t)
	before := commitsOf(t, s)
	release := holdWriter(t, s)
	const callers = 50
	var calling sync.WaitGroup
	for n := range callers {
		calling.Go(func() {
			results, err := s.Enqueue(context.Background(), 0, []driver.EnqueueRequest{request(fmt.Sprint(n))})
			if err != nil || len(results) != 1 || results[0].Duplicate {
				t.Errorf("Enqueue %d: %v, %v", n, results, err)
			}
		})
	}
	queued(t, s, callers)
	release()
	calling.Wait()
	// Fifty calls fit into one transaction, unless it has taken too long.
	if commits := commitsOf(t, s) - before; commits < 1 || commits > callers/2 {
		t.Errorf("%d calls took %d commits", callers, commits)
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// A call that fails in a transaction of several undoes its own effects alone:
// records, counts, wakes and counters.
func TestACallThatFailsLeavesItsNeighboursAlone(t *testing.T) {
	s := openForTest(t)
	refusal := errors.New("refused")
	fail := func(*tx) error { return refusal }
	panics := func(*tx) error { panic("a bug") }
	release := holdWriter(t, s)
	var calling sync.WaitGroup
	enqueue := func(id string, then func(*tx) error) {
		ready := len(s.calls)
		calling.Go(func() {
			err := s.write(context.Background(), "Enqueue", 1, func(t *tx) error {
				req := request(id)
				req.Queue = "queue of " + id
				if _, err := (step{tx: t}).enqueue(&req); err != nil {
					return err
				}
				if then != nil {
					return then(t)
				}
				return nil
			})
			if (err != nil) != (then != nil) {
				t.Errorf("%s: %v", id, err)
			}
		})
		queued(t, s, ready+1)
	}
	enqueue("a bad first one", fail)
	enqueue("a", nil)
	enqueue("a bad one", fail)
	enqueue("b", nil)
	enqueue("one that panics", panics)
	enqueue("a bad last one", fail)
	release()
	calling.Wait()
	queues, err := s.Queues(t.Context())
	if err != nil || strings.Join(queues, ",") != "queue of a,queue of b" {
		t.Errorf("queues with jobs are %q, %v", queues, err)
	}
	for _, queue := range []string{"queue of a bad one", "queue of one that panics"} {
		if s.hub.wakes.Latest(queue) != 0 {
			t.Errorf("%s was woken", queue)
		}
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// A statement can fail so that SQLite ends the whole transaction: then nobody is told
// that his call was applied.
func TestALostTransactionFailsAllItsCalls(t *testing.T) {
	s := openForTest(t)
	release := holdWriter(t, s)
	var calling sync.WaitGroup
	call := func(run func(*tx) error) {
		ready := len(s.calls)
		calling.Go(func() {
			if err := s.write(context.Background(), "Test", 1, run); err == nil {
				t.Error("a call of a lost transaction succeeds")
			}
		})
		queued(t, s, ready+1)
	}
	call(func(t *tx) error {
		req := request("a")
		_, err := step{tx: t}.enqueue(&req)
		return err
	})
	call(func(t *tx) error {
		_, err := t.session.exec("rollback")
		return errors.Join(errors.New("lost"), err)
	})
	release()
	calling.Wait()
	if found, err := s.Jobs(t.Context(), []string{"a"}); err != nil || found[0] != nil {
		t.Errorf("the job is %v, %v; want none", found[0], err)
	}
	// The writer goes on.
	if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{request("b")}); err != nil {
		t.Error(err)
	}
}

func TestACallThatNobodyWaitsForIsNotBegun(t *testing.T) {
	s := openForTest(t)
	release := holdWriter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{request("a")})
		done <- err
	}()
	queued(t, s, 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Enqueue: %v", err)
	}
	release()
	if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{request("b")}); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Jobs(t.Context(), []string{"a", "b"}); err != nil || found[0] != nil || found[1] == nil {
		t.Errorf("jobs are %v, %v", found, err)
	}
}

func TestReadersDoNotWaitForTheWriter(t *testing.T) {
	s := openForTest(t)
	if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{request("a")}); err != nil {
		t.Fatal(err)
	}
	release := holdWriter(t, s)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if counts, err := s.Counts(ctx, "q"); err != nil || counts.Waiting != 1 {
		t.Errorf("Counts: %+v, %v", counts, err)
	}
	if page, err := s.List(ctx, driver.ListRequest{}); err != nil || len(page.Jobs) != 1 {
		t.Errorf("List: %+v, %v", page, err)
	}
}

func TestCloseAnswersCallsThatWait(t *testing.T) {
	s := openForTest(t)
	release := holdWriter(t, s)
	done := make(chan error, 10)
	for n := range cap(done) {
		go func() {
			_, err := s.Enqueue(context.Background(), 0, []driver.EnqueueRequest{request(fmt.Sprint(n))})
			done <- err
		}()
	}
	queued(t, s, cap(done))
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.closing
	release()
	for range cap(done) {
		if err := <-done; err != nil && !errors.Is(err, driver.ErrClosed) {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A sweep holds the write lock for a chunk at a time, whatever there is to delete.
func TestASweepOfHistoryDeletesInBoundedSteps(t *testing.T) {
	s := openForTest(t, WithHistoryTTL(time.Second))
	const chunks = 5
	for range chunks {
		batch := make([]driver.EnqueueRequest, driver.ChunkJobs)
		for i := range batch {
			batch[i] = request("")
		}
		results, err := s.Enqueue(t.Context(), 0, batch)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, len(results))
		for i, result := range results {
			ids[i] = result.ID
		}
		if _, err := s.Cancel(t.Context(), 0, ids); err != nil {
			t.Fatal(err)
		}
	}
	before := commitsOf(t, s)
	result, err := s.SweepHistory(t.Context(), 10_000, 10*chunks*driver.ChunkJobs)
	if err != nil || result.Deleted != chunks*driver.ChunkJobs || result.More {
		t.Errorf("SweepHistory: %+v, %v; want all %d deleted", result, err, chunks*driver.ChunkJobs)
	}
	if commits := commitsOf(t, s) - before; commits < chunks {
		t.Errorf("%d jobs were deleted in %d transactions, want %d or more", result.Deleted, commits, chunks)
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

const contentionLock = driver.Millis(60_000)

// claimAll claims jobs of the queue q under the token t.
func claimAll(t *testing.T, s *pgstore.Store, n int) {
	t.Helper()
	result, err := s.Claim(t.Context(), 0, driver.ClaimRequest{Queue: "q", Names: []string{"work"}, Worker: "w", Token: "t", Limit: n, LockDuration: contentionLock})
	if err != nil || len(result.Jobs) != n {
		t.Fatalf("Claim: %d jobs, %v; want %d", len(result.Jobs), err, n)
	}
}

func ack(id string, kind driver.AckKind) driver.Ack {
	return driver.Ack{ID: id, Token: "t", Kind: kind}
}

// soon returns a context that ends when a call has plainly waited for something.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// begin begins a transaction on a connection that is not the store's.
func begin(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := connect(t, testserver.SharedPostgres(t)).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// A duplicate in an open transaction keeps its job from nothing.
func TestADuplicateInAnOpenTransactionKeepsNoJobFromEnding(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema))
	keyed, window := job("keyed"), job("window")
	keyed.Dedupe = &driver.Dedupe{Key: "k", Replace: true}
	window.Dedupe = &driver.Dedupe{Key: "w", TTL: driver.Some(driver.Millis(1000))}
	enqueue(t, s, keyed, window)
	claimAll(t, s, 2)
	again, throttled := job(""), job("")
	again.Dedupe, throttled.Dedupe = keyed.Dedupe, window.Dedupe
	results, err := s.EnqueueTx(t.Context(), pgstore.Tx(begin(t)), 0, []driver.EnqueueRequest{again, throttled})
	if err != nil || results[0].ID != "keyed" || !results[0].Duplicate || results[1].ID != "window" || !results[1].Duplicate {
		t.Fatalf("EnqueueTx: %+v, %v", results, err)
	}
	acked, err := s.Ack(soon(t), 1, []driver.Ack{ack("keyed", driver.AckComplete), ack("window", driver.AckComplete)})
	if err != nil || acked[0].Err != nil || acked[1].Err != nil {
		t.Fatalf("Ack beside the transaction: %+v, %v", acked, err)
	}
	if err := s.CheckInvariants(t.Context()); err != nil {
		t.Error(err)
	}
}

// A row of the user's that references a job, in an open transaction, keeps the job from
// nothing but its deletion.
func TestAReferenceInAnOpenTransactionKeepsNoJobFromGoingOn(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema))
	quoted := pgx.Identifier{schema}.Sanitize()
	mustExec(t, pool, `CREATE TABLE `+quoted+`.own (job text COLLATE "C" REFERENCES `+quoted+`.braid_jobs (id))`)
	ids := []string{"completed", "retried", "beaten", "promoted", "cancelled"}
	for _, id := range ids {
		j := job(id)
		if id == "promoted" || id == "cancelled" {
			j.Delay = 1_000_000
		}
		enqueue(t, s, j)
	}
	claimAll(t, s, 3)
	tx := begin(t)
	for _, id := range ids {
		if _, err := tx.Exec(t.Context(), "INSERT INTO "+quoted+".own VALUES ($1)", id); err != nil {
			t.Fatal(err)
		}
	}
	beat, err := s.Heartbeat(soon(t), 1, []driver.Lock{{ID: "beaten", Token: "t"}}, contentionLock)
	if err != nil || len(beat.Lost)+len(beat.Contended) > 0 {
		t.Errorf("Heartbeat: %+v, %v", beat, err)
	}
	for id, kind := range map[string]driver.AckKind{"completed": driver.AckComplete, "retried": driver.AckRetry} {
		if results, err := s.Ack(soon(t), 2, []driver.Ack{ack(id, kind)}); err != nil || results[0].Err != nil {
			t.Errorf("Ack of %s: %+v, %v", id, results, err)
		}
	}
	if results, err := s.Promote(soon(t), 3, []string{"promoted"}); err != nil || results[0].Err != nil {
		t.Errorf("Promote: %+v, %v", results, err)
	}
	if results, err := s.Cancel(soon(t), 3, []string{"cancelled"}); err != nil || results[0].Err != nil {
		t.Errorf("Cancel: %+v, %v", results, err)
	}
}

// Jobs that somebody has locked are left out of grouped acks and of heartbeats, and the
// others are not: the locks do not run out, and the results land when the jobs are free.
func TestOnlyTheResultsOfLockedJobsWait(t *testing.T) {
	for name, options := range map[string][]pgstore.Option{"kept": nil, "deleted": {pgstore.WithDeleteFinished()}} {
		t.Run(name, func(t *testing.T) {
			schema, pool := ownSchema(t)
			s := newStore(t, pool, append(options, pgstore.WithSchema(schema))...)
			const n = 12
			var acks []driver.Ack
			var locks []driver.Lock
			for i := range n {
				id := fmt.Sprint("job-", i)
				enqueue(t, s, job(id))
				kind := driver.AckComplete
				if i >= n/2 {
					kind = driver.AckRetry
				}
				acks, locks = append(acks, ack(id, kind)), append(locks, driver.Lock{ID: id, Token: "t"})
			}
			claimAll(t, s, n)
			tx := begin(t)
			if _, err := tx.Exec(t.Context(), "UPDATE "+pgx.Identifier{schema, "braid_jobs"}.Sanitize()+" SET priority = 1 WHERE id IN ('job-3', 'job-9')"); err != nil {
				t.Fatal(err)
			}
			beat, err := s.Heartbeat(soon(t), 5, locks, contentionLock)
			if err != nil || len(beat.Lost) > 0 || fmt.Sprint(beat.Contended) != "[job-3 job-9]" {
				t.Errorf("Heartbeat: %+v, %v", beat, err)
			}
			if extended := scanOne[int](t, pool, "SELECT count(*) FROM "+pgx.Identifier{schema, "braid_jobs"}.Sanitize()+" WHERE lock_expires_at = $1", int64(5+contentionLock)); extended != n-2 {
				t.Errorf("%d locks were extended", extended)
			}
			for _, part := range [][]driver.Ack{acks[:n/2], acks[n/2:]} {
				results, err := s.AckGrouped(soon(t), 6, part)
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range results {
					contended := errors.Is(r.Err, driver.ErrContended) && driver.Retryable(r.Err)
					if contended != (i == 3) || !contended && r.Err != nil {
						t.Errorf("AckGrouped of %s: %+v", part[i].ID, r)
					}
				}
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			results, err := s.AckGrouped(t.Context(), 7, []driver.Ack{acks[3], acks[9]})
			if err != nil || results[0].Err != nil || results[1].Err != nil {
				t.Errorf("AckGrouped of what is free again: %+v, %v", results, err)
			}
			if err := s.CheckInvariants(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What else an ack needs may belong to somebody, too: a window that is being taken over.
func TestAnAckThatNeedsALockedKeyHoldsUpNoOther(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema))
	keyed := job("keyed")
	keyed.Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}}
	keyed.Dedupe = &driver.Dedupe{Key: "k", TTL: driver.Some(driver.Millis(10))}
	other := job("other")
	other.Keep = keyed.Keep
	enqueue(t, s, keyed, other)
	claimAll(t, s, 2)
	again := job("again")
	again.Dedupe = keyed.Dedupe
	tx := begin(t)
	if results, err := s.EnqueueTx(t.Context(), pgstore.Tx(tx), 100, []driver.EnqueueRequest{again}); err != nil || results[0].Duplicate {
		t.Fatalf("EnqueueTx of a window that is over: %+v, %v", results, err)
	}
	results, err := s.AckGrouped(soon(t), 101, []driver.Ack{ack("keyed", driver.AckComplete), ack("other", driver.AckComplete)})
	if err != nil || !errors.Is(results[0].Err, driver.ErrContended) || results[1].Err != nil {
		t.Errorf("AckGrouped: %+v, %v", results, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if results, err = s.AckGrouped(soon(t), 102, []driver.Ack{ack("keyed", driver.AckComplete)}); err != nil || results[0].Err != nil {
		t.Errorf("AckGrouped after the commit: %+v, %v", results, err)
	}
	if err := s.CheckInvariants(t.Context()); err != nil {
		t.Error(err)
	}
}

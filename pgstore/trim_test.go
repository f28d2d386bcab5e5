package pgstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/pgstore"
)

// What a trim has left over is remembered until it is gone, though somebody has the jobs
// locked while a sweep, or another trim, comes by.
func TestWhatATrimHasLeftOverIsNotForgotten(t *testing.T) {
	for _, next := range []string{"sweep", "trim"} {
		t.Run(next, func(t *testing.T) {
			schema, pool := ownSchema(t)
			s := newStore(t, pool, pgstore.WithSchema(schema))
			const old, kept = 300, 5
			var acks []driver.Ack
			for i := range old {
				id := fmt.Sprint("job-", i)
				enqueue(t, s, job(id))
				acks = append(acks, ack(id, driver.AckComplete))
			}
			claimAll(t, s, old)
			if _, err := s.Ack(t.Context(), 1, acks); err != nil {
				t.Fatal(err)
			}
			finishKeeping := func(now driver.Time, id string) {
				t.Helper()
				j := job(id)
				j.Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(kept))}}
				enqueue(t, s, j)
				claimAll(t, s, 1)
				if results, err := s.Ack(soon(t), now, []driver.Ack{ack(id, driver.AckComplete)}); err != nil || results[0].Err != nil {
					t.Fatalf("Ack: %+v, %v", results, err)
				}
			}
			completed := func() int64 {
				t.Helper()
				counts, err := s.Counts(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				return counts.Completed
			}
			finishKeeping(2, "first")
			if left := completed(); left <= kept || left >= old {
				t.Fatalf("the first trim has left %d", left)
			}
			tx := begin(t)
			if _, err := tx.Exec(t.Context(), "SELECT 1 FROM "+pgx.Identifier{schema, "braid_jobs"}.Sanitize()+" FOR SHARE"); err != nil {
				t.Fatal(err)
			}
			before := completed()
			if next == "trim" {
				finishKeeping(3, "second")
			} else if _, err := s.SweepHistory(soon(t), 3, 10_000); err != nil {
				t.Fatal(err)
			}
			if completed() < before {
				t.Error("locked jobs were trimmed")
			}
			if err := tx.Rollback(context.Background()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SweepHistory(t.Context(), 4, 10_000); err != nil {
				t.Fatal(err)
			}
			if left := completed(); left != kept {
				t.Errorf("%d are kept, and not %d", left, kept)
			}
			if rows := scanOne[int](t, pool, "SELECT count(*) FROM "+pgx.Identifier{schema, "braid_trims"}.Sanitize()); rows != 0 {
				t.Errorf("%d trims are left over", rows)
			}
		})
	}
}

package pgstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/pgstore"
)

// Who has a connection, for a transaction of its own, gets ids over that one, whoever else
// waits for a connection in order to draw some.
func TestIDsAreDrawnBesideCallersWithoutConnection(t *testing.T) {
	address, _ := ownURL(t)
	for _, size := range []int{1, 3} {
		s, err := pgstore.Open(t.Context(), parameters(t, address, "pool_max_conns", fmt.Sprint(size)),
			pgstore.WithMigrate(), pgstore.WithoutListen(), pgstore.WithLogger(quiet))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		answers := make(chan error, size+1)
		const each = 120
		for range size {
			go func() { answers <- enqueueInTransactions(ctx, s, each) }()
		}
		go func() {
			for range each {
				if _, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{job("")}); err != nil {
					answers <- err
					return
				}
			}
			answers <- nil
		}()
		for range size + 1 {
			select {
			case err := <-answers:
				if err != nil {
					t.Fatalf("%d connections: %v", size, err)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%d connections: callers wait for each other", size)
			}
		}
		cancel()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// enqueueInTransactions enqueues a job in each of some transactions.
func enqueueInTransactions(ctx context.Context, s *pgstore.Store, n int) error {
	for range n {
		tx, err := s.Pool().Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := s.EnqueueTx(ctx, pgstore.Tx(tx), 0, []driver.EnqueueRequest{job("")}); err != nil {
			_ = tx.Rollback(context.Background())
			return err
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

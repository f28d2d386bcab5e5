package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// Tx wraps a transaction of the caller's in which jobs are to be enqueued. It must be
// one on the store's database. With its rollback nothing has happened; with its commit
// the queues wake. Until then a dedup key or id of such a job makes whoever enqueues the
// same one wait, and nobody else.
func Tx(tx pgx.Tx) driver.Tx { return driver.Tx{Handle: tx} }

// EnqueueTx implements [driver.TxProducer]. A failed call leaves nothing of its own
// in the transaction, which goes on; unless ctx ends while the server is at it: then pgx
// closes the connection, as it does for any statement, and the transaction is rolled back.
func (s *Store) EnqueueTx(ctx context.Context, tx driver.Tx, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	own, ok := tx.Handle.(pgx.Tx)
	if !ok || own == nil {
		return nil, foreign(tx.Handle)
	}
	if err := s.serves(ctx); err != nil {
		return nil, err
	}
	results := make([]driver.EnqueueResult, len(batch))
	if len(batch) == 0 {
		return results, nil
	}
	for try := 1; ; try++ {
		err := s.enqueueIn(ctx, own, now, batch, results)
		if err == nil {
			s.folder.begin()
			return results, nil
		}
		// What the server refuses it refuses again in the same transaction, or after a wait
		// that the caller has bounded.
		again := errors.Is(err, errCollision) || errors.Is(err, errHeld)
		if try == transactTries || !again || !rest(ctx, try) {
			return nil, s.storeError(ctx, "EnqueueTx", err, false)
		}
	}
}

// enqueueIn enqueues so that its failure undoes what it did, and nothing else.
func (s *Store) enqueueIn(ctx context.Context, own pgx.Tx, now driver.Time, batch []driver.EnqueueRequest, results []driver.EnqueueResult) error {
	saved, err := own.Begin(ctx) // a savepoint
	if err != nil {
		return err
	}
	var database string
	err = func() error {
		t := newTx(ctx, s, saved, now)
		var before [5]string
		t.scan("settings_read", nil, []any{&before[0], &before[1], &before[2], &before[3], &before[4], &database})
		t.exec("settings")
		if err := t.enqueue(batch, results); err != nil {
			return err
		}
		if len(t.wakes) > 0 {
			var notes []string
			for queue := range t.wakes {
				notes = append(notes, string(noteWake)+fromTransaction+queue)
			}
			t.exec("notify", s.channel(), notes)
		}
		if err := t.send(); err != nil {
			return err
		}
		t.exec("settings_restore", before[0], before[1], before[2], before[3], before[4])
		return t.send()
	}()
	if database != "" && database != s.database {
		err = foreign(own)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
		defer cancel()
		_ = saved.Rollback(ctx)
		return err
	}
	return saved.Commit(ctx)
}

// foreign refuses what is no transaction on the store's database.
func foreign(handle any) error {
	return &driver.InvalidError{Field: "transaction", Value: fmt.Sprintf("%T", handle),
		Reason: "is not one on the store's database; pass pgstore.Tx with a pgx.Tx that was begun there, such as of Store.Pool"}
}

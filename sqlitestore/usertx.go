package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// Tx wraps a transaction of the caller's in which jobs are to be enqueued. It must
// be one on the store's database. With its rollback nothing has happened; with its
// commit the queues wake, within 50 ms. While it is open, nobody else can write to
// the database.
//
// A transaction that begins without the write lock can fail with [ErrBusy] when it
// first writes, if another has written meanwhile: begin it with
// _txlock=immediate, as those of [Store.DB] do.
func Tx(tx *sql.Tx) driver.Tx { return driver.Tx{Handle: tx} }

// EnqueueTx implements [driver.TxProducer]. A failed call leaves nothing of its own
// in the transaction, which goes on. Where SQLite itself has ended the transaction, as it
// does when the disk is full, its further calls fail with [sql.ErrTxDone].
func (s *Store) EnqueueTx(ctx context.Context, tx driver.Tx, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	own, ok := tx.Handle.(*sql.Tx)
	if !ok || own == nil {
		return nil, &driver.InvalidError{Field: "transaction", Value: fmt.Sprintf("%T", tx.Handle),
			Reason: "is not one of SQLite's; pass sqlitestore.Tx with a *sql.Tx on the store's database"}
	}
	if err := s.serves(ctx); err != nil {
		return nil, err
	}
	if err := s.sameFile(); err != nil {
		return nil, err
	}
	results := make([]driver.EnqueueResult, len(batch))
	if len(batch) == 0 {
		return results, nil
	}
	err := guarded(ctx, own, func(on session) error {
		t := newTx(s, on)
		if err := t.load(); err != nil {
			return err
		}
		for from := 0; from < len(batch); from += uninterrupted {
			if err := ctx.Err(); err != nil {
				return err
			}
			to := min(from+uninterrupted, len(batch))
			if err := (step{tx: t, now: now}).enqueueAll(batch[from:to], results[from:to]); err != nil {
				return err
			}
		}
		t.keep()
		return t.flush()
	})
	if err != nil {
		return nil, storeError("EnqueueTx", err)
	}
	return results, nil
}

// uninterrupted is how many jobs are enqueued between two looks at the caller's context.
const uninterrupted = 100

// guarded calls work so that its failure undoes what it did, and nothing else.
func guarded(ctx context.Context, tx *sql.Tx, work func(on session) error) error {
	// A statement that is interrupted takes the whole transaction with it.
	on := transaction{ctx: context.WithoutCancel(ctx), tx: tx}
	if _, err := on.exec("savepoint"); err != nil {
		return err
	}
	failed := work(on)
	if failed != nil {
		if _, err := on.exec("rollback_to"); err != nil {
			// SQLite has rolled back all of it. What the caller wrote next would be
			// committed at once, by itself.
			_ = tx.Rollback()
			return failed
		}
	}
	if _, err := on.exec("release"); err != nil && failed == nil {
		return err
	}
	return failed
}

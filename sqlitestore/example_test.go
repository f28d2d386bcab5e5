package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/sqlitestore"
)

// A job that is enqueued in a transaction exists if the transaction is committed, and
// only then.
func ExampleTx() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	store, err := sqlitestore.Open(filepath.Join(folder, "app.db"))
	if err != nil {
		panic(err)
	}
	defer store.Close()
	client := braid.NewClient(store)
	defer client.Close()
	welcome := braid.NewJob[string, int]("welcome")

	db := store.DB()
	if _, err := db.ExecContext(ctx, "CREATE TABLE users (name TEXT)"); err != nil {
		panic(err)
	}
	signUp := func(name string, commit bool) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			panic(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, "INSERT INTO users VALUES (?)", name); err != nil {
			panic(err)
		}
		if _, err := welcome.Enqueue(ctx, client.Tx(sqlitestore.Tx(tx)), name); err != nil {
			panic(err)
		}
		if commit {
			if err := tx.Commit(); err != nil {
				panic(err)
			}
		}
	}
	signUp("ann", true)
	signUp("bob", false)

	counts, err := store.Counts(ctx, "")
	if err != nil {
		panic(err)
	}
	fmt.Println(counts.Waiting, "job waits")
	// Output: 1 job waits
}

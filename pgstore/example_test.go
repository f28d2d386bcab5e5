package pgstore_test

import (
	"context"
	"fmt"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/pgstore"
)

// A job that is enqueued in a transaction exists if the transaction is committed, and
// only then.
func ExampleTx() {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, exampleDatabase(), pgstore.WithSchema("example"), pgstore.WithMigrate())
	if err != nil {
		panic(err)
	}
	defer store.Close()
	client := braid.NewClient(store)
	defer client.Close()
	welcome := braid.NewJob[string, int]("welcome")

	db := store.Pool()
	if _, err := db.Exec(ctx, "CREATE TABLE example.users (name text)"); err != nil {
		panic(err)
	}
	signUp := func(name string, commit bool) {
		tx, err := db.Begin(ctx)
		if err != nil {
			panic(err)
		}
		defer func() { _ = tx.Rollback(ctx) }()
		if _, err := tx.Exec(ctx, "INSERT INTO example.users VALUES ($1)", name); err != nil {
			panic(err)
		}
		if _, err := welcome.Enqueue(ctx, client.Tx(pgstore.Tx(tx)), name); err != nil {
			panic(err)
		}
		if commit {
			if err := tx.Commit(ctx); err != nil {
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

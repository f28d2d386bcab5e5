package pgstore_test

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/internal/testserver"
)

// exampleDatabase returns the URL of the tests' server, without what a former run of the
// example has left there.
func exampleDatabase() string {
	url, err := testserver.SharedPostgresURL()
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		panic(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS example CASCADE"); err != nil {
		panic(err)
	}
	return url
}

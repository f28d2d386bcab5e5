// Package pgstore keeps jobs in Postgres 13 or newer.
//
//	store, err := pgstore.Open(ctx, "postgres://app@db.internal/app?schema=jobs")
//	client := braid.NewClient(store)
//
// The tables are made once, with `braid migrate up --store URL`, with the SQL that
// [Migrations.SQL] returns, or by a store that is opened [WithMigrate].
//
// # The caller's own transactions
//
// [Tx] wraps a pgx.Tx, so that jobs are enqueued with the caller's own writes, or not at
// all. Until the commit, whoever enqueues the same id or dedup key waits for it; nobody
// else does. Rows of the caller's may reference braid_jobs, with ON DELETE CASCADE or
// SET NULL, since retention deletes jobs.
//
// # Waking
//
// A worker of the same process is woken at once, one elsewhere by a notification a few
// milliseconds after the commit. The store keeps one connection for LISTEN, beside the
// pool, makes it again when it is lost, and asks itself every 15 s whether it still
// hears. Where it does not, as behind a transaction pooler, workers poll.
//
// # Poolers
//
// Nothing but LISTEN needs a session. Behind a transaction pooler that does not know
// prepared statements, set default_query_exec_mode=exec (or simple_protocol) in the URL.
//
// # Tables
//
// All names begin with braid_, unless [WithTablePrefix] says otherwise. Payloads, exits
// and metadata can be read with SQL: payload::json, metadata ->> 'tenant'. Rows are
// changed by the store alone; columns that the user adds are left alone, and filled if
// [WithMetadataColumns] says from what.
package pgstore

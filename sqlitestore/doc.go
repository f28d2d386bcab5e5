// Package sqlitestore keeps jobs in a SQLite file. It needs no C compiler and no
// server, survives a crash of the program or of the machine, and several processes
// may share one file.
//
//	store, err := sqlitestore.Open("jobs.db")
//	client := braid.NewClient(store)
//
// # Writing and reading
//
// SQLite lets one transaction write at a time. The store has one goroutine that
// writes; the calls that arrive while it commits go into its next transaction
// together, so that many callers share one flush to the disk. Reads run beside it,
// on connections of their own, and are never blocked. A call returns when its
// transaction is on the disk, unless [WithRelaxedDurability] says otherwise.
//
// # Several processes
//
// Workers of the same process are woken at once. Work that another process, or a
// transaction of the caller's own, has committed is noticed within 50 ms; the store
// looks at the file's version every 15 ms while somebody waits, and not at all
// otherwise. The file must lie on a local disk: SQLite's locks do not work on network
// file systems.
//
// # The caller's own transactions
//
// [Tx] wraps a *sql.Tx of the same file, so that jobs are enqueued with the caller's
// own writes, or not at all. While such a transaction is open, nobody else writes to
// the file: keep it short, and begin it with the write lock (_txlock=immediate), as
// those of [Store.DB] do.
//
// All tables begin with braid_; others in the same file are left alone.
package sqlitestore

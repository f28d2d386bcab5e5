// Sqlitecompare measures the SQLite libraries that need no C compiler on what a
// store of jobs does: batches of inserts, claims and acks, each in a transaction.
//
//	go run . -jobs 20000
//
// It prints wall and CPU time per job. On a busy machine trust the latter.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// library is a connection of one library, reduced to what the workload needs.
// Statements are numbered as in statements; args are int64 or string.
type library interface {
	exec(statement int, args ...any) error
	// query calls each for every row, with the row's first column.
	query(statement int, each func(id string), args ...any) error
	close() error
}

var libraries = []struct {
	name string
	open func(ctx context.Context, path, synchronous string) (library, error)
}{
	{"modernc database/sql", func(ctx context.Context, path, synchronous string) (library, error) {
		return openSQL(ctx, "sqlite", "file:"+path, synchronous)
	}},
	{"modernc's driver, raw", func(ctx context.Context, path, synchronous string) (library, error) {
		return openRaw(ctx, "sqlite", "file:"+path, synchronous)
	}},
	{"zombiezen direct", openZombiezen},
	{"ncruces database/sql", func(ctx context.Context, path, synchronous string) (library, error) {
		return openSQL(ctx, "sqlite3", "file:"+path, synchronous)
	}},
	{"ncruces direct", openNcruces},
}

const schema = `
CREATE TABLE jobs (
	rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, queue TEXT NOT NULL, name TEXT NOT NULL, state INTEGER NOT NULL,
	priority INTEGER NOT NULL, seq INTEGER NOT NULL, enqueued_at INTEGER NOT NULL, payload BLOB, token TEXT,
	lock_expires_at INTEGER, finished_at INTEGER, exit BLOB);
CREATE INDEX jobs_waiting ON jobs (queue, name, priority DESC, seq) WHERE state = 1;
CREATE INDEX jobs_active ON jobs (lock_expires_at) WHERE state = 3;
CREATE INDEX jobs_enqueued ON jobs (enqueued_at, id);
CREATE INDEX jobs_finished ON jobs (finished_at, id) WHERE finished_at IS NOT NULL;
CREATE TABLE counts (queue TEXT, state INTEGER, n INTEGER, PRIMARY KEY (queue, state)) WITHOUT ROWID;
`

const (
	begin = iota
	commit
	insert
	count
	pick
	lock
	find
	finish
)

var statements = [...]string{
	begin:  `BEGIN IMMEDIATE`,
	commit: `COMMIT`,
	insert: `INSERT INTO jobs (id, queue, name, state, priority, seq, enqueued_at, payload) VALUES (?, 'q', 'work', 1, 0, ?, ?, ?)`,
	count:  `INSERT INTO counts VALUES ('q', ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n`,
	pick:   `SELECT id, payload FROM jobs WHERE state = 1 AND queue = 'q' AND name = 'work' ORDER BY priority DESC, seq LIMIT 50`,
	lock:   `UPDATE jobs SET state = 3, token = ?, lock_expires_at = ? WHERE id = ?`,
	find:   `SELECT token, payload FROM jobs WHERE id = ?`,
	finish: `UPDATE jobs SET state = 5, token = NULL, lock_expires_at = NULL, finished_at = ?, exit = ? WHERE id = ?`,
}

const (
	insertBatch = 100
	claimBatch  = 50
	payload     = `{"to":"somebody@example.com","n":12345}`
)

func main() {
	jobs := flag.Int("jobs", 20_000, "how many jobs each run enqueues, claims and acks")
	dir := flag.String("dir", os.TempDir(), "where the database files lie")
	only := flag.String("only", "", "the one library to measure")
	flag.Parse()
	fmt.Printf("%-22s %-7s %28s %28s\n", "", "", "enqueue, µs a job", "claim+ack, µs a job")
	fmt.Printf("%-22s %-7s %14s %13s %14s %13s\n", "library", "sync", "wall", "CPU", "wall", "CPU")
	for _, synchronous := range []string{"FULL", "NORMAL"} {
		for _, l := range libraries {
			if *only != "" && *only != l.name {
				continue
			}
			scratch, err := os.MkdirTemp(*dir, "sqlitecompare")
			check(err)
			db, err := l.open(context.Background(), filepath.Join(scratch, "jobs.db"), synchronous)
			check(err)
			in := measure(*jobs, func() { enqueue(db, *jobs) })
			out := measure(*jobs, func() { process(db, *jobs) })
			check(db.close())
			check(os.RemoveAll(scratch))
			fmt.Printf("%-22s %-7s %14.1f %13.1f %14.1f %13.1f\n", l.name, synchronous, in.wall, in.cpu, out.wall, out.cpu)
		}
	}
}

func enqueue(db library, jobs int) {
	for n := 0; n < jobs; n += insertBatch {
		check(db.exec(begin))
		for i := n; i < n+insertBatch; i++ {
			check(db.exec(insert, fmt.Sprintf("j-%d", i), int64(i), int64(i), payload))
		}
		check(db.exec(count, int64(1), int64(insertBatch)))
		check(db.exec(commit))
	}
}

func process(db library, jobs int) {
	for n := 0; n < jobs; n += claimBatch {
		var ids []string
		check(db.exec(begin))
		check(db.query(pick, func(id string) { ids = append(ids, id) }))
		for _, id := range ids {
			check(db.exec(lock, "token", int64(n), id))
		}
		check(db.exec(count, int64(3), int64(len(ids))))
		check(db.exec(commit))
		check(db.exec(begin))
		for _, id := range ids {
			check(db.query(find, func(string) {}, id))
			check(db.exec(finish, int64(n), `{"ok":true}`, id))
		}
		check(db.exec(count, int64(5), int64(len(ids))))
		check(db.exec(commit))
	}
}

// cost is microseconds per job.
type cost struct{ wall, cpu float64 }

func measure(jobs int, work func()) cost {
	wall, cpu := time.Now(), cpuTime()
	work()
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(jobs) }
	return cost{wall: per(time.Since(wall)), cpu: per(cpuTime() - cpu)}
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "sqlitecompare:", err)
		os.Exit(1)
	}
}

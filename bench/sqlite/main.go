// Command sqlite measures Braid's SQLite store beside River on its SQLite driver, each in
// a file of its own on the same disk, equally durable, with handlers that do nothing and
// finished jobs kept.
//
//	go run ./sqlite [-jobs 20000] [-rounds 3] [-durability full|normal] [-folder DIR]
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"

	"github.com/braidmq/braid/bench/compare"
	"github.com/braidmq/braid/bench/river"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

const (
	producers = 20   // that enqueue one by one
	batchSize = 1000 // jobs of one call that takes many
	// payloadText is 37 bytes long as JSON.
	payloadText = "0123456789abcdefghijklmnopqrstuvwxy"
)

func main() {
	jobs := flag.Int("jobs", 20_000, "jobs in the backlog")
	singles := flag.Int("singles", 10_000, "jobs enqueued one by one")
	rounds := flag.Int("rounds", 3, "rounds, of which the best counts")
	concurrencies := flag.String("concurrency", "100,1000", "how many jobs run at once")
	durability := flag.String("durability", "full", "full: each commit is flushed to the disk; normal: it need not survive a power cut")
	folder := flag.String("folder", "", "where the files lie (default the folder for temporary files)")
	flag.Parse()
	options := compare.Options{
		Jobs: *jobs, Singles: *singles, Producers: producers, Rounds: *rounds,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	for text := range strings.SplitSeq(*concurrencies, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "-concurrency %q: use numbers such as 100,1000\n", *concurrencies)
			os.Exit(2)
		}
		options.Concurrencies = append(options.Concurrencies, n)
	}
	if *durability != "full" && *durability != "normal" {
		fmt.Fprintf(os.Stderr, "-durability %q: use full or normal\n", *durability)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *folder, *durability, options)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures, and prints the table.
func run(ctx context.Context, parent, durability string, options compare.Options) error {
	folder, err := os.MkdirTemp(parent, "braid-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	files := &files{folder: folder}
	openBraid := func(_ context.Context, logger *slog.Logger) (driver.Store, error) {
		opts := []sqlitestore.Option{sqlitestore.WithLogger(logger)}
		if durability == "normal" {
			opts = append(opts, sqlitestore.WithRelaxedDurability())
		}
		return sqlitestore.Open(files.path(), opts...)
	}
	// As River's documentation has it, and with the write-ahead log that Braid uses.
	openRiver := func(context.Context) (riverdriver.Driver[*sql.Tx], func() error, error) {
		db, err := sql.Open("sqlite", "file:"+files.path()+
			"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous("+durability+")")
		if err != nil {
			return nil, nil, err
		}
		db.SetMaxOpenConns(1)
		return riversqlite.New(db), db.Close, nil
	}
	systems := []compare.System{
		&compare.Braid{Open: openBraid, Payload: payloadText, Batch: batchSize},
		&river.System[*sql.Tx]{Open: openRiver, Payload: payloadText, Batch: batchSize},
		&river.System[*sql.Tx]{Open: openRiver, Payload: payloadText, Batch: batchSize, Eager: true},
	}
	start := time.Now()
	figures, err := compare.Run(ctx, files, systems, options)
	if err != nil {
		return err
	}
	fmt.Printf("SQLite files in %s with synchronous=%s, %d processors, %s; %d jobs with a payload of %d bytes, "+
		"handlers that do nothing, finished jobs kept; best of %d rounds; %v in all.\n"+
		"River fetches every 100 ms by default; the eager one as often as it allows.\n\n",
		filepath.Dir(folder), durability, runtime.NumCPU(), runtime.Version(), options.Jobs, len(strconv.Quote(payloadText)),
		options.Rounds, time.Since(start).Round(time.Second))
	return compare.WriteTable(os.Stdout, figures, goals())
}

// goals are what Braid shall reach on SQLite.
func goals() []compare.Goal {
	processing := func(f *compare.Figures) float64 { best, _ := f.BestProcessing(); return best }
	single := func(f *compare.Figures) float64 { return f.Single }
	batch := func(f *compare.Figures) float64 { return f.Batch }
	var all []compare.Goal
	for _, river := range []string{"river", "river, eager"} {
		all = append(all,
			compare.AtLeastTimes(3, "processing: at least 3 times that of "+river, river, processing),
			compare.AtLeastTimes(3, "single enqueues: at least 3 times those of "+river, river, single),
			compare.AtLeastTimes(3, "batch enqueue: at least 3 times that of "+river, river, batch))
	}
	return all
}

// files is the folder in which each measurement has a new file.
type files struct {
	folder string
	number int
}

func (f *files) path() string { return filepath.Join(f.folder, strconv.Itoa(f.number)+".db") }

// Empty is part of compare.Server.
func (f *files) Empty() error {
	leftover, err := filepath.Glob(f.path() + "*")
	if err != nil {
		return err
	}
	for _, file := range leftover {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	f.number++
	return nil
}

// Usage is part of compare.Server: there is no server.
func (f *files) Usage() (compare.Usage, error) { return compare.Usage{}, nil }

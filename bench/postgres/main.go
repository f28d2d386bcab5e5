// Command postgres measures Braid's Postgres store beside River and graphile-worker, on
// one server that it starts itself, which flushes what is committed, with handlers that
// do nothing. Finished jobs are kept by braid and river, and deleted by graphile-worker
// and "braid, deleting".
//
//	go run ./postgres [-jobs 100000] [-rounds 3] [-systems braid,river,graphile]
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/braidmq/braid/bench/compare"
	"github.com/braidmq/braid/bench/river"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

const (
	producers = 20   // that enqueue one by one
	batchSize = 1000 // jobs of one call that takes many
	// payloadText is 37 bytes long as JSON.
	payloadText = "0123456789abcdefghijklmnopqrstuvwxy"
	// connections is how many each system may have to the server at once.
	connections = "20"
)

func main() {
	jobs := flag.Int("jobs", 100_000, "jobs in the backlog")
	singles := flag.Int("singles", 50_000, "jobs enqueued one by one")
	rounds := flag.Int("rounds", 3, "rounds, of which the best counts")
	names := flag.String("systems", "braid,river,graphile", "systems to measure")
	concurrencies := flag.String("concurrency", "100,1000,2000", "how many jobs run at once")
	graphile := flag.String("graphile", "graphile", "folder of the graphile-worker script")
	flag.Parse()
	options := compare.Options{
		Jobs: *jobs, Singles: *singles, Producers: producers, Rounds: *rounds,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	for text := range strings.SplitSeq(*concurrencies, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "-concurrency %q: use numbers such as 100,1000,2000\n", *concurrencies)
			os.Exit(2)
		}
		options.Concurrencies = append(options.Concurrencies, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, strings.Split(*names, ","), *graphile, options)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run starts the server, measures, and prints the table.
func run(ctx context.Context, names []string, graphileFolder string, options compare.Options) (err error) {
	postgres, err := testserver.StartPostgres(testserver.Durable())
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := postgres.Close(); err == nil {
			err = closeErr
		}
	}()
	databases := &databases{server: postgres}
	systems, err := chosen(ctx, names, graphileFolder, databases)
	if err != nil {
		return err
	}
	start := time.Now()
	figures, err := compare.Run(ctx, databases, systems, options)
	if err != nil {
		return err
	}
	version, err := databases.ask(ctx, "SHOW server_version")
	if err != nil {
		return err
	}
	fmt.Printf("Postgres %s with fsync and its default settings on loopback, %s connections each, %d processors, %s; "+
		"%d jobs with a payload of %d bytes, handlers that do nothing; best of %d rounds; %v in all.\n\n",
		version, connections, runtime.NumCPU(), runtime.Version(), options.Jobs, len(strconv.Quote(payloadText)),
		options.Rounds, time.Since(start).Round(time.Second))
	return compare.WriteTable(os.Stdout, figures, goals())
}

// chosen returns the systems of those names.
func chosen(ctx context.Context, names []string, graphileFolder string, databases *databases) ([]compare.System, error) {
	var systems []compare.System
	braidOn := func(deletes bool, opts ...pgstore.Option) *compare.Braid {
		return &compare.Braid{Payload: payloadText, Batch: batchSize, Deletes: deletes,
			Open: func(ctx context.Context, logger *slog.Logger) (driver.Store, error) {
				return pgstore.Open(ctx, databases.url()+"&pool_max_conns="+connections,
					append(opts, pgstore.WithMigrate(), pgstore.WithLogger(logger))...)
			}}
	}
	if slices.Contains(names, "braid") {
		systems = append(systems, braidOn(false))
	}
	if slices.Contains(names, "river") {
		systems = append(systems, &river.System[pgx.Tx]{Payload: payloadText, Batch: batchSize,
			Open: func(ctx context.Context) (riverdriver.Driver[pgx.Tx], func() error, error) {
				pool, err := pgxpool.New(ctx, databases.url()+"&pool_max_conns="+connections)
				if err != nil {
					return nil, nil, err
				}
				return riverpgxv5.New(pool), func() error { pool.Close(); return nil }, nil
			}})
	}
	if slices.Contains(names, "graphile") {
		folder, err := filepath.Abs(graphileFolder)
		if err != nil {
			return nil, err
		}
		graphile := &graphileSystem{databases: databases, node: compare.Node{Title: "graphile-worker", Folder: folder, Batch: batchSize}}
		if err := graphile.node.Install(ctx, "graphile-worker"); err != nil {
			fmt.Fprintln(os.Stderr, "without graphile-worker:", err)
		} else {
			if slices.Contains(names, "braid") {
				systems = append(systems, braidOn(true, pgstore.WithDeleteFinished()))
			}
			systems = append(systems, graphile)
		}
	}
	if len(systems) == 0 {
		return nil, fmt.Errorf("-systems %q names none of braid, river and graphile", strings.Join(names, ","))
	}
	return systems, nil
}

// goals are what Braid shall reach on Postgres.
func goals() []compare.Goal {
	processing := func(f *compare.Figures) float64 { best, _ := f.BestProcessing(); return best }
	single := func(f *compare.Figures) float64 { return f.Single }
	batch := func(f *compare.Figures) float64 { return f.Batch }
	return []compare.Goal{
		compare.AtLeastTimes(1.5, "processing: at least 1.5 times River's best", "river", processing),
		compare.AtLeastTimes(1, "batch enqueue: at least River's COPY", "river", batch),
		compare.AtLeastTimes(3, "single enqueues: at least 3 times River's", "river", single),
	}
}

// Command redis measures Braid's Redis store beside asynq and BullMQ, on one
// redis-server without persistence that it starts itself, with handlers that do
// nothing and finished jobs kept.
//
//	go run ./redis [-jobs 100000] [-rounds 3] [-systems braid,asynq,bullmq]
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braidmq/braid/bench/compare"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

const (
	producers = 20   // that enqueue one by one
	batchSize = 1000 // jobs of one call that takes many
	// payloadText is 37 bytes long as JSON.
	payloadText = "0123456789abcdefghijklmnopqrstuvwxy"
)

func main() {
	jobs := flag.Int("jobs", 100_000, "jobs in the backlog")
	singles := flag.Int("singles", 50_000, "jobs enqueued one by one")
	rounds := flag.Int("rounds", 3, "rounds, of which the best counts")
	names := flag.String("systems", "braid,asynq,bullmq", "systems to measure; braid is always measured")
	concurrencies := flag.String("concurrency", "10,100,1000", "how many jobs run at once")
	bullmqFolder := flag.String("bullmq", "bullmq", "folder of the BullMQ script")
	flag.Parse()
	options := compare.Options{
		Jobs: *jobs, Singles: *singles, Producers: producers, Rounds: *rounds,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	for text := range strings.SplitSeq(*concurrencies, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "-concurrency %q: use numbers such as 10,100,1000\n", *concurrencies)
			os.Exit(2)
		}
		options.Concurrencies = append(options.Concurrencies, n)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, strings.Split(*names, ","), *bullmqFolder, options)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run starts the server, measures, and prints the table.
func run(ctx context.Context, names []string, bullmqFolder string, options compare.Options) (err error) {
	redis, err := testserver.StartRedis()
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := redis.Close(); err == nil {
			err = closeErr
		}
	}()
	// The store's default options: both list indexes are on.
	open := func(ctx context.Context, logger *slog.Logger) (driver.Store, error) {
		return redisstore.Open(ctx, redis.URL(), redisstore.WithLogger(logger))
	}
	systems := []compare.System{&compare.Braid{Open: open, Payload: payloadText, Batch: batchSize}}
	if slices.Contains(names, "asynq") {
		systems = append(systems, &asynqSystem{addr: redis.Addr(), payload: strconv.AppendQuote(nil, payloadText)})
	}
	if slices.Contains(names, "bullmq") {
		folder, err := filepath.Abs(bullmqFolder)
		if err != nil {
			return err
		}
		_, port, err := net.SplitHostPort(redis.Addr())
		if err != nil {
			return err
		}
		bullmq := &compare.Node{Title: "bullmq", Folder: folder, Batch: batchSize, Fixed: map[string]any{"port": port, "payload": payloadText}}
		if err := bullmq.Install(ctx, "bullmq"); err != nil {
			fmt.Fprintln(os.Stderr, "without BullMQ:", err)
		} else {
			systems = append(systems, bullmq)
		}
	}
	start := time.Now()
	figures, err := compare.Run(ctx, server{redis}, systems, options)
	if err != nil {
		return err
	}
	info, err := redis.Info("server")
	if err != nil {
		return err
	}
	fmt.Printf("Redis %s without persistence on loopback, %d processors, %s; %d jobs with a payload of %d bytes, "+
		"handlers that do nothing, finished jobs kept; best of %d rounds; %v in all.\n"+
		"asynq has no call that enqueues many jobs: its batches are single calls from %d goroutines.\n\n",
		info["redis_version"], runtime.NumCPU(), runtime.Version(), options.Jobs, len(strconv.Quote(payloadText)),
		options.Rounds, time.Since(start).Round(time.Second), producers)
	return compare.WriteTable(os.Stdout, figures, goals())
}

// goals are what Braid shall reach on Redis.
func goals() []compare.Goal {
	processing := func(f *compare.Figures) float64 { best, _ := f.BestProcessing(); return best }
	single := func(f *compare.Figures) float64 { return f.Single }
	batch := func(f *compare.Figures) float64 { return f.Batch }
	return []compare.Goal{
		compare.AtLeastTimes(4, "processing: at least 4 times asynq's best", "asynq", processing),
		compare.AtLeastTimes(2.5, "processing: at least 2.5 times BullMQ's best", "bullmq", processing),
		compare.AtLeastTimes(1.5, "single enqueues: at least 1.5 times asynq's", "asynq", single),
		compare.Either("batch enqueue: at least 70,000/s or 3 times BullMQ's",
			compare.AtLeast(70_000, "", batch), compare.AtLeastTimes(3, "", "bullmq", batch)),
		compare.AtMost(30, "server time over a job's life: at most 30 µs", func(f *compare.Figures) float64 {
			return float64(f.Commands.Nanoseconds()) / 1000
		}),
		compare.AtMost(800, "memory: at most 800 B per waiting job", func(f *compare.Figures) float64 { return float64(f.Memory) }),
	}
}

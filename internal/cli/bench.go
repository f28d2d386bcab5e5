package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/internal/benchmark"
	"github.com/braidmq/braid/internal/plural"
	"github.com/braidmq/braid/internal/storeurl"
)

const benchHelp = `bench measures a store and a worker in this process, in four phases:
  enqueue one by one   a fifth of --jobs, from --producers goroutines at once
  enqueue in batches   the rest of --jobs, --batch per call
  process a backlog    all of them, by a worker that starts when all are enqueued
  steady load          up to 3,000 jobs at --rate, to see how soon an idle worker starts a job

Each phase prints jobs per second, the CPU time of this process per job, and, where single durations mean something, their
50th, 95th and 99th percentile; a job in a backlog waits for those before it, so that
phase has none. The figures of memory are the heap in use after garbage collection.

The jobs go to queues of their own. With --keep none, nothing is left in the store.`

func newBench() *cobra.Command {
	var (
		store, keep string
		asJSON      bool
		options     benchmark.Options
	)
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure enqueues, throughput and latency",
		Long:  benchHelp,
		Example: `  braid bench
  braid bench --jobs 1000000 --keep none --json`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch keep {
			case "all", "none":
				options.KeepAll = keep == "all"
			default:
				return usagef("invalid --keep %q: use all or none", keep)
			}
			if err := checkBench(options); err != nil {
				return err
			}
			return runBench(cmd, store, asJSON, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&store, "store", "memory:", "`URL` of the store to measure")
	flags.IntVar(&options.Jobs, "jobs", 200_000, "how many jobs the backlog has")
	flags.IntVar(&options.Concurrency, "concurrency", 100, "how many jobs run at once")
	flags.IntVar(&options.Producers, "producers", 2*runtime.GOMAXPROCS(0), "how many goroutines enqueue at once")
	flags.IntVar(&options.Batch, "batch", 1000, "how many jobs a batch has")
	flags.IntVar(&options.Payload, "payload", 37, "how many `bytes` the JSON of a payload has")
	flags.IntVar(&options.Rate, "rate", 1000, "how many jobs a second the steady load has")
	flags.StringVar(&keep, "keep", "none", "which finished jobs the store keeps: `all` or none")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// mostSteadyJobs bounds the steady load.
const mostSteadyJobs = 3000

func checkBench(options benchmark.Options) error {
	for _, flag := range []struct {
		name         string
		value, least int
	}{
		{"jobs", options.Jobs, 1},
		{"concurrency", options.Concurrency, 1},
		{"producers", options.Producers, 1},
		{"batch", options.Batch, 1},
		{"payload", options.Payload, 2},
		{"rate", options.Rate, 1},
	} {
		if err := atLeast(flag.name, flag.value, flag.least); err != nil {
			return err
		}
	}
	return nil
}

func runBench(cmd *cobra.Command, url string, asJSON bool, options benchmark.Options) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	store, err := storeurl.Open(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	options.Store = store
	options.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	// The steady load takes as long as its jobs at its rate; a small bench stays short.
	options.SteadyJobs = min(mostSteadyJobs, options.Jobs)
	if !asJSON {
		fmt.Fprintf(stdout, "%s store, payloads of %s, %s\n\n", store.Info().Kind,
			plural.Of(options.Payload, "byte", "bytes"), plural.Of(runtime.GOMAXPROCS(0), "CPU", "CPUs"))
		options.Done = func(phase benchmark.Phase) { _ = phase.WriteText(stdout) }
	}
	report, err := benchmark.Run(ctx, options)
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, err)
		return errInterrupted
	case err != nil:
		return err
	case asJSON:
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.Memory.WriteText(stdout)
}

// Command flows shows what a flow costs beside plain jobs, in one run, turn by turn: a
// flow of 10,000 children beside 10,000 jobs, whether larger flows cost in proportion,
// and how 200 handlers share one flow.
//
//	go run ./flows [-store redis|memory] [-children 10000] [-rounds 3]
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/memstore"
	"github.com/braidmq/braid/redisstore"
)

func main() {
	storeName := flag.String("store", "redis", "store to measure: redis or memory")
	children := flag.Int("children", 10_000, "children of the flow")
	rounds := flag.Int("rounds", 3, "rounds, of which the best counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *storeName, *children, *rounds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, storeName string, children, rounds int) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	open := func() (driver.Store, error) { return memstore.New(), nil }
	if storeName == "redis" {
		server, err := testserver.StartRedis()
		if err != nil {
			return err
		}
		defer server.Stop()
		open = func() (driver.Store, error) {
			if _, err := server.Do("FLUSHALL", "SYNC"); err != nil {
				return nil, err
			}
			return redisstore.Open(ctx, server.URL(), redisstore.WithLogger(quiet))
		}
	} else if storeName != "memory" {
		return fmt.Errorf("unknown store %q; use redis or memory", storeName)
	}
	b := bench{open: open, logger: quiet}

	const slots = 200
	var jobs, flow, shared best
	for range rounds {
		took, err := b.jobs(ctx, children, slots)
		if err != nil {
			return err
		}
		jobs.add(took)
		result, err := b.flow(ctx, children, slots)
		if err != nil {
			return err
		}
		flow.add(result.whole)
		working, err := b.sharing(ctx, children, slots)
		if err != nil {
			return err
		}
		shared.add(working)
	}
	fmt.Printf("%s, %d at once, best of %d rounds\n", storeName, slots, rounds)
	fmt.Printf("%8d jobs, enqueued in batches and processed   %8.3f s\n", children, jobs.seconds())
	fmt.Printf("%8d children of a flow, to its result         %8.3f s   %.2f times as long (goal: at most 2.5)\n",
		children, flow.seconds(), flow.seconds()/jobs.seconds())
	processed, err := b.processing(ctx, children, slots, rounds)
	if err != nil {
		return err
	}
	fmt.Printf("%8d children, first claim to settle           %8.3f s   %.0f %% of the throughput of plain jobs (goal: at least 60)\n",
		children, shared.seconds(), 100*processed.seconds()/shared.seconds())
	var before *flowResult
	for _, factor := range []int{4, 8} {
		result, err := b.flow(ctx, factor*children, slots)
		if err != nil {
			return err
		}
		fmt.Printf("%8d children of a flow, to its result         %8.3f s   collect %.3f s, its heap grew by %.1f MB",
			factor*children, result.whole.Seconds(), result.collect.Seconds(), float64(result.heap)/(1<<20))
		if before != nil {
			fmt.Printf("   %.2f times the whole, %.2f times the collect (goal: under 2.3)",
				result.whole.Seconds()/before.whole.Seconds(), result.collect.Seconds()/before.collect.Seconds())
		}
		fmt.Println()
		before = &result
	}
	return nil
}

// best is the shortest of some durations.
type best struct{ d time.Duration }

func (b *best) add(d time.Duration) {
	if b.d == 0 || d < b.d {
		b.d = d
	}
}

func (b *best) seconds() float64 { return b.d.Seconds() }

// Command held shows what a transaction that stays open costs the Postgres store: it
// runs a steady load before, while and after another session holds a snapshot, which
// keeps vacuum from removing any row version that has died since.
//
//	go run ./held [-before 15s] [-held 60s] [-after 15s] [-loads plain,delayed,kept]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

// step is how long each measured piece takes.
const step = 5 * time.Second

func main() {
	before := flag.Duration("before", 15*time.Second, "how long to run before the transaction begins")
	held := flag.Duration("held", time.Minute, "how long the transaction stays open")
	after := flag.Duration("after", 15*time.Second, "how long to run after its end")
	loads := flag.String("loads", "plain", "loads to measure: plain, delayed, kept")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, strings.Split(*loads, ","), phases{*before, *held, *after})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// phases are how long the parts of a measurement take.
type phases struct{ before, held, after time.Duration }

func run(ctx context.Context, names []string, p phases) (err error) {
	server, err := testserver.StartPostgres(testserver.Durable())
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := server.Close(); err == nil {
			err = closeErr
		}
	}()
	for _, name := range names {
		options, ok := loads[name]
		if !ok {
			return fmt.Errorf("unknown load %q; use plain, delayed or kept", name)
		}
		if err := measure(ctx, server, name, options, p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// measure runs one load in a schema of its own.
func measure(ctx context.Context, server *testserver.PostgresServer, name string, options []braid.EnqueueOption, p phases) (err error) {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := pgstore.Open(ctx, server.URL()+"&schema="+name+"&pool_max_conns=20", pgstore.WithMigrate(), pgstore.WithLogger(quiet))
	if err != nil {
		return err
	}
	client := braid.NewClient(store, braid.WithLogger(quiet))
	defer func() {
		client.Close()
		err = errors.Join(err, store.Close())
	}()
	l := newLoad(client, options)
	ctx = l.start(ctx)
	defer func() { err = errors.Join(err, l.stop()) }()

	fmt.Printf("%s: jobs per second, in steps of %v\n", name, step)
	open, err := l.rates(ctx, p.before)
	if err != nil {
		return err
	}
	fmt.Printf("  before: %v\n", open)
	end, err := hold(ctx, server.URL())
	if err != nil {
		return err
	}
	held, err := l.rates(ctx, p.held)
	if err := errors.Join(err, end()); err != nil {
		return err
	}
	fmt.Printf("  held:   %v\n", held)
	after, err := l.rates(ctx, p.after)
	if err != nil {
		return err
	}
	fmt.Printf("  after:  %v\n", after)
	usual := open[len(open)-1]
	fmt.Printf("  the last step of each: %d, %d (%.2f×), %d (%.2f×); the least while held: %.2f×\n",
		usual, held[len(held)-1], ratio(held[len(held)-1], usual), after[len(after)-1], ratio(after[len(after)-1], usual),
		ratio(slices.Min(held), usual))
	return nil
}

func ratio(a, b int64) float64 { return float64(a) / float64(b) }

// hold opens a transaction that has a snapshot, and returns what ends it.
func hold(ctx context.Context, url string) (end func() error, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class"); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return func() error { return conn.Close(context.WithoutCancel(ctx)) }, nil
}

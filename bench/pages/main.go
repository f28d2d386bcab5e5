// Command pages shows how long the server takes for each page of the dashboard and each
// list of the API over a store with a million jobs: it fills a store of its own, asks for
// every one of them through a server, with each filter, the first page and later ones, and
// prints how long the answers took. It ends with 1 if one took longer than the limit.
//
//	go run ./pages [-store redis|postgres|sqlite|memory] [-jobs 1000000] [-rounds 10] [-limit 200ms]
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
	"path/filepath"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/server"
	"github.com/braidmq/braid/internal/storeurl"
	"github.com/braidmq/braid/internal/testserver"
)

func main() {
	kind := flag.String("store", "redis", "store to fill: redis, postgres, sqlite or memory")
	jobs := flag.Int("jobs", 1_000_000, "jobs in the store")
	rounds := flag.Int("rounds", 10, "requests of each address")
	limit := flag.Duration("limit", 200*time.Millisecond, "the longest that an answer may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *kind, *jobs, *rounds, *limit)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kind string, jobs, rounds int, limit time.Duration) (err error) {
	url, closeServer, err := startStore(kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeServer()) }()
	store, err := storeurl.OpenQuiet(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	began := time.Now()
	load, err := fill(ctx, store, jobs, began)
	if err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%s: filled in %v\n", kind, time.Since(began).Round(time.Second))
	return serve(store, func(base string) error {
		v := &visitor{ctx: ctx, base: base, rounds: rounds, limit: limit}
		if err := v.visitAll(load); err != nil {
			return err
		}
		fmt.Printf("%s, %d jobs: milliseconds in the median and at most, of %d requests\n\n", kind, jobs, rounds)
		return v.report(os.Stdout)
	})
}

// startStore starts what a store needs, and returns the store's URL.
func startStore(kind string) (url string, closeServer func() error, err error) {
	switch kind {
	case "redis":
		server, err := testserver.StartRedis()
		if err != nil {
			return "", nil, err
		}
		return server.URL(), server.Close, nil
	case "postgres":
		server, err := testserver.StartPostgres()
		if err != nil {
			return "", nil, err
		}
		return server.URL(), server.Close, nil
	case "sqlite":
		folder, err := os.MkdirTemp("", "braid-pages-")
		if err != nil {
			return "", nil, err
		}
		return "sqlite:" + filepath.Join(folder, "jobs.db"), func() error { return os.RemoveAll(folder) }, nil
	case "memory":
		return "memory:", func() error { return nil }, nil
	}
	return "", nil, fmt.Errorf("unknown store %q; use redis, postgres, sqlite or memory", kind)
}

// serve runs a server over the store while do runs.
func serve(store driver.Store, do func(base string) error) error {
	s, err := server.New(server.Config{Store: store, Listen: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Keeper: braid.KeeperOptions{}})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	err = do("http://" + s.Address())
	stop()
	return errors.Join(err, <-ended)
}

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
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/server"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/memstore"
	"github.com/braidmq/braid/pgstore"
	"github.com/braidmq/braid/redisstore"
	"github.com/braidmq/braid/sqlitestore"
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
	store, settle, closeStore, err := open(ctx, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	began := time.Now()
	load, err := fill(ctx, store, jobs, began)
	if err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	if err := settle(); err != nil {
		return err
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

// open opens an empty store, on a server of its own if it needs one. settle does at once
// what the server would do some time after the store was filled.
func open(ctx context.Context, kind string) (store driver.Store, settle, closeAll func() error, err error) {
	quiet := slog.New(slog.DiscardHandler)
	nothing := func() error { return nil }
	settle, closeServer := nothing, nothing
	switch kind {
	case "redis":
		server, startErr := testserver.StartRedis()
		if startErr != nil {
			return nil, nil, nil, startErr
		}
		closeServer = server.Close
		store, err = redisstore.Open(ctx, server.URL(), redisstore.WithLogger(quiet))
	case "postgres":
		server, startErr := testserver.StartPostgres()
		if startErr != nil {
			return nil, nil, nil, startErr
		}
		closeServer = server.Close
		settle = func() error { return vacuum(ctx, server.URL()) }
		store, err = pgstore.Open(ctx, server.URL(), pgstore.WithMigrate(), pgstore.WithLogger(quiet))
	case "sqlite":
		folder, startErr := os.MkdirTemp("", "braid-pages-")
		if startErr != nil {
			return nil, nil, nil, startErr
		}
		closeServer = func() error { return os.RemoveAll(folder) }
		store, err = sqlitestore.Open(filepath.Join(folder, "jobs.db"), sqlitestore.WithRelaxedDurability())
	case "memory":
		store = memstore.New()
	default:
		err = fmt.Errorf("unknown store %q; use redis, postgres, sqlite or memory", kind)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, closeServer())
	}
	return store, settle, func() error { return errors.Join(store.Close(), closeServer()) }, nil
}

// vacuum does what autovacuum does within a minute or so.
func vacuum(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE)")
	return errors.Join(err, conn.Close(ctx))
}

// serve runs a server over the store while do runs.
func serve(store driver.Store, do func(base string) error) error {
	s, err := server.New(server.Config{Store: store, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
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

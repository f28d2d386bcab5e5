package pgstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

var quiet = slog.New(slog.DiscardHandler)

// schemas hands out schemas whose tables are empty. Making one takes as long as a dozen
// cases, so they are used again.
type schemas struct {
	url string

	mu   sync.Mutex
	free []string
	made int
}

var (
	bookOnce sync.Once
	book     *schemas
)

// schemaBook returns the schemas of the shared server.
func schemaBook(t testing.TB) *schemas {
	t.Helper()
	bookOnce.Do(func() { book = &schemas{url: testserver.SharedPostgres(t)} })
	return book
}

// take returns a schema, which is given back when the test ends.
func (b *schemas) take(t drivertest.TB) string {
	t.Helper()
	b.mu.Lock()
	var schema string
	if n := len(b.free); n > 0 {
		schema = b.free[n-1]
		b.free = b.free[:n-1]
	} else {
		b.made++
		schema = fmt.Sprintf("braid_test_%d_%d", os.Getpid(), b.made)
	}
	b.mu.Unlock()
	t.Cleanup(func() {
		if t.Failed() {
			return // whatever broke it may be in it
		}
		if err := pgstore.Empty(context.Background(), b.url, schema); err != nil {
			t.Errorf("empty the schema %s: %v", schema, err)
			return
		}
		b.mu.Lock()
		b.free = append(b.free, schema)
		b.mu.Unlock()
	})
	return schema
}

// testedStore is a store that knows where it is, for Reopen.
type testedStore struct {
	*pgstore.Store
	schema string
}

// stores opens stores on a server.
type stores struct {
	book *schemas
	url  string // what the stores connect to; empty: the book's server
	mode string // how pgx sends statements; empty: as it does by default
	opts []pgstore.Option
}

// parameters adds parameters to a URL.
func parameters(t drivertest.TB, raw string, pairs ...string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatalf("%v", err)
	}
	query := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func (s stores) open(t drivertest.TB, schema string, opts ...pgstore.Option) testedStore {
	t.Helper()
	address := s.url
	if address == "" {
		address = s.book.url
	}
	address = parameters(t, address, "application_name", schema)
	if s.mode != "" {
		address = parameters(t, address, "default_query_exec_mode", s.mode)
	}
	opts = append(append([]pgstore.Option{pgstore.WithSchema(schema), pgstore.WithLogger(quiet), pgstore.WithMigrate()}, s.opts...), opts...)
	store, err := pgstore.Open(context.Background(), address, opts...)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		// After a Close there is nothing to look at.
		if err := store.CheckInvariants(context.Background()); err != nil && !strings.Contains(err.Error(), "closed pool") {
			t.Errorf("%v", err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return testedStore{store, schema}
}

// harness tells the suite how to use these stores.
func (s stores) harness() drivertest.Harness {
	return drivertest.Harness{
		Remote: true, Parallel: true,
		Lists: func(r driver.ListRequest) bool { return r.OrderBy != driver.ByRunAt },
		Open: func(t drivertest.TB, o drivertest.StoreOptions) driver.Store {
			var opts []pgstore.Option
			if ceiling, ok := o.HistoryCeiling.Get(); ok {
				opts = append(opts, pgstore.WithHistoryCeiling(ceiling))
			}
			if o.IDGenerator != nil {
				opts = append(opts, pgstore.WithIDGenerator(o.IDGenerator))
			}
			if o.WithoutStats {
				opts = append(opts, pgstore.WithoutStats())
			}
			return s.open(t, s.book.take(t), opts...)
		},
		Reopen: func(t drivertest.TB, store driver.Store) driver.Store {
			return s.open(t, store.(testedStore).schema)
		},
		BeginTx: beginTx,
		DropConnections: func(t drivertest.TB, store driver.Store) {
			terminate(t, s.book.url, store.(testedStore).schema)
		},
	}
}

func beginTx(t drivertest.TB, s driver.Store) drivertest.Transaction {
	t.Helper()
	tx, err := s.(testedStore).Pool().Begin(t.Context())
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return drivertest.Transaction{
		Tx:       pgstore.Tx(tx),
		Commit:   func() error { return tx.Commit(t.Context()) },
		Rollback: func() error { return tx.Rollback(t.Context()) },
	}
}

// terminate ends the sessions of an application.
func terminate(t drivertest.TB, address, application string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", application); err != nil {
		t.Fatalf("%v", err)
	}
}

func TestPostgresStoreConforms(t *testing.T) {
	drivertest.Run(t, stores{book: schemaBook(t)}.harness())
}

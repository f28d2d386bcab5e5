package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/pgstore"
)

var ownSchemas atomic.Int64

// ownSchema returns the name of a schema that does not exist, and a pool of connections to
// its database. The schema goes with the test.
func ownSchema(t *testing.T) (string, *pgxpool.Pool) {
	t.Helper()
	return fmt.Sprintf("own schema %d %d", os.Getpid(), ownSchemas.Add(1)), connect(t, testserver.SharedPostgres(t))
}

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func mustExec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func scanOne[T any](t *testing.T, pool *pgxpool.Pool, sql string, args ...any) (value T) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// newStore returns a store on the pool, which ends with the test.
func newStore(t testing.TB, pool *pgxpool.Pool, opts ...pgstore.Option) *pgstore.Store {
	t.Helper()
	s, err := pgstore.New(t.Context(), pool, append([]pgstore.Option{pgstore.WithMigrate(), pgstore.WithLogger(quiet)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func job(id string) driver.EnqueueRequest {
	return driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: "work", Queue: "q", Payload: []byte(`1`), AttemptsMax: 3}}
}

func enqueue(t testing.TB, s driver.Store, reqs ...driver.EnqueueRequest) {
	t.Helper()
	if _, err := s.Enqueue(context.Background(), 0, reqs); err != nil {
		t.Fatal(err)
	}
}

func TestADatabaseThatIsNotMigratedSaysWhatToRun(t *testing.T) {
	schema, pool := ownSchema(t)
	_, err := pgstore.New(t.Context(), pool, pgstore.WithSchema(schema))
	if want := "braid migrate up --store 'postgres://…?schema=" + schema + "'"; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("New: %v; want it to say %q", err, want)
	}
	s := newStore(t, pool, pgstore.WithSchema(schema))
	enqueue(t, s, job("a"))
	migrations, err := pgstore.MigrationsOf(t.Context(), pool, pgstore.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.To(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{job("b")}); !errors.Is(err, pgstore.ErrNoTables) {
		t.Errorf("Enqueue without tables: %v", err)
	}
	left := scanOne[string](t, pool, "SELECT string_agg(relname, ',') FROM pg_class WHERE relnamespace = quote_ident($1)::regnamespace AND relkind IN ('r', 'S')", schema)
	if left != "braid_migrations" {
		t.Errorf("after all migrations were taken back the schema has %s", left)
	}
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	schema, pool := ownSchema(t)
	newStore(t, pool, pgstore.WithSchema(schema))
	mustExec(t, pool, "INSERT INTO "+pgx.Identifier{schema, "braid_migrations"}.Sanitize()+" VALUES (99, 'to_come', 'x')")
	for _, options := range [][]pgstore.Option{nil, {pgstore.WithMigrate()}} {
		if _, err := pgstore.New(t.Context(), pool, append(options, pgstore.WithSchema(schema))...); !errors.Is(err, driver.ErrFormatTooNew) {
			t.Errorf("New on a newer database: %v", err)
		}
	}
}

func TestAMigrationThatWasChangedIsRefused(t *testing.T) {
	schema, pool := ownSchema(t)
	newStore(t, pool, pgstore.WithSchema(schema))
	mustExec(t, pool, "UPDATE "+pgx.Identifier{schema, "braid_migrations"}.Sanitize()+" SET hash = 'other' WHERE version = 1")
	if _, err := pgstore.New(t.Context(), pool, pgstore.WithSchema(schema)); err == nil || !strings.Contains(err.Error(), "reads otherwise") {
		t.Errorf("New on a database with a changed migration: %v", err)
	}
}

func TestSeveralProcessesMayMigrateAtOnce(t *testing.T) {
	for _, isolation := range []string{"read committed", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			schema, _ := ownSchema(t)
			address := testserver.SharedPostgres(t) + "&default_transaction_isolation=" + url.PathEscape(isolation)
			var opening sync.WaitGroup
			for i := range 12 {
				opening.Go(func() {
					s, err := pgstore.Open(t.Context(), address, pgstore.WithSchema(schema), pgstore.WithTablePrefix(fmt.Sprint("store", i%2, "_")),
						pgstore.WithMigrate(), pgstore.WithLogger(quiet))
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			opening.Wait()
		})
	}
}

// The schema is found in every form that pgx takes, and takes nothing from the other
// parameters.
func TestTheSchemaOfAURLLeavesTheRestAlone(t *testing.T) {
	shared, err := url.Parse(testserver.SharedPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	pool := connect(t, shared.String())
	schema, _ := ownSchema(t)
	user := fmt.Sprintf("urls_%d", os.Getpid())
	mustExec(t, pool, "CREATE ROLE "+user+" LOGIN SUPERUSER PASSWORD 'a#b'")
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP OWNED BY "+user+" CASCADE; DROP ROLE "+user); err != nil {
			t.Error(err)
		}
	})
	host, port, database := shared.Hostname(), shared.Port(), strings.Trim(shared.Path, "/")
	at := host + ":" + port + "/" + database
	for address, want := range map[string]string{
		"postgres://" + user + ":a%23b@" + at + "?sslmode=disable&application_name=my%20app&options=-c%20statement_timeout%3D3000&schema=" + url.PathEscape(schema): "my app 3s",
		"POSTGRES://" + user + ":a%23b@" + at + "?schema=" + url.PathEscape(schema) + "&sslmode=disable":                                                            "braid 0",
		fmt.Sprintf("host=%s port=%s user=%s password='a#b' dbname=%s sslmode=disable schema='%s'", host, port, user, database, schema):                             "braid 0",
	} {
		s, err := pgstore.Open(t.Context(), address, pgstore.WithMigrate(), pgstore.WithLogger(quiet))
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if !strings.HasSuffix(s.Info().Location, "schema "+schema) {
			t.Errorf("%s: opened %s", address, s.Info().Location)
		}
		if got := scanOne[string](t, s.Pool(), "SELECT current_setting('application_name') || ' ' || current_setting('statement_timeout')"); got != want {
			t.Errorf("%s: the session has %q", address, got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Which part of a malformed URL is the password, nobody knows.
func TestAMalformedURLIsNotShown(t *testing.T) {
	for _, address := range []string{
		"postgres://user:SECRET/pa55@127.0.0.1:1/one", "postgres://user:SECRET%zzpa55@127.0.0.1:1/one",
		"postgres://user:SECRET@127.0.0.1:abc/one", "postgres://user:SECRET@127.0.0.1:1/one?sslmode=bogus", "postgres://user:SECRET@127.0.0.1:1/one?pool_max_conns=x",
		"host=x password=SECRET port=abc", "host=x password = SECRET port=abc", `host=x password='SEC\'SECRET' port=abc`, "host=x password=SECRET port",
		"user:SECRET@127.0.0.1", "postgres:user:SECRET@127.0.0.1", "postgres//user:SECRET@127.0.0.1/one", "mysql://user:SECRET@127.0.0.1",
	} {
		_, err := pgstore.Open(t.Context(), address)
		if !errors.Is(err, driver.ErrInvalid) || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "pa55") {
			t.Errorf("%s: %v", address, err)
		}
		if !strings.Contains(fmt.Sprint(err), "postgres://user:password@host") {
			t.Errorf("%s: %v does not say what to write", address, err)
		}
	}
}

// The SQL for other migrators makes the same tables as the migrations do.
func TestMigrationsAsSQL(t *testing.T) {
	schema, pool := ownSchema(t)
	migrations, err := pgstore.MigrationsOf(t.Context(), pool, pgstore.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, pool, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
	mustExec(t, pool, migrations.SQL())
	s, err := pgstore.New(t.Context(), pool, pgstore.WithSchema(schema), pgstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	enqueue(t, s, job("a"))
}

func TestTheSearchPathCounts(t *testing.T) {
	schema, pool := ownSchema(t)
	mustExec(t, pool, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
	config := pool.Config()
	config.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize() + ", public"
	pathed, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pathed.Close)
	enqueue(t, newStore(t, pathed), job("a"))
	// The first schema that exists got the tables; where tables are, they are used.
	config = pool.Config()
	config.ConnConfig.RuntimeParams["search_path"] = "public, " + pgx.Identifier{schema}.Sanitize()
	behind, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(behind.Close)
	s, err := pgstore.New(t.Context(), behind, pgstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Waiting != 1 {
		t.Errorf("through the other search_path: %+v, %v", counts, err)
	}
}

func TestTwoStoresInOneSchema(t *testing.T) {
	schema, pool := ownSchema(t)
	odd := newStore(t, pool, pgstore.WithSchema(schema), pgstore.WithTablePrefix(`Odd'"$1 `))
	plain := newStore(t, pool, pgstore.WithSchema(schema))
	enqueue(t, odd, job("a"), job("b"))
	enqueue(t, plain, job("a"))
	for s, want := range map[*pgstore.Store]int64{odd: 2, plain: 1} {
		if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Waiting != want {
			t.Errorf("%s: %+v, %v", s.Info().Location, counts, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, pool := ownSchema(t)
	for name, option := range map[string]pgstore.Option{
		"schema": pgstore.WithSchema(""), "table prefix": pgstore.WithTablePrefix(strings.Repeat("x", 60)),
		"history ttl": pgstore.WithHistoryTTL(-1), "history ceiling": pgstore.WithHistoryCeiling(driver.HistoryCeiling{}),
		"id generator": pgstore.WithIDGenerator(nil), "logger": pgstore.WithLogger(nil),
		"metadata key": pgstore.WithMetadataColumns(map[string]string{"": "x"}),
		"column":       pgstore.WithMetadataColumns(map[string]string{"a": "tenant", "b": "tenant"}),
	} {
		_, err := pgstore.New(t.Context(), pool, option)
		var invalid *driver.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != name {
			t.Errorf("the option of %s: %v", name, err)
		}
	}
	for _, address := range []string{"mysql://x", "postgres://x:port", "postgres://ann:hunter2@x/y?schema="} {
		if _, err := pgstore.Open(t.Context(), address); !errors.Is(err, driver.ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q): %v", address, err)
		}
	}
}

// Columns of the user's are filled from metadata, whatever inserts or rewrites the job.
func TestColumnsFromMetadata(t *testing.T) {
	schema, pool := ownSchema(t)
	columns := pgstore.WithMetadataColumns(map[string]string{"tenant": "tenant_id", "it's": "Odd column"})
	if s, err := pgstore.New(t.Context(), pool, pgstore.WithSchema(schema), pgstore.WithMigrate(), columns); err == nil || !strings.Contains(err.Error(), "ADD COLUMN") {
		t.Errorf("New without the columns: %v, %v", s, err)
	}
	table := pgx.Identifier{schema, "braid_jobs"}.Sanitize()
	mustExec(t, pool, "ALTER TABLE "+table+` ADD COLUMN tenant_id int, ADD COLUMN "Odd column" text`)
	s := newStore(t, pool, pgstore.WithSchema(schema), columns)
	with := func(req driver.EnqueueRequest, metadata map[string]string) driver.EnqueueRequest {
		req.Metadata = metadata
		return req
	}
	keyed := job("keyed")
	keyed.Delay, keyed.Dedupe = 1000, &driver.Dedupe{Key: "k", Replace: true}
	enqueue(t, s, with(job("a"), map[string]string{"tenant": "7", "it's": "x"}), with(keyed, map[string]string{"tenant": "1"}), job("none"))
	enqueue(t, s, with(job(""), map[string]string{"tenant": "8"}))
	again := job("")
	again.Delay, again.Dedupe = 1000, keyed.Dedupe
	enqueue(t, s, with(again, map[string]string{"tenant": "9"}))
	got := scanOne[string](t, pool, "SELECT string_agg(coalesce(tenant_id::text, '-') || coalesce(\"Odd column\", ''), ' ' ORDER BY seq) FROM "+table)
	if got != "7x 9 - 8" {
		t.Errorf("the columns hold %q", got)
	}
	if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{with(job("bad"), map[string]string{"tenant": "no number"})}); err == nil || driver.Retryable(err) {
		t.Errorf("metadata that its column cannot take: %v", err)
	}
}

func TestFinishedJobsAreDeletedWhenAsked(t *testing.T) {
	schema, pool := ownSchema(t)
	s := newStore(t, pool, pgstore.WithSchema(schema), pgstore.WithDeleteFinished())
	kept := job("kept")
	kept.Keep = &driver.Keep{Failed: driver.Retention{Count: driver.Some(int64(10))}}
	keyed := job("keyed")
	keyed.Dedupe = &driver.Dedupe{Key: "k"}
	enqueue(t, s, job("plain"), keyed)
	enqueue(t, s, kept)
	for _, ids := range [][]string{{"plain", "keyed"}, {"kept"}} {
		claimed, err := s.Claim(t.Context(), 1, driver.ClaimRequest{Queue: "q", Names: []string{"work"}, Worker: "w", Token: ids[0], Limit: len(ids), LockDuration: 1000})
		if err != nil || len(claimed.Jobs) != len(ids) {
			t.Fatalf("Claim: %v, %v", claimed, err)
		}
		var watches []<-chan driver.Finished
		var acks []driver.Ack
		for _, id := range ids {
			watch, err := s.WatchFinished(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			watches, acks = append(watches, watch), append(acks, driver.Ack{ID: id, Token: ids[0], Kind: driver.AckFail, Exit: []byte(`"e"`)})
		}
		results, err := s.Ack(t.Context(), 2, append(acks, driver.Ack{ID: "unknown", Token: ids[0], Kind: driver.AckFail}))
		if err != nil || results[0].State != driver.Failed || !errors.Is(results[len(ids)].Err, driver.ErrNotFound) {
			t.Fatalf("Ack: %v, %v", results, err)
		}
		for i, watch := range watches {
			if end := <-watch; end.ID != ids[i] || end.State != driver.Failed || string(end.Exit) != `"e"` || end.AttemptsMade != 1 {
				t.Errorf("the watch of %s is told %+v", ids[i], end)
			}
		}
	}
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts != (driver.Counts{}) {
		t.Errorf("%+v, %v", counts, err)
	}
	enqueue(t, s, keyed)
	if err := s.CheckInvariants(t.Context()); err != nil {
		t.Error(err)
	}
}

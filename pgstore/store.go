package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// Store is a store in a Postgres database. Its methods may be called from many
// goroutines at once. Use [Open] or [New].
type Store struct {
	settings
	pool       *pgxpool.Pool
	ownsPool   bool
	location   string
	database   string // what no other database is likely to have
	secured    bool   // whether row-level security may hide jobs from the store's own role
	statements map[statement]string

	ids     idStock
	plans   rowcodec.Plans
	fastAck fastAck
	growth  growth
	hub     *hub
	folder  *folder
	heads   heads

	closing chan struct{} // closed by Close
	closed  context.Context
	end     context.CancelCauseFunc // ends closed
	close   sync.Once
}

var (
	_ driver.Store         = (*Store)(nil)
	_ driver.Waker         = (*Store)(nil)
	_ driver.FinishWatcher = (*Store)(nil)
	_ driver.CancelWatcher = (*Store)(nil)
	_ driver.ServerClock   = (*Store)(nil)
	_ driver.TxProducer    = (*Store)(nil)

	_ driver.GroupedProducer = (*Store)(nil)
	_ driver.GroupedConsumer = (*Store)(nil)
)

// leastConnections is the size of the pool that Open makes, unless the URL has
// pool_max_conns.
const leastConnections = 10

// Open connects to the database of a URL or keyword string as libpq knows them, such
// as postgres://user:secret@host:5432/jobs. Beside libpq's parameters and those of
// pgxpool (pool_max_conns, …) it takes schema=, which is [WithSchema]. The tables must
// have been made: a database without them is refused with an error that says what to
// run, unless [WithMigrate] is given; one of a newer version with
// [driver.ErrFormatTooNew].
//
// ctx bounds the opening, not the store's life.
func Open(ctx context.Context, rawURL string, opts ...Option) (*Store, error) {
	config, opts, err := parse(rawURL, opts)
	if err != nil {
		return nil, err
	}
	settings, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, openError(err)
	}
	s := newStore(pool, settings)
	s.ownsPool = true
	if err := s.start(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// New returns a store on a pool of the caller's, who closes it after the store. The
// pool's settings count, such as its query mode, which must be exec or simple behind a
// transaction pooler. The store opens one connection beside the pool, for LISTEN, with
// the pool's configuration, unless [WithoutListen] is given.
func New(ctx context.Context, pool *pgxpool.Pool, opts ...Option) (*Store, error) {
	settings, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	if pool == nil {
		return nil, &driver.InvalidError{Field: "pool", Value: "nil", Reason: "is no pool; pass an open *pgxpool.Pool"}
	}
	s := newStore(pool, settings)
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// otherScheme matches a URL of something else than Postgres.
var otherScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// parse reads the URL. Its schema goes before the options, so that WithSchema wins.
func parse(rawURL string, opts []Option) (*pgxpool.Config, []Option, error) {
	refuse := func(reason string) error {
		return &driver.InvalidError{Field: "url", Value: "xxxxx", Reason: reason}
	}
	if scheme := strings.ToLower(otherScheme.FindString(rawURL)); scheme != "" {
		if scheme != "postgres://" && scheme != "postgresql://" {
			return nil, nil, refuse("is not of Postgres; use postgres://user:password@host:5432/database?schema=…")
		}
		rawURL = scheme + rawURL[len(scheme):]
	}
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return nil, nil, refuse(parseReason(err))
	}
	// What pgx does not know, it would give to the server.
	parameters := config.ConnConfig.RuntimeParams
	if schema, given := parameters["schema"]; given {
		opts = append([]Option{WithSchema(schema)}, opts...)
		delete(parameters, "schema")
	}
	if !strings.Contains(rawURL, "pool_max_conns") {
		config.MaxConns = max(config.MaxConns, leastConnections)
	}
	if parameters["application_name"] == "" {
		parameters["application_name"] = "braid"
	}
	return config, opts, nil
}

// parseReason says what is wrong with a URL without showing any of it: which part of a
// malformed one is the password cannot be told.
func parseReason(err error) string {
	const hint = "; use postgres://user:password@host:5432/database, with %XX for special characters of the password, or host=… user=…"
	var malformed *pgconn.ParseConfigError
	if !errors.As(err, &malformed) {
		return "cannot be read" + hint
	}
	bare := *malformed
	bare.ConnString = ""
	reason, _, _ := strings.Cut(strings.TrimPrefix(bare.Error(), "cannot parse ``: "), " (")
	return "cannot be read: " + reason + hint
}

func newStore(pool *pgxpool.Pool, settings settings) *Store {
	s := &Store{settings: settings, pool: pool, closing: make(chan struct{})}
	s.closed, s.end = context.WithCancelCause(context.Background())
	config := pool.Config().ConnConfig
	s.location = net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
	s.hub = newHub(s)
	s.folder = newFolder(s)
	s.heads = newHeads(s)
	return s
}

// start looks at the schema.
func (s *Store) start(ctx context.Context) error {
	if err := s.findSchema(ctx); err != nil {
		return openError(err)
	}
	s.location += " schema " + s.schema
	if err := s.prepare(ctx); err != nil {
		return openError(err)
	}
	if err := s.findColumns(ctx); err != nil {
		return openError(err)
	}
	s.statements = renderStatements(s.names, s.columns)
	return openError(s.pool.QueryRow(ctx, s.sql("database")).Scan(&s.database, &s.secured))
}

// openError is what Open says of an error.
func openError(err error) error {
	var refused *driver.InvalidError
	if err == nil || isRefusal(err) || errors.As(err, &refused) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code := sqlState(err)
	return &driver.StoreError{Op: "Open", Err: err, Retryable: code == "" || retryableCode(code)}
}

// findSchema learns where the tables are, or are to be.
func (s *Store) findSchema(ctx context.Context) error {
	if s.schema != "" {
		return nil
	}
	schema, err := schemaInUse(ctx, s.pool, s.prefix)
	s.schema = schema
	return err
}

// queryer is a pool, a connection or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// schemaInUse returns the first schema of the search_path that has the tables, else
// the first that exists.
func schemaInUse(ctx context.Context, on queryer, prefix string) (string, error) {
	var with, first *string
	err := on.QueryRow(ctx, `SELECT current_schema()::text, (SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relname = $1::text AND pg_table_is_visible(c.oid))`, prefix+"migrations").Scan(&first, &with)
	switch {
	case err != nil:
		return "", err
	case with != nil:
		return *with, nil
	case first != nil:
		return *first, nil
	}
	return "", &driver.InvalidError{Field: "schema", Value: "",
		Reason: "is not given, and no schema of the connection's search_path exists; use WithSchema, or ?schema= in the URL"}
}

// findColumns learns the types of the user's columns.
func (s *Store) findColumns(ctx context.Context) error {
	for i := range s.columns {
		c := &s.columns[i]
		err := s.pool.QueryRow(ctx, `SELECT format_type(atttypid, atttypmod) FROM pg_attribute
			WHERE attrelid = to_regclass($1::text) AND attname = $2::text AND attnum > 0 AND NOT attisdropped`,
			s.table("jobs"), c.column).Scan(&c.kind)
		if errors.Is(err, pgx.ErrNoRows) {
			return &driver.InvalidError{Field: "column", Value: c.column,
				Reason: fmt.Sprintf("does not exist; add it: ALTER TABLE %s ADD COLUMN %s text", s.table("jobs"), quoteName(c.column))}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Info implements [driver.Store].
func (s *Store) Info() driver.Info {
	return driver.Info{Kind: "postgres", Location: s.location, Format: len(known)}
}

// Pool returns the pool of connections that the store uses, for transactions that
// enqueue jobs. It is closed with the store, unless the caller brought it.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping implements [driver.Store].
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.ServerTime(ctx)
	return err
}

// ServerTime implements [driver.ServerClock].
func (s *Store) ServerTime(ctx context.Context) (now driver.Time, err error) {
	err = s.pipeline(ctx, "ServerTime", 0, func(t *tx) {
		t.scan("server_time", nil, []any{(*int64)(&now)})
	})
	return now, err
}

// Close implements [driver.Store]. Calls under way end with ErrClosed.
func (s *Store) Close() error {
	if s.closing == nil {
		return nil // nobody opened it
	}
	s.close.Do(func() {
		close(s.closing)
		s.end(driver.ErrClosed)
		s.folder.wait()
		s.heads.wait()
		s.hub.close()
		if s.ownsPool {
			s.pool.Close()
		}
	})
	return nil
}

// enter returns the context for a call, which ends with the store, and what is to be
// done at its end; or why the store cannot serve the call.
func (s *Store) enter(ctx context.Context) (context.Context, func(), error) {
	if err := s.serves(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.closed, func() { cancel(driver.ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
	}, nil
}

// serves returns why the store cannot serve a call.
func (s *Store) serves(ctx context.Context) error {
	if s.closing == nil {
		return &driver.InvalidError{Field: "store", Reason: "is empty; open one with pgstore.Open or pgstore.New"}
	}
	select {
	case <-s.closing:
		return driver.ErrClosed
	default:
		return ctx.Err()
	}
}

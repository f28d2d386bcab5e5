package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/braidmq/braid/internal/migrate"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// known are the migrations of this version. Their number is the format's version.
var known = loadMigrations()

// migrateHint says what to do about tables that are missing.
const migrateHint = "run braid migrate up --store postgres://…, or open it with WithMigrate"

func loadMigrations() []migrate.Migration {
	folder, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err)
	}
	all, err := migrate.Load(folder)
	if err != nil {
		panic(err)
	}
	return all
}

// MigrationStatus tells how one migration stands in a database.
type MigrationStatus = migrate.Status

// Migrations gives access to the tables of a schema, without a store on it.
type Migrations struct {
	names    names
	pool     *pgxpool.Pool
	ownsPool bool
}

// MigrationsOf returns the migrations of a database that the caller is connected to.
// Of the options, [WithSchema] and [WithTablePrefix] count.
func MigrationsOf(ctx context.Context, pool *pgxpool.Pool, opts ...Option) (*Migrations, error) {
	settings, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	m := &Migrations{names: settings.names, pool: pool}
	if m.names.schema == "" {
		if m.names.schema, err = schemaInUse(ctx, pool, settings.prefix); err != nil {
			return nil, openError(err)
		}
	}
	return m, nil
}

// OpenMigrations returns the migrations of the database of a URL; close them when
// done.
func OpenMigrations(ctx context.Context, rawURL string, opts ...Option) (*Migrations, error) {
	config, opts, err := parse(rawURL, opts)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, openError(err)
	}
	m, err := MigrationsOf(ctx, pool, opts...)
	if err != nil {
		pool.Close()
		return nil, err
	}
	m.ownsPool = true
	return m, nil
}

// Close releases what OpenMigrations has opened.
func (m *Migrations) Close() error {
	if m.ownsPool {
		m.pool.Close()
	}
	return nil
}

// Newest is the newest version that this program knows.
func (m *Migrations) Newest() int { return len(known) }

// To takes the tables up or down to a version and returns the steps that it took; 0
// removes all of Braid's tables, with what is in them. Any number of processes may
// call it at once.
func (m *Migrations) To(ctx context.Context, version int) ([]string, error) {
	steps, err := migrate.To(ctx, &schema{names: m.names, pool: m.pool}, known, version)
	if err != nil {
		return nil, openError(err)
	}
	var all []string
	for _, step := range steps {
		all = append(all, step.String())
	}
	return all, nil
}

// Status tells how each migration stands, in order.
func (m *Migrations) Status(ctx context.Context) ([]MigrationStatus, error) {
	applied, err := (&schema{names: m.names, pool: m.pool}).Applied(ctx)
	if err != nil {
		return nil, openError(err)
	}
	return migrate.Compare(known, applied), nil
}

// SQL returns the SQL that takes a schema without any of Braid's tables to the newest
// version, for other tools to run.
func (m *Migrations) SQL() string {
	steps, err := migrate.Plan(known, nil, len(known))
	if err != nil {
		panic(err)
	}
	text := createMigrations + ";\n\n" + migrate.Export(steps, note)
	return m.names.render(text)
}

const createMigrations = `CREATE TABLE IF NOT EXISTS @migrations (version int PRIMARY KEY, name text NOT NULL, hash text NOT NULL)`

// note returns the statement that remembers a step.
func note(step migrate.Step) string {
	if step.Back {
		return fmt.Sprintf("DELETE FROM @migrations WHERE version = %d", step.Version)
	}
	return fmt.Sprintf("INSERT INTO @migrations (version, name, hash) VALUES (%d, %s, %s)",
		step.Version, quoteText(step.Name), quoteText(step.Hash))
}

// schema runs migrations. Within Locked, tx holds the lock.
type schema struct {
	names names
	pool  *pgxpool.Pool
	tx    pgx.Tx
}

// Locked implements [migrate.Executor]. The lock is the transaction's, so that it works
// behind a pooler. It is one for all prefixes, since they share the schema; and what is
// done under it must see what was committed before it was taken, whatever isolation the
// database has by default.
func (m *schema) Locked(ctx context.Context, work func(ctx context.Context) error) (err error) {
	return pgx.BeginTxFunc(ctx, m.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", names{schema: m.names.schema}.lockKey("migrate")); err != nil {
			return err
		}
		m.tx = tx
		defer func() { m.tx = nil }()
		return work(ctx)
	})
}

// Applied implements [migrate.Executor].
func (m *schema) Applied(ctx context.Context) ([]migrate.Applied, error) {
	var on queryer = m.pool
	if m.tx != nil {
		on = m.tx
	}
	var exists bool
	// The catalog is read as a table: what the server remembers of names may be older than
	// the lock.
	err := on.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2)`, m.names.schema, m.names.prefix+"migrations").Scan(&exists)
	if err != nil || !exists {
		return nil, err
	}
	rows, err := on.Query(ctx, m.names.render("SELECT version, name, hash FROM @migrations ORDER BY version"))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[migrate.Applied])
}

// Apply implements [migrate.Executor].
func (m *schema) Apply(ctx context.Context, step migrate.Step) error {
	if !step.Back {
		if err := m.makeSchema(ctx); err != nil {
			return err
		}
	}
	for _, text := range []string{createMigrations, step.SQL(), note(step)} {
		// The simple protocol takes several statements in one text.
		if _, err := m.tx.Exec(ctx, m.names.render(text), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

// makeSchema makes the schema, which whoever may only use it need not be allowed to.
func (m *schema) makeSchema(ctx context.Context) error {
	var exists bool
	err := m.tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", m.names.schema).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = m.tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoteName(m.names.schema))
	return err
}

// prepare brings the tables to this version, if it may, or says why they are not.
func (s *Store) prepare(ctx context.Context) error {
	schema := &schema{names: s.names, pool: s.pool}
	applied, err := schema.Applied(ctx)
	if err != nil {
		return err
	}
	err = migrate.Check(known, applied, fmt.Sprintf("braid migrate up --store 'postgres://…?schema=%s', or open it with WithMigrate", s.schema))
	if s.migrate && errors.Is(err, migrate.ErrPending) {
		_, err = migrate.Up(ctx, schema, known)
	}
	return err
}

package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/migrate"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// known are the migrations of this version. Their number is the format's version.
var known = loadMigrations()

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

// Migrations gives access to the schema of a database, without a store on it.
type Migrations struct {
	db     *sql.DB
	ownsDB bool
}

// MigrationsOf returns the migrations of a database that the caller has opened.
func MigrationsOf(db *sql.DB) *Migrations { return &Migrations{db: db} }

// OpenMigrations returns the migrations of the database in a file, which it makes if
// need be; close them when done.
func OpenMigrations(path string) (*Migrations, error) {
	settings, err := newSettings(nil)
	if err != nil {
		return nil, err
	}
	if path == "" || path == InMemory {
		return nil, &driver.InvalidError{Field: "path", Value: path, Reason: "is no file; name one"}
	}
	source, err := dataSource(path, settings)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, storeError("Migrate", err)
	}
	return &Migrations{db: db, ownsDB: true}, nil
}

// Close releases what OpenMigrations has opened.
func (m *Migrations) Close() error {
	if m.ownsDB {
		return m.db.Close()
	}
	return nil
}

// Newest is the newest version that this program knows.
func (m *Migrations) Newest() int { return len(known) }

// To takes the schema up or down to a version and returns the steps that it took; 0
// removes all of Braid's tables, with what is in them. Any number of processes may
// call it at once.
func (m *Migrations) To(ctx context.Context, version int) ([]string, error) {
	var steps []migrate.Step
	err := whileBusy(ctx, defaultBusyTimeout, func(ctx context.Context) (err error) {
		steps, err = migrate.To(ctx, &schema{db: m.db}, known, version)
		return err
	})
	return names(steps), storeError("Migrate", err)
}

// Status tells how each migration stands, in order.
func (m *Migrations) Status(ctx context.Context) ([]MigrationStatus, error) {
	var applied []migrate.Applied
	err := whileBusy(ctx, defaultBusyTimeout, func(ctx context.Context) (err error) {
		applied, err = (&schema{db: m.db}).Applied(ctx)
		return err
	})
	if err != nil {
		return nil, storeError("Migrate", err)
	}
	return migrate.Compare(known, applied), nil
}

// SQL returns the SQL that takes a database without any of Braid's tables to the
// newest version, for other tools to run.
func (m *Migrations) SQL() string {
	steps, err := migrate.Plan(known, nil, len(known))
	if err != nil {
		panic(err)
	}
	return createMigrations + ";\n\n" + migrate.Export(steps, note)
}

func names(steps []migrate.Step) []string {
	var all []string
	for _, step := range steps {
		all = append(all, step.String())
	}
	return all
}

const createMigrations = `CREATE TABLE IF NOT EXISTS braid_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)`

// note returns the statement that remembers a step.
func note(step migrate.Step) string {
	if step.Back {
		return fmt.Sprintf("DELETE FROM braid_migrations WHERE version = %d", step.Version)
	}
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	return fmt.Sprintf("INSERT INTO braid_migrations (version, name, hash) VALUES (%d, %s, %s)",
		step.Version, quote(step.Name), quote(step.Hash))
}

// schema runs migrations. Within Locked, conn holds the write lock.
type schema struct {
	db   *sql.DB
	conn *sql.Conn
}

// Locked implements [migrate.Executor].
func (m *schema) Locked(ctx context.Context, work func(ctx context.Context) error) (err error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	m.conn = conn
	defer func() { m.conn = nil }()
	if err := work(ctx); err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// Applied implements [migrate.Executor].
func (m *schema) Applied(ctx context.Context) ([]migrate.Applied, error) {
	var on interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	} = m.db
	if m.conn != nil {
		on = m.conn
	}
	var tables int
	row := on.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'braid_migrations'")
	if err := row.Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	rows, err := on.QueryContext(ctx, "SELECT version, name, hash FROM braid_migrations ORDER BY version")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var applied []migrate.Applied
	for rows.Next() {
		var a migrate.Applied
		if err := rows.Scan(&a.Version, &a.Name, &a.Hash); err != nil {
			return nil, err
		}
		applied = append(applied, a)
	}
	return applied, rows.Err()
}

// Apply implements [migrate.Executor].
func (m *schema) Apply(ctx context.Context, step migrate.Step) error {
	for _, text := range []string{createMigrations, step.SQL(), note(step)} {
		if _, err := m.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// prepare brings the schema to this version, if it may, or says why it is not.
func (s *Store) prepare(ctx context.Context, prepareNew bool) error {
	schema := &schema{db: s.db}
	applied, err := schema.Applied(ctx)
	if err != nil {
		return err
	}
	if s.migrate || prepareNew && len(applied) == 0 {
		if _, err := migrate.Up(ctx, schema, known); err != nil {
			return err
		}
		return nil
	}
	return migrate.Check(known, applied, "braid migrate up --store sqlite:PATH, or open it with WithMigrate")
}

package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

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
type Migrations struct{ db *sql.DB }

// MigrationsOf returns the migrations of a database.
func MigrationsOf(db *sql.DB) *Migrations { return &Migrations{db: db} }

// Up applies what is missing and returns the names of the migrations that it
// applied. Any number of processes may call it at once.
func (m *Migrations) Up(ctx context.Context) ([]string, error) { return m.To(ctx, len(known)) }

// To takes the schema up or down to a version; 0 removes all of Braid's tables, with
// what is in them. It returns the steps that it took.
func (m *Migrations) To(ctx context.Context, version int) ([]string, error) {
	steps, err := migrate.To(ctx, &schema{db: m.db}, known, version)
	return names(steps), storeErrorOfMigration(err)
}

// Status tells how each migration stands.
func (m *Migrations) Status(ctx context.Context) ([]MigrationStatus, error) {
	applied, err := (&schema{db: m.db}).Applied(ctx)
	if err != nil {
		return nil, storeErrorOfMigration(err)
	}
	return migrate.Compare(known, applied), nil
}

// MigrationSQL returns the SQL that takes an empty database to the newest version,
// for other tools to run.
func MigrationSQL() string {
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

func storeErrorOfMigration(err error) error {
	if err == nil || errors.Is(err, migrate.ErrPending) || resultCode(err) == 0 {
		return err
	}
	return storeError("Migrate", err)
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
	defer conn.Close()
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
	} = m.db
	if m.conn != nil {
		on = m.conn
	}
	exists, err := on.QueryContext(ctx, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'braid_migrations'")
	if err != nil {
		return nil, err
	}
	any := exists.Next()
	if err := errors.Join(exists.Err(), exists.Close()); err != nil || !any {
		return nil, err
	}
	rows, err := on.QueryContext(ctx, "SELECT version, name, hash FROM braid_migrations ORDER BY version")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
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

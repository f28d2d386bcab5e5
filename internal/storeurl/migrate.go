package storeurl

import (
	"context"
	"strings"

	"github.com/braidmq/braid/internal/migrate"
	"github.com/braidmq/braid/pgstore"
	"github.com/braidmq/braid/sqlitestore"
)

// Migrator changes the schema of a SQL store.
type Migrator interface {
	// Newest is the newest version that this program knows.
	Newest() int
	// Status tells how each migration stands, in order.
	Status(ctx context.Context) ([]migrate.Status, error)
	// To takes the schema up or down to a version and returns the steps that it took.
	To(ctx context.Context, version int) ([]string, error)
	// SQL returns the SQL that takes an empty schema to the newest version.
	SQL() string
	Close() error
}

// OpenMigrator returns the migrations of the store that a URL names; the caller
// closes it. A store without migrations, and a URL that Open does not know, are
// refused.
func OpenMigrator(ctx context.Context, raw string) (Migrator, error) {
	scheme, rest, found := strings.Cut(raw, ":")
	if !found {
		return nil, refuse(raw, "has no scheme; use "+known())
	}
	switch strings.ToLower(scheme) {
	case "sqlite":
		path, err := sqlitePath(raw, rest)
		if err != nil {
			return nil, err
		}
		return sqlitestore.OpenMigrations(path)
	case "postgres", "postgresql":
		if err := checkServer(raw); err != nil {
			return nil, err
		}
		m, err := pgstore.OpenMigrations(ctx, strings.ToLower(scheme)+":"+rest)
		if err != nil {
			return nil, err
		}
		return m, nil
	default:
		for _, form := range Forms() {
			if form.Scheme == strings.ToLower(scheme) {
				return nil, refuse(raw, "has no migrations; only SQL stores have")
			}
		}
		return nil, refuse(raw, "has an unknown scheme; use "+known())
	}
}

package pgstore

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// Option changes a setting of a store.
type Option func(*settings) error

type settings struct {
	names
	ceiling        driver.HistoryCeiling
	generateID     func() string // nil: j-<n> from the store's counter
	logger         *slog.Logger
	migrate        bool
	deleteFinished bool
	withoutStats   bool
	noListen       bool
	columns        []userColumn
}

func newSettings(opts []Option) (settings, error) {
	s := settings{names: names{prefix: defaultPrefix}, logger: slog.Default()}
	for _, opt := range opts {
		if err := opt(&s); err != nil {
			return settings{}, err
		}
	}
	return s, nil
}

// WithSchema keeps the tables in that schema, whatever the connections' search_path.
// The default is the first schema of the search_path that has them, else the first
// that exists.
func WithSchema(schema string) Option {
	return func(s *settings) error {
		s.schema = schema
		return driver.CheckText("schema", schema, maxNameBytes)
	}
}

// maxNameBytes is the longest name that Postgres does not cut.
const maxNameBytes = 63

// WithTablePrefix begins the names of all tables, indexes and sequences with prefix,
// so that several stores fit into one schema. The default is braid_.
func WithTablePrefix(prefix string) Option {
	return func(s *settings) error {
		s.prefix = prefix
		return driver.CheckText("table prefix", prefix, maxNameBytes-longestTable)
	}
}

// longestTable is the length of the longest name behind the prefix.
const longestTable = len("children_returned")

// WithHistoryTTL lets no finished job stay longer than d, whatever its own Keep
// says. The default is no ceiling. It is WithHistoryCeiling with the same age for
// the three terminal states.
func WithHistoryTTL(d time.Duration) Option {
	return func(s *settings) (err error) {
		s.ceiling, err = storekit.HistoryTTL(d)
		return err
	}
}

// WithHistoryCeiling bounds how long finished jobs stay, per terminal state. The
// default is no ceiling. A ceiling that sets no state is refused. It is not stored:
// the sweeps of each process follow their own.
func WithHistoryCeiling(c driver.HistoryCeiling) Option {
	return func(s *settings) (err error) {
		s.ceiling, err = storekit.HistoryCeiling(c)
		return err
	}
}

// WithIDGenerator draws the ids of jobs that are enqueued without one from
// generate, which must be quick, must not call the store, and is never called by
// two goroutines at once. The default is j-<n>, from a sequence in the database.
func WithIDGenerator(generate func() string) Option {
	return func(s *settings) (err error) {
		s.generateID, err = storekit.IDGenerator(generate)
		return err
	}
}

// WithLogger sends what nobody else would learn, such as that the connection that
// wakes workers is lost, to logger. The default is slog.Default().
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) (err error) {
		s.logger, err = storekit.Logger(logger)
		return err
	}
}

// WithMigrate applies the migrations that the schema lacks before it is used, and
// makes the schema if need be. The default is to refuse such a database with an error
// that says what to run.
func WithMigrate() Option {
	return func(s *settings) error {
		s.migrate = true
		return nil
	}
}

// WithDeleteFinished deletes jobs in the step that finishes them, whatever their Keep
// says: there is no history, and the table stays as small as the backlog. Those who
// wait for a job's end are told its outcome all the same. A flow parent that still owes
// cancels to its children stays until they are paid.
func WithDeleteFinished() Option {
	return func(s *settings) error {
		s.deleteFinished = true
		return nil
	}
}

// WithoutListen keeps no connection for LISTEN, as where only a transaction pooler is
// at hand. Workers are woken at once by what the same process enqueues, unless it is in a
// transaction of the caller's, whose commit nobody tells the store of. That, and work from
// elsewhere, is found by polling, within a few seconds.
func WithoutListen() Option {
	return func(s *settings) error {
		s.noListen = true
		return nil
	}
}

// WithoutStats lets this store count no runs per minute, queue and outcome, which the
// charts of the dashboard and braid top show. The default is to count them, and to
// keep the numbers for a day.
func WithoutStats() Option {
	return func(s *settings) error {
		s.withoutStats = true
		return nil
	}
}

// userColumn is a column of the user's own on the table of jobs.
type userColumn struct {
	metadata string // the key
	column   string
	kind     string // its SQL type
}

// WithMetadataColumns fills columns of the jobs table from the metadata of jobs: each
// key is a metadata key, its value the name of a column that a migration of yours has
// added to braid_jobs, of any type that its text can be cast to, and nullable unless
// every job has the key. So jobs can be joined with, and row-level security can
// stand on, a column such as tenant_id. Store and migrations leave such columns alone.
func WithMetadataColumns(columns map[string]string) Option {
	return func(s *settings) error {
		for key, column := range columns {
			if err := driver.CheckText("metadata key", key, driver.MaxKeyBytes); err != nil {
				return err
			}
			if err := driver.CheckText("column", column, maxNameBytes); err != nil {
				return err
			}
			s.columns = append(s.columns, userColumn{metadata: key, column: column})
		}
		slices.SortFunc(s.columns, func(a, b userColumn) int { return strings.Compare(a.column, b.column) })
		for i := 1; i < len(s.columns); i++ {
			if s.columns[i].column == s.columns[i-1].column {
				return &driver.InvalidError{Field: "column", Value: s.columns[i].column,
					Reason: fmt.Sprintf("is filled from %q and %q; choose one", s.columns[i-1].metadata, s.columns[i].metadata)}
			}
		}
		return nil
	}
}

// withUserColumns completes the statements that insert or rewrite jobs.
func withUserColumns(sql string, columns []userColumn) string {
	var names, values, assignments strings.Builder
	for _, c := range columns {
		value := fmt.Sprintf("(i.metadata::jsonb ->> %s)::%s", quoteText(c.metadata), c.kind)
		fmt.Fprintf(&names, ", %s", quoteName(c.column))
		fmt.Fprintf(&values, ", %s", value)
		fmt.Fprintf(&assignments, ", %s = %s", quoteName(c.column), value)
	}
	return strings.NewReplacer("/*columns*/", names.String(), "/*values*/", values.String(),
		"/*assignments*/", assignments.String()).Replace(sql)
}

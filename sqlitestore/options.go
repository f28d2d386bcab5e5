package sqlitestore

import (
	"log/slog"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// Option changes a setting of a store.
type Option func(*settings) error

type settings struct {
	ceiling     driver.HistoryCeiling
	generateID  func() string // nil: j-<n> from the store's counter
	logger      *slog.Logger
	busyTimeout time.Duration
	relaxed     bool
	migrate     bool

	withoutStats bool
	unsafe       bool // nothing is ever flushed: the database does not outlive its store
}

func newSettings(opts []Option) (settings, error) {
	s := settings{logger: slog.Default(), busyTimeout: defaultBusyTimeout}
	for _, opt := range opts {
		if err := opt(&s); err != nil {
			return settings{}, err
		}
	}
	return s, nil
}

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
// two goroutines at once. The default is j-<n>, from a counter in the file.
func WithIDGenerator(generate func() string) Option {
	return func(s *settings) (err error) {
		s.generateID, err = storekit.IDGenerator(generate)
		return err
	}
}

// WithLogger sends what nobody else would learn, such as that the file's version
// cannot be read, to logger. The default is slog.Default().
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) (err error) {
		s.logger, err = storekit.Logger(logger)
		return err
	}
}

// defaultBusyTimeout is how long a call waits for the file's lock.
const defaultBusyTimeout = 5 * time.Second

// WithBusyTimeout lets a call wait so long for other processes, and for the caller's
// own transactions, that hold the file's write lock. Then it fails with [ErrBusy].
// The default is 5 s.
func WithBusyTimeout(d time.Duration) Option {
	return func(s *settings) error {
		if d <= 0 {
			return &driver.InvalidError{Field: "busy timeout", Value: d.String(), Reason: "is not positive; use 1ms or more"}
		}
		s.busyTimeout = d
		return nil
	}
}

// WithRelaxedDurability lets calls return before their transaction is on the disk
// (synchronous=NORMAL). A crash of the program loses nothing and the file stays
// sound; a crash of the machine or a power cut may undo the latest transactions, so
// that jobs that ran run again and new ones are missing. It is several times
// quicker on disks with slow flushes.
func WithRelaxedDurability() Option {
	return func(s *settings) error {
		s.relaxed = true
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

// WithMigrate applies the migrations that the database lacks before it is used. The
// default is to refuse such a database with an error that says what to run. A file
// without any of Braid's tables is prepared by [Open] in any case.
func WithMigrate() Option {
	return func(s *settings) error {
		s.migrate = true
		return nil
	}
}

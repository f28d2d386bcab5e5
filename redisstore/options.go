package redisstore

import (
	"log/slog"
	"strings"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// DefaultPrefix is the prefix of a store that is opened without one.
const DefaultPrefix = "braid"

// Option changes a setting of a store.
type Option func(*settings) error

type settings struct {
	prefix     string
	generateID func() string // nil: j-<n> from a counter in the store
	ceiling    driver.HistoryCeiling
	noNames    bool
	noQueues   bool
	noStats    bool
	logger     *slog.Logger
}

// WithPrefix keeps the store's keys apart from those of other stores and programs in
// the same database. All of them begin with the prefix as a hash tag, "{braid}:", so
// that one store lies in one slot of a cluster. The default is [DefaultPrefix].
// A prefix is 1 to 128 bytes of UTF-8, without braces.
func WithPrefix(prefix string) Option {
	return func(s *settings) error {
		if strings.ContainsAny(prefix, "{}") {
			return &driver.InvalidError{Field: "prefix", Value: prefix,
				Reason: "contains a brace; the store puts the prefix into braces itself"}
		}
		s.prefix = prefix
		return driver.CheckText("prefix", prefix, driver.MaxNameBytes)
	}
}

// WithHistoryTTL lets no finished job stay longer than d, whatever its own Keep says.
// The default is no ceiling. It is WithHistoryCeiling with the same age for the three
// terminal states.
func WithHistoryTTL(d time.Duration) Option {
	return func(s *settings) (err error) {
		s.ceiling, err = storekit.HistoryTTL(d)
		return err
	}
}

// WithHistoryCeiling bounds how long finished jobs stay, per terminal state. The
// default is no ceiling. A ceiling that sets no state is refused.
func WithHistoryCeiling(c driver.HistoryCeiling) Option {
	return func(s *settings) (err error) {
		s.ceiling, err = storekit.HistoryCeiling(c)
		return err
	}
}

// WithIDGenerator draws the ids of jobs that are enqueued without one from generate,
// which must be quick, and safe to be called by several goroutines at once. The
// default is j-<n>, from a counter in the store.
func WithIDGenerator(generate func() string) Option {
	return func(s *settings) (err error) {
		s.generateID, err = storekit.IDGenerator(generate)
		return err
	}
}

// WithoutNameIndex switches the list index by job name off, which saves about 100
// bytes per job. Lists by name, without a queue whose index is on, then answer
// [driver.ErrListIndexDisabled]. All programs that share a prefix should agree.
func WithoutNameIndex() Option {
	return func(s *settings) error { s.noNames = true; return nil }
}

// WithoutQueueIndex switches the list index by queue off, which saves about 100 bytes
// per job. Lists by queue, without a name whose index is on, then answer
// [driver.ErrListIndexDisabled]. All programs that share a prefix should agree.
func WithoutQueueIndex() Option {
	return func(s *settings) error { s.noQueues = true; return nil }
}

// WithoutStats lets this program count no runs per minute, queue and outcome, which the
// charts of the dashboard and braid top show. The default is to count them, and to keep
// the numbers for a day.
func WithoutStats() Option {
	return func(s *settings) error { s.noStats = true; return nil }
}

// WithLogger sends warnings about the server's settings, and about connections lost
// and made again, to logger. The default is [slog.Default].
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) (err error) {
		s.logger, err = storekit.Logger(logger)
		return err
	}
}

// newSettings applies options to the defaults.
func newSettings(opts []Option) (settings, error) {
	s := settings{prefix: DefaultPrefix, logger: slog.Default()}
	for _, opt := range opts {
		if err := opt(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// letters returns the settings as the scripts read them.
func (s *settings) letters(sharded bool) string {
	letters := ""
	if !s.noNames {
		letters += "n"
	}
	if !s.noQueues {
		letters += "q"
	}
	if !s.noStats {
		letters += "t"
	}
	if sharded {
		letters += "s"
	}
	return letters
}

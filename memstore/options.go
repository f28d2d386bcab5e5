package memstore

import (
	"time"

	"github.com/braidmq/braid/driver"
)

// Option changes a setting of a new store.
type Option func(*settings) error

type settings struct {
	ceiling    driver.HistoryCeiling
	generateID func() string // nil: j-<n> from the store's counter

	withoutStats bool
}

// WithHistoryTTL lets no finished job stay longer than d, whatever its own Keep
// says. The default is no ceiling. It is WithHistoryCeiling with the same age for
// the three terminal states.
func WithHistoryTTL(d time.Duration) Option {
	return func(s *settings) error {
		if d < 0 {
			return &driver.InvalidError{Field: "history ttl", Value: d.String(), Reason: "is negative; use 0 or more"}
		}
		s.ceiling = driver.CeilingForAll(driver.MillisOf(d))
		return nil
	}
}

// WithHistoryCeiling bounds how long finished jobs stay, per terminal state. The
// default is no ceiling. A ceiling that sets no state is refused.
func WithHistoryCeiling(c driver.HistoryCeiling) Option {
	return func(s *settings) error {
		s.ceiling = c
		return c.Check()
	}
}

// WithIDGenerator draws the ids of jobs that are enqueued without one from
// generate, which must be quick, must not call the store, and is never called by
// two goroutines at once. The default is j-<n>, from a counter.
func WithIDGenerator(generate func() string) Option {
	return func(s *settings) error {
		if generate == nil {
			return &driver.InvalidError{Field: "id generator", Value: "nil",
				Reason: "is no function; pass one, or leave the option out"}
		}
		s.generateID = generate
		return nil
	}
}

// WithoutStats keeps no numbers of runs per minute, queue and outcome, which the
// charts of the dashboard and braid top show. The default is to keep them for a day.
func WithoutStats() Option {
	return func(s *settings) error {
		s.withoutStats = true
		return nil
	}
}

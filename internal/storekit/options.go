package storekit

import (
	"log/slog"
	"time"

	"github.com/braidmq/braid/driver"
)

// HistoryTTL returns the ceiling that lets no finished job stay longer than d.
func HistoryTTL(d time.Duration) (driver.HistoryCeiling, error) {
	if d < 0 {
		return driver.HistoryCeiling{}, &driver.InvalidError{Field: "history ttl", Value: d.String(), Reason: "is negative; use 0 or more"}
	}
	return driver.CeilingForAll(driver.MillisOf(d)), nil
}

// HistoryCeiling returns a ceiling that sets some state.
func HistoryCeiling(c driver.HistoryCeiling) (driver.HistoryCeiling, error) { return c, c.Check() }

// IDGenerator returns a generator of ids that is one.
func IDGenerator(generate func() string) (func() string, error) {
	if generate == nil {
		return nil, &driver.InvalidError{Field: "id generator", Value: "nil", Reason: "is no function; pass one, or leave the option out"}
	}
	return generate, nil
}

// Logger returns a logger that is one.
func Logger(logger *slog.Logger) (*slog.Logger, error) {
	if logger == nil {
		return nil, &driver.InvalidError{Field: "logger", Value: "nil", Reason: "is no logger; pass one, or leave the option out"}
	}
	return logger, nil
}

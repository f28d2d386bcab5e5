package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// target opens empty stores of one kind and measures what calls to them cost.
type target interface {
	name() string
	measures() string // what the meter shows
	fresh(ctx context.Context) (driver.Store, meter, error)
	close() error
}

// meter measures calls.
type meter interface {
	reset() error // forgets the slowest call
	start() error
	stop() (time.Duration, error) // since start
	worst() (string, error)       // the slowest call since reset; empty if it is not known
}

// targets are the kinds of store that can be measured.
var targets = map[string]func() (target, error){
	"memory":   func() (target, error) { return memory{}, nil },
	"postgres": newPostgres,
	"redis":    newRedis,
	"sqlite":   newSQLite,
}

func targetNames() []string { return slices.Sorted(maps.Keys(targets)) }

func newTarget(name string) (target, error) {
	make, ok := targets[name]
	if !ok {
		return nil, fmt.Errorf("unknown store %q; use %s", name, strings.Join(targetNames(), " or "))
	}
	return make()
}

// memory is the memory store, measured by the clock.
type memory struct{}

func (memory) name() string     { return "memory" }
func (memory) measures() string { return "time" }
func (memory) close() error     { return nil }

func (memory) fresh(context.Context) (driver.Store, meter, error) {
	return memstore.New(), new(stopwatch), nil
}

// stopwatch measures by the clock.
type stopwatch struct{ started time.Time }

func (s *stopwatch) reset() error                 { return nil }
func (s *stopwatch) start() error                 { s.started = time.Now(); return nil }
func (s *stopwatch) stop() (time.Duration, error) { return time.Since(s.started), nil }
func (s *stopwatch) worst() (string, error)       { return "", nil }

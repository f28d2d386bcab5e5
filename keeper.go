package braid

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/maintain"
)

// Keeper does the housekeeping of all stores of a client, and runs no handlers: it
// fires schedules, recovers jobs whose worker was lost, deletes what has had its time,
// and moves the outcomes of flows' children along. Workers do the same for the stores
// that they work on; a Keeper is for programs that serve stores without working on
// them. Any number of keepers and workers may share a store.
type Keeper struct {
	client  *Client
	options KeeperOptions
	err     error

	mu      sync.Mutex
	started bool
	parts   map[string]*maintain.Maintainer // by store name, while it runs
	upkeep  *flowUpkeep
}

// KeeperOptions configures a keeper. The zero value is ready to use; fields mean what
// they mean in [WorkerOptions].
type KeeperOptions struct {
	MaxStalled    int           // 0 is 3
	FailStalled   bool          // a lost worker's job fails at once
	SweepInterval time.Duration // 0 is 30 s; at least 100 ms
	Logger        *slog.Logger  // nil: the client's
}

// NewKeeper returns a keeper of a client's stores. Problems in the options are returned
// by Run.
func NewKeeper(client *Client, options KeeperOptions) *Keeper {
	k := &Keeper{client: client, options: options}
	if err := client.made(); err != nil {
		k.err = err
		return k
	}
	if k.options.SweepInterval == 0 {
		k.options.SweepInterval = defaultSweep
	}
	if k.options.MaxStalled == 0 && !k.options.FailStalled {
		k.options.MaxStalled = defaultMaxStalled
	}
	if k.options.Logger == nil {
		k.options.Logger = client.shared.logger
	}
	k.err = k.options.validate()
	return k
}

func (o KeeperOptions) validate() error {
	refuse := func(field, value, reason string) error {
		return &driver.InvalidError{Field: "KeeperOptions." + field, Value: value, Reason: reason}
	}
	switch {
	case o.SweepInterval < shortestSweep:
		return refuse("SweepInterval", o.SweepInterval.String(), "use at least 100ms, or 0 for 30s")
	case o.MaxStalled < 0 || o.MaxStalled > math.MaxInt32:
		return refuse("MaxStalled", strconv.Itoa(o.MaxStalled), "use 1 or more, or 0 for 3; FailStalled allows none")
	case o.FailStalled && o.MaxStalled > 0:
		return refuse("MaxStalled", strconv.Itoa(o.MaxStalled), "contradicts FailStalled; set one of them")
	}
	return nil
}

// Run keeps house until ctx ends, and then returns nil. It returns the problems in the
// options, and ErrKeeperRunning when it is called a second time.
func (k *Keeper) Run(ctx context.Context) error {
	if k == nil || k.client == nil && k.err == nil {
		return &driver.InvalidError{Field: "keeper", Reason: "was not made; make one with braid.NewKeeper"}
	}
	if k.err != nil {
		return k.err
	}
	if err := k.client.ready(); err != nil {
		return err
	}
	k.mu.Lock()
	if k.started {
		k.mu.Unlock()
		return ErrKeeperRunning
	}
	k.started = true
	k.assemble()
	k.mu.Unlock()

	shared := k.client.shared
	for _, store := range shared.stores {
		stop, err := shared.metrics.observeStore(store)
		if err != nil {
			return err
		}
		defer stop()
	}
	shared.addPulse(k.upkeep)
	defer shared.removePulse(k.upkeep)
	var running sync.WaitGroup
	running.Go(func() { k.upkeep.Run(ctx) })
	for _, part := range k.parts {
		running.Go(func() { part.Run(ctx) })
	}
	running.Wait()
	return nil
}

// Health tells how the loops of the keeper are getting on; of one that has not been
// started, nothing.
func (k *Keeper) Health() Health {
	if k == nil {
		return Health{}
	}
	k.mu.Lock()
	parts, upkeep := k.parts, k.upkeep
	k.mu.Unlock()
	h := Health{InFlight: make(map[string]int)}
	for name, part := range parts {
		for _, loop := range part.Health() {
			h.addLoop(name, loop)
		}
	}
	if upkeep != nil {
		for _, loop := range upkeep.Health() {
			h.addLoop("", loop)
		}
	}
	return h
}

// assemble builds what runs.
func (k *Keeper) assemble() {
	shared, o := k.client.shared, k.options
	all := make(map[string]bool)
	for name := range shared.stores {
		all[name] = true
	}
	k.upkeep = shared.flowUpkeep(all, all, o.SweepInterval, o.Logger)
	k.parts = make(map[string]*maintain.Maintainer)
	for name, store := range shared.stores {
		config := maintain.Config{
			Store: store.driver, StoreName: name, Now: store.clock.Now, Logger: o.Logger,
			MaxStalled: int32(o.MaxStalled), CallTimeout: callTimeout,
			Intervals:   maintain.Intervals{Stalls: o.SweepInterval, Flows: o.SweepInterval},
			OnRecovered: func([]driver.Recovered) { k.upkeep.pulseFrom(name) },
		}
		if observer := shared.metrics.observer(name); observer != nil {
			config.Observer = observer
		}
		k.parts[name] = maintain.New(config)
	}
}

package braid

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flow"
	"github.com/braidmq/braid/internal/maintain"
)

// flowUpkeep are a worker's loops that move flows along: a relay from each store
// whose children it may see end to each store of the client, and a sweep of each
// store in which its flows' parents live.
type flowUpkeep struct {
	*maintain.Runner
	stores []string // of the client, for pulses
}

// registerFlow makes the worker look after a flow. It reports whether the stores of
// the flow are there.
func (w *Worker) registerFlow(f *flowDefinition) bool {
	if !w.made() || w.client == nil {
		return false
	}
	if f == nil {
		w.refuse(&driver.InvalidError{Field: "flow", Reason: "is a nil or empty definition; make it with braid.NewFlow"})
		return false
	}
	if f.job.err != nil {
		w.refuse(f.job.err)
		return false
	}
	for name := range f.stores(w.client) {
		if err := w.client.forDefinition(name).ready(); err != nil {
			w.refuse(err)
			return false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		w.flows = append(w.flows, f)
	}
	return true
}

// stores are the names of the stores that the flow's jobs live in.
func (f *flowDefinition) stores(client *Client) map[string]bool {
	names := map[string]bool{client.forDefinition(f.job.store).store.name: true}
	for _, child := range f.children {
		names[client.forDefinition(child.store).store.name] = true
	}
	return names
}

// flowStores are the client's stores as flows know them.
func (c *clientShared) flowStores() flow.Stores {
	stores := make(flow.Stores, len(c.stores))
	for name, s := range c.stores {
		stores[name] = flow.Store{Key: name, Driver: s.driver, Now: s.clock.Now}
	}
	return stores
}

// newFlowUpkeep makes the loops of a worker: for the stores whose children it may see
// end, and those in which parents of its flows live.
func newFlowUpkeep(w *Worker) *flowUpkeep {
	from, parents := make(map[string]bool), make(map[string]bool)
	for name := range w.handlers {
		from[name] = true
	}
	for _, f := range w.flows {
		parents[w.client.forDefinition(f.job.store).store.name] = true
		for name := range f.stores(w.client) {
			from[name] = true
		}
	}
	return w.client.shared.flowUpkeep(from, parents, w.options.SweepInterval, w.logger())
}

// flowUpkeep makes the relays from some stores to all, and the sweeps of some.
func (c *clientShared) flowUpkeep(from, parents map[string]bool, interval time.Duration, logger *slog.Logger) *flowUpkeep {
	stores := c.flowStores()
	u := &flowUpkeep{stores: slices.Sorted(maps.Keys(c.stores))}
	var loops []maintain.Loop
	for name := range from {
		for to, parent := range stores {
			relay := flow.Relay{From: stores[name], To: parent, Recorded: u.recorded(c.metrics, to)}
			loops = append(loops, maintain.Loop{Name: relayLoop(name, to), Interval: interval, Run: relay.Drain})
		}
	}
	for name := range parents {
		sweep := flow.Sweep{
			Parents: stores[name], Stores: stores,
			PendingAge: driver.MillisOf(interval), Budget: interval / 2,
			Recorded:  u.recorded(c.metrics, name),
			Cascaded:  func(children int) { c.metrics.cascaded(name, children) },
			CascadeTo: func(store string) { u.Pulse(sweepLoop(store)); u.pulseFrom(store) },
		}
		loops = append(loops, maintain.Loop{Name: sweepLoop(name), Interval: interval, Run: sweep.Run})
	}
	u.Runner = maintain.NewRunner(loops, logger, nil)
	return u
}

// recorded is told of reports to parents in a store. A parent that settled early has
// children to cancel, and may itself be a child, whose own parent waits for the news.
func (u *flowUpkeep) recorded(metrics *metrics, parents string) func(reports int, settledEarly bool) {
	return func(reports int, settledEarly bool) {
		metrics.reported(parents, reports)
		if settledEarly {
			u.Pulse(sweepLoop(parents))
			u.pulseFrom(parents)
		}
	}
}

func relayLoop(from, to string) string { return "relay " + from + " to " + to }
func sweepLoop(parents string) string  { return "flows of " + parents }

// pulseRelay makes outcomes travel now.
func (u *flowUpkeep) pulseRelay(from, to string) { u.Pulse(relayLoop(from, to)) }

// pulseFrom makes all outcomes of one store travel now.
func (u *flowUpkeep) pulseFrom(store string) {
	for _, to := range u.stores {
		u.pulseRelay(store, to)
	}
}

// pulse makes the running workers of this client look at once at what an operation
// on a store may have left to do.
func (c *clientShared) pulse(store string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.pulses {
		u.Pulse(sweepLoop(store))
		u.pulseFrom(store)
	}
}

func (c *clientShared) addPulse(u *flowUpkeep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulses = append(c.pulses, u)
}

func (c *clientShared) removePulse(u *flowUpkeep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pulses = slices.DeleteFunc(c.pulses, func(other *flowUpkeep) bool { return other == u })
}

// logger is where what is not about one store is logged.
func (w *Worker) logger() *slog.Logger {
	if w.options.Logger != nil {
		return w.options.Logger
	}
	return w.client.shared.logger
}

package flowtest

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/internal/flow"
	"github.com/braidmq/braid/internal/flowcheck"
)

const (
	parentStore = braid.DefaultStore
	childStore  = "children"

	sweepInterval = 250 * time.Millisecond
	lockDuration  = 5 * time.Second
	shortLock     = 500 * time.Millisecond // where a process dies
	patience      = 2 * time.Minute        // how long a test waits for anything
	atOnce        = 10                     // how many scenarios of a test
)

// rig is a pair of stores with what a test needs. Processes come and go on it; the
// client is the test's own and never fails.
type rig struct {
	*testing.T
	ctx      context.Context
	stores   map[string]driver.Store // by name
	client   *braid.Client
	kinds    *kinds
	separate bool // children have a store of their own
}

// rigs bounds how many there are at once, whichever tests they belong to: with more,
// processes of a small machine overrun their locks, do their work again, and none comes
// forward.
var rigs = make(chan struct{}, 6*runtime.GOMAXPROCS(0))

// newRig makes a rig of two empty stores, when there is room.
func newRig(t *testing.T, pair Pair) *rig {
	t.Helper()
	rigs <- struct{}{}
	t.Cleanup(func() { <-rigs })
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	r := &rig{T: t, ctx: ctx, separate: pair.Children != nil, stores: map[string]driver.Store{parentStore: pair.Parents(t)}}
	if r.separate {
		r.stores[childStore] = pair.Children(t)
	}
	r.kinds = newKinds(r.separate)
	r.client = newClient(r.stores)
	t.Cleanup(func() {
		cancel()
		r.client.Close()
		for name, store := range r.stores {
			if err := store.Close(); err != nil {
				t.Errorf("close store %s: %v", name, err)
			}
		}
	})
	return r
}

func newClient(stores map[string]driver.Store) *braid.Client {
	opts := []braid.ClientOption{braid.WithLogger(slog.New(slog.DiscardHandler))}
	if children := stores[childStore]; children != nil {
		opts = append(opts, braid.WithStore(childStore, children))
	}
	return braid.NewClient(stores[parentStore], opts...)
}

// childStoreName is where children live.
func (r *rig) childStoreName() string {
	if r.separate {
		return childStore
	}
	return parentStore
}

// process is a worker with its own client and its own view of the stores.
type process struct {
	life   *life
	client *braid.Client
	worker *braid.Worker
	faults map[string]*faultstore.Store // by store
	runs   *runs
}

// start starts a process that dies at a point, or does not with nil. It is stopped
// with the test.
func (r *rig) start(at *point, changes ...func(*braid.WorkerOptions)) *process {
	p := r.prepare(at, changes...)
	r.run(p)
	return p
}

// prepare makes a process without starting it.
func (r *rig) prepare(at *point, changes ...func(*braid.WorkerOptions)) *process {
	return newProcess(r.stores, r.kinds, newLife(at), changes...)
}

func newProcess(shared map[string]driver.Store, kinds *kinds, life *life, changes ...func(*braid.WorkerOptions)) *process {
	p := &process{life: life, faults: make(map[string]*faultstore.Store), runs: newRuns()}
	stores := make(map[string]driver.Store)
	for name, store := range shared {
		stores[name], p.faults[name] = newMortal(store, name, p.life)
	}
	p.client = newClient(stores)
	options := braid.WorkerOptions{
		Concurrency: 8, LockDuration: lockDuration, SweepInterval: sweepInterval, MaxStalled: 50,
		Backoff: braid.Fixed(time.Millisecond), ShutdownGrace: 10 * time.Millisecond,
	}
	for _, change := range changes {
		change(&options)
	}
	p.worker = braid.NewWorker(p.client, options)
	kinds.register(p)
	return p
}

func (r *rig) run(p *process) {
	var running sync.WaitGroup
	running.Go(func() { _ = p.worker.Run(context.Background()) }) // a dead process's worker may well complain
	r.Cleanup(func() {
		p.life.bury()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.worker.Stop(ctx); err != nil {
			r.Errorf("stop: %v", err)
		}
		running.Wait()
		p.client.Close()
	})
}

// awaitDeath waits until a process has died.
func (r *rig) awaitDeath(p *process) {
	r.Helper()
	select {
	case <-p.life.dead:
	case <-time.After(patience):
		r.Fatalf("the process did not come to the point %v", p.life.point)
	}
}

// eventually waits until a condition holds; it says what is missing otherwise.
func (r *rig) eventually(what string, holds func() (bool, string)) {
	r.Helper()
	deadline := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		ok, missing := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%s: %s", what, missing)
		}
		time.Sleep(wait)
	}
}

// must fails the test on an error.
func must[T any](r *rig, v T, err error) T {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	return v
}

// known returns the stores as flows know them.
func (r *rig) known() flow.Stores {
	known := make(flow.Stores)
	for name, store := range r.stores {
		client := r.client.On(name)
		known[name] = flow.Store{Key: name, Driver: store, Now: func() driver.Time {
			now, err := client.Now()
			if err != nil {
				r.Error(err)
			}
			return driver.TimeOf(now)
		}}
	}
	return known
}

// settled waits until nothing moves any more, and fails unless all is sound then.
// Outcomes that a dead process was bringing are hidden from others for a while;
// once no job is open any more, it brings them itself.
func (r *rig) settled() flowcheck.Report {
	r.Helper()
	known := r.known()
	var report flowcheck.Report
	r.eventually("the flows come to rest", func() (bool, string) {
		for name := range r.stores {
			counts := r.counts(name)
			if open := counts.Waiting + counts.Delayed + counts.Active + counts.WaitingChildren; open > 0 {
				return false, fmt.Sprintf("store %s: %+v", name, counts)
			}
		}
		for _, from := range known {
			for _, to := range known {
				relay := flow.Relay{From: from, To: to}
				if err := relay.DrainAll(r.ctx); err != nil {
					return false, err.Error()
				}
			}
		}
		var err error
		report, err = flowcheck.Check(r.ctx, known)
		return err == nil && report.Idle(), fmt.Sprintf("%v, %v", &report, err)
	})
	if !report.Clean() {
		r.Errorf("after all has settled: %v", &report)
	}
	return report
}

func (r *rig) counts(store string) driver.Counts {
	r.Helper()
	counts, err := r.stores[store].Counts(r.ctx, "")
	if err != nil {
		r.Fatal(err)
	}
	return counts
}

// scenarios runs tests side by side: they wait more than they work.
func scenarios[S fmt.Stringer](t *testing.T, atOnce int, all []S, run func(*testing.T, S)) {
	next := make(chan S)
	var running sync.WaitGroup
	for range atOnce {
		running.Go(func() {
			for s := range next {
				t.Run(s.String(), func(t *testing.T) { run(t, s) })
			}
		})
	}
	for _, s := range all {
		next <- s
	}
	close(next)
	running.Wait()
}

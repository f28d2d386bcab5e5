package flowtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/braidmq/braid/driver"
)

// Shared is a pair of stores that several processes can open at once.
type Shared struct {
	// Parents and Children make an empty store for each test and return its address.
	// Children nil: they live with their parents.
	Parents, Children func(t testing.TB) (address string)
	// Open opens a store by its address. It is what the package gives to [Process].
	Open func(address string) (driver.Store, error)
}

// processVariable tells a process of this program that it is to be a worker.
const processVariable = "BRAID_FLOWTEST_PROCESS"

// assignment is what such a process gets told.
type assignment struct {
	Parents, Children string // addresses; Children empty: with their parents
	Store, Op         string // of the point at which it dies
	Nth               int
	After             bool
}

// RunProcesses runs flows in processes of their own, which are killed at every step,
// as kill -9 does it. The TestMain of the package calls [Process] first.
func RunProcesses(t *testing.T, shared Shared) {
	const processes = 4 // at once
	scenarios(t, processes, deaths(shared.Children != nil), func(t *testing.T, d death) {
		told := assignment{Parents: shared.Parents(t), Store: d.at.store, Op: d.at.op, Nth: d.at.nth, After: d.at.after}
		open := func(address string) func(testing.TB) driver.Store {
			return func(t testing.TB) driver.Store {
				store, err := shared.Open(address)
				if err != nil {
					t.Fatal(err)
				}
				return store
			}
		}
		pair := Pair{Parents: open(told.Parents)}
		if shared.Children != nil {
			told.Children = shared.Children(t)
			pair.Children = open(told.Children)
		}
		r := newRig(t, pair)
		h := r.enqueue("a", d.plan)
		r.dieInProcess(told)
		r.start(nil, withShortLock)
		r.endsAs(h, d.plan)
		r.settled()
		r.oneSettle()
	})
}

// dieInProcess runs a worker in a process of its own until it has been killed.
func (r *rig) dieInProcess(told assignment) {
	r.Helper()
	text, err := json.Marshal(told)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), processVariable+"="+string(text))
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if ctx.Err() != nil || !errors.As(err, &exit) || exit.Exited() {
		r.Fatalf("the process was not killed at %+v: %v, %v\n%s", told, err, ctx.Err(), output)
	}
}

// Process does nothing in a process that is a test. In one that RunProcesses started it
// runs a worker until that is killed, and does not return.
func Process(open func(address string) (driver.Store, error)) {
	text := os.Getenv(processVariable)
	if text == "" {
		return
	}
	fmt.Fprintln(os.Stderr, work(text, open))
	os.Exit(1)
}

func work(text string, open func(address string) (driver.Store, error)) error {
	var told assignment
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return err
	}
	stores := make(map[string]driver.Store)
	for name, address := range map[string]string{parentStore: told.Parents, childStore: told.Children} {
		if address == "" {
			continue
		}
		store, err := open(address)
		if err != nil {
			return err
		}
		stores[name] = store
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	life := newLife(&point{told.Store, told.Op, told.Nth, told.After})
	life.kill = func() {
		_ = self.Kill()
		select {} // until it has come through
	}
	p := newProcess(stores, newKinds(told.Children != ""), life, withShortLock)
	return p.worker.Run(context.Background())
}

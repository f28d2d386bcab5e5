package drivertest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// Case is one case of the suite.
type Case struct {
	Name string // "Group/What"
	Rule string // the sentence that the case holds the store to

	options func() StoreOptions  // nil: none
	needs   func(h Harness) bool // nil: always runs
	run     func(t *T)
}

// Applies reports whether the case runs under h.
func (c Case) Applies(h Harness) bool { return c.needs == nil || c.needs(h) }

// T is what a case is given: a test, and a fresh store.
type T struct {
	TB
	Harness Harness
	Store   driver.Store

	ctx    context.Context // ends before the test would hang
	tokens int             // drawn so far
}

// caseLimit bounds a case, so that a call that hangs fails it.
const caseLimit = 60 * time.Second

var cases []Case

// register adds a case to the suite.
func register(name, rule string, run func(t *T)) { add(Case{Name: name, Rule: rule, run: run}) }

// registerIf adds a case that runs only under harnesses that have what it needs.
func registerIf(needs func(h Harness) bool, name, rule string, run func(t *T)) {
	add(Case{Name: name, Rule: rule, needs: needs, run: run})
}

// registerWith adds a case whose store is opened with options.
func registerWith(options func() StoreOptions, name, rule string, run func(t *T)) {
	add(Case{Name: name, Rule: rule, options: options, run: run})
}

func add(c Case) {
	if strings.Count(c.Name, "/") != 1 || c.Rule == "" {
		panic(fmt.Sprintf("drivertest: case %q needs a name such as Group/What, and a rule", c.Name))
	}
	for _, other := range cases {
		if other.Name == c.Name {
			panic(fmt.Sprintf("drivertest: two cases are named %q", c.Name))
		}
	}
	cases = append(cases, c)
}

// Cases returns the cases of the suite, with their rules.
func Cases() []Case { return append([]Case(nil), cases...) }

// Run runs every case that applies, each as a subtest in a store of its own.
func Run(t *testing.T, h Harness) {
	groups := make(map[string][]Case)
	var order []string
	for _, c := range cases {
		group, _, _ := strings.Cut(c.Name, "/")
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], c)
	}
	for _, group := range order {
		t.Run(group, func(t *testing.T) {
			for _, c := range groups[group] {
				if !c.Applies(h) {
					continue
				}
				_, name, _ := strings.Cut(c.Name, "/")
				t.Run(name, func(t *testing.T) {
					if h.Parallel {
						t.Parallel()
					}
					runCase(t, h, c)
				})
			}
		})
	}
}

// RunCase runs one case on the calling goroutine, in a fresh store, and reports
// its failures to t. An unknown name, or a case that does not apply, is a failure.
func RunCase(t TB, h Harness, name string) {
	t.Helper()
	for _, c := range cases {
		if c.Name != name {
			continue
		}
		if !c.Applies(h) {
			t.Fatalf("case %q does not apply to this harness", name)
		}
		runCase(t, h, c)
		return
	}
	t.Fatalf("there is no case %q", name)
}

func runCase(t TB, h Harness, c Case) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.Rule)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), caseLimit)
	defer cancel()
	var o StoreOptions
	if c.options != nil {
		o = c.options()
	}
	c.run(&T{TB: t, Harness: h, Store: h.Open(t, o), ctx: ctx})
}

// Observation is what became of a case that was observed.
type Observation struct {
	Failed bool
	Log    []string
}

// Observe runs one case on a goroutine of its own and returns what it reported,
// without failing t. A panic counts as a failure.
func Observe(t testing.TB, h Harness, name string) Observation {
	t.Helper()
	return ObserveFunc(t, name, func(t TB) { RunCase(t, h, name) })
}

// ObserveFunc runs a test function on a goroutine of its own and returns what it
// reported, without failing t. A panic counts as a failure.
func ObserveFunc(t testing.TB, name string, test func(t TB)) Observation {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{outer: t, name: name, ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.clean(cancel)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		test(r)
	}()
	<-done
	return Observation{Failed: r.failed, Log: r.log}
}

// recorder is a TB that keeps what is reported to itself.
type recorder struct {
	outer testing.TB
	name  string
	ctx   context.Context

	mu       sync.Mutex
	failed   bool
	log      []string
	cleanups []func()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) TempDir() string          { return r.outer.TempDir() }

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Logf(format string, args ...any) { r.record(false, format, args) }

func (r *recorder) Errorf(format string, args ...any) { r.record(true, format, args) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.record(true, format, args)
	runtime.Goexit()
}

func (r *recorder) record(failed bool, format string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// clean ends the context and then runs the cleanups, as a *testing.T does.
func (r *recorder) clean(cancel context.CancelFunc) {
	cancel()
	for {
		r.mu.Lock()
		n := len(r.cleanups)
		if n == 0 {
			r.mu.Unlock()
			return
		}
		f := r.cleanups[n-1]
		r.cleanups = r.cleanups[:n-1]
		r.mu.Unlock()
		f()
	}
}

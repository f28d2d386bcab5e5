package braidtest

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

// T is a test with a client on an empty store in memory. It has the methods of
// [testing.TB]; its own are for the goroutine of the test.
type T struct {
	testing.TB
	// Client is what the code under test is given. Its stores are the default one, and
	// those that [WithStore] named.
	Client *braid.Client

	settings settings
	fake     bool // the clock
	journal  *journal
	workers  []*worker
}

// Option changes what [Run] and [New] prepare.
type Option func(*settings)

type settings struct {
	stores  []string
	options []braid.ClientOption
	startAt time.Time
}

// WithStore adds a store of that name, for definitions that are bound to it with
// [braid.OnStore].
func WithStore(name string) Option {
	return func(s *settings) { s.stores = append(s.stores, name) }
}

// WithClientOptions gives the client more options.
func WithClientOptions(options ...braid.ClientOption) Option {
	return func(s *settings) { s.options = append(s.options, options...) }
}

// StartAt sets the fake clock before the test begins, to a time after 1999.
func StartAt(at time.Time) Option {
	return func(s *settings) { s.startAt = at }
}

// Run runs a test on a fake clock, in a bubble of [testing/synctest]. Its workers are
// stopped when it has ended; a goroutine that it leaves behind fails it.
func Run(t *testing.T, test func(t *T), options ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(New(t, options...)) })
}

// New gives a test, or a benchmark, a client on the clock that there is: the real one,
// or that of the bubble in which it is called. On the real clock there is no [T.Drain],
// [T.Advance] or [StartAt]. Workers, client and stores end with the test.
func New(tb testing.TB, options ...Option) *T {
	tb.Helper()
	s := settings{stores: []string{braid.DefaultStore}}
	for _, option := range options {
		if option != nil {
			option(&s)
		}
	}
	t := &T{TB: tb, settings: s, fake: inBubble(), journal: newJournal()}
	t.setClock(s.startAt)
	client := []braid.ClientOption{braid.WithLogger(testLogger(tb))}
	stores := make(map[string]*recorder)
	for _, name := range s.stores {
		if stores[name] != nil {
			tb.Fatalf("braidtest: WithStore(%q): the name is taken; give every store its own, other than %q", name, braid.DefaultStore)
		}
		stores[name] = &recorder{Store: memstore.New(), name: name, journal: t.journal}
		if name != braid.DefaultStore {
			client = append(client, braid.WithStore(name, stores[name]))
		}
	}
	t.Client = braid.NewClient(stores[braid.DefaultStore], append(client, s.options...)...)
	tb.Cleanup(func() {
		t.rest()
		t.Client.Close()
		for _, store := range stores {
			_ = store.Close() // of a store in memory, it cannot fail
		}
	})
	if _, err := t.Client.Now(); err != nil {
		tb.Fatalf("braidtest: the client: %v", err)
	}
	return t
}

func (t *T) setClock(at time.Time) {
	t.Helper()
	switch {
	case at.IsZero():
	case !t.fake:
		t.Fatalf("braidtest: StartAt is for the fake clock; use braidtest.Run")
	case at.Before(time.Now()):
		t.Fatalf("braidtest: StartAt(%v): use a time after %v, at which the fake clock is", at, time.Now().UTC())
	default:
		time.Sleep(time.Until(at))
	}
}

// inBubble reports whether the clock is a fake one.
func inBubble() (in bool) {
	defer func() {
		if recover() != nil { // that is how Wait tells
			in = false
		}
	}()
	synctest.Wait()
	return true
}

// testLogger writes a log into that of the test.
func testLogger(tb testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testLog{tb}, nil))
}

type testLog struct{ tb testing.TB }

func (l testLog) Write(line []byte) (int, error) {
	l.tb.Log(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// stores returns views of the client, in the order of the stores' names.
func (t *T) stores() []*braid.Client {
	var views []*braid.Client
	for _, name := range t.Client.Stores() {
		views = append(views, t.Client.On(name))
	}
	return views
}

// counts returns the numbers of jobs of all stores together.
func (t *T) counts() (sum braid.Counts) {
	t.Helper()
	for _, client := range t.stores() {
		c, err := client.Counts(context.Background(), "")
		t.must(err)
		sum.Waiting += c.Waiting
		sum.Delayed += c.Delayed
		sum.Active += c.Active
		sum.WaitingChildren += c.WaitingChildren
		sum.Completed += c.Completed
		sum.Failed += c.Failed
		sum.Cancelled += c.Cancelled
	}
	return sum
}

// must ends the test because of an error that a store in memory should not have.
func (t *T) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("braidtest: %v", err)
	}
}

// tally tells how many things of each kind there are: "2 × a, b".
func tally(things []string) string {
	number := make(map[string]int)
	for _, thing := range things {
		number[thing]++
	}
	var texts []string
	for _, thing := range slices.SortedFunc(maps.Keys(number), cmp.Compare) {
		if n := number[thing]; n > 1 {
			thing = strconv.Itoa(n) + " × " + thing
		}
		texts = append(texts, thing)
	}
	return strings.Join(texts, ", ")
}

package drivertest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// HistoryOptions say which histories [RunHistories] runs. Zero fields mean the
// defaults.
type HistoryOptions struct {
	// Seeds is how many histories there are; default 60.
	Seeds int
	// Steps is how many calls each history makes; default 300.
	Steps int
	// FirstSeed is the seed of the first history, the others count on from it;
	// default 1.
	FirstSeed uint64
	// CheckEvery is how often, in steps, the whole contents are compared and checked
	// against what must always hold; default 25. They are at the end in any case.
	CheckEvery int
}

// RunHistories runs random histories on a store and on the memory store: calls of
// the whole seam, drawn over a few ids, queues, names and keys. Every answer must
// be the same, and so must be what is stored. A history that fails is cut down to
// the calls that it needs to fail, and printed with its seed.
//
// BRAID_HISTORY_SEED runs the history of that seed alone; BRAID_SOAK multiplies
// the number of histories.
func RunHistories(t TB, h Harness, o HistoryOptions) {
	t.Helper()
	o = o.withDefaults()
	first, seeds := o.FirstSeed, o.Seeds*environmentNumber(t, "BRAID_SOAK", 1)
	if text := os.Getenv("BRAID_HISTORY_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("BRAID_HISTORY_SEED is %q; write a seed, such as 17", text)
		}
		first, seeds = seed, 1
	}
	for seed := first; seed < first+uint64(seeds); seed++ {
		steps, failure := drawHistory(t, h, o, seed)
		if failure == "" {
			continue
		}
		short, shortFailure := shrink(t, h, o, seed, steps, failure)
		t.Errorf("the history of seed %d fails after %d steps (BRAID_HISTORY_SEED=%d replays it); %d of them are needed:\n%s%s",
			seed, len(steps), seed, len(short), describe(short), shortFailure)
		return
	}
}

func init() {
	register("History/AgreesWithTheMemoryStore",
		"Every store answers every history as the reference store does.",
		func(t *T) {
			if t.Harness.Remote {
				RunHistories(t.TB, t.Harness, HistoryOptions{Seeds: 10, Steps: 200, CheckEvery: 50})
				return
			}
			RunHistories(t.TB, t.Harness, HistoryOptions{})
		})
}

func (o HistoryOptions) withDefaults() HistoryOptions {
	if o.Seeds == 0 {
		o.Seeds = 60
	}
	if o.Steps == 0 {
		o.Steps = 300
	}
	if o.FirstSeed == 0 {
		o.FirstSeed = 1
	}
	if o.CheckEvery == 0 {
		o.CheckEvery = 25
	}
	return o
}

func environmentNumber(t TB, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q; write a number from 1", name, text)
	}
	return n
}

// historyStep is one step of a history: a call, and the time that it is given.
type historyStep struct {
	now  driver.Time
	call historyCall
}

// pair is the two stores that a history runs on.
type pair struct {
	ref, got *side
	close    func()
}

// historyLimit bounds one history, so that a call that hangs fails it.
const historyLimit = 60 * time.Second

// open opens both stores, empty and with the same settings.
func openPair(t TB, h Harness, seed uint64) *pair {
	t.Helper()
	s := &scope{TB: t}
	ctx, cancel := context.WithTimeout(t.Context(), historyLimit)
	ceiling := driver.Opt[driver.HistoryCeiling]{}
	options := []memstore.Option{memstore.WithIDGenerator(counter())}
	if seed%3 == 0 {
		ceiling = driver.Some(driver.HistoryCeiling{Completed: driver.Some(driver.Millis(2000)), Cancelled: driver.Some(driver.Millis(700))})
		options = append(options, memstore.WithHistoryCeiling(ceiling.Value))
	}
	reference := memstore.New(options...)
	p := &pair{
		ref: newSide(ctx, reference),
		got: newSide(ctx, h.Open(s, StoreOptions{HistoryCeiling: ceiling, IDGenerator: counter()})),
	}
	p.close = func() {
		cancel()
		_ = reference.Close() // memory; there is nothing to fail
		s.end()
	}
	return p
}

// counter returns a generator of ids that sort as they are drawn, so that ties in
// lists are broken alike in both stores.
func counter() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("drawn-%06d", n)
	}
}

// scope is a test whose cleanups run before its end.
type scope struct {
	TB
	cleanups []func()
}

// Cleanup registers what end does.
func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scope) end() {
	for len(s.cleanups) > 0 {
		f := s.cleanups[len(s.cleanups)-1]
		s.cleanups = s.cleanups[:len(s.cleanups)-1]
		f()
	}
}

// drawHistory draws a history while it runs, and returns its steps, with what
// failed, if something did.
func drawHistory(t TB, h Harness, o HistoryOptions, seed uint64) (steps []historyStep, failure string) {
	t.Helper()
	p := openPair(t, h, seed)
	defer p.close()
	g := newHistorian(seed, h, p.ref)
	take := func(now driver.Time, c historyCall) string {
		steps = append(steps, historyStep{now, c})
		difference := p.take(steps[len(steps)-1])
		g.learn(c)
		return difference
	}
	for n := 1; n <= o.Steps; n++ {
		if failure = take(g.step()); failure != "" {
			return steps, failure
		}
		if n%o.CheckEvery == 0 {
			if failure = p.compare(); failure != "" {
				return steps, failure
			}
		}
	}
	for _, c := range g.probes() {
		if failure = take(g.now, c); failure != "" {
			return steps, failure
		}
	}
	return steps, p.compare()
}

// replay runs steps on fresh stores and returns what failed. The contents are
// compared after each step if check says so, and at the end.
func replay(t TB, h Harness, seed uint64, steps []historyStep, checkEach bool) (failed int, failure string) {
	t.Helper()
	p := openPair(t, h, seed)
	defer p.close()
	for i, step := range steps {
		failure := p.take(step)
		if failure == "" && (checkEach || i == len(steps)-1) {
			failure = p.compare()
		}
		if failure != "" {
			return i + 1, failure
		}
	}
	return len(steps), ""
}

// take makes one call on both stores and returns how their answers differ.
func (p *pair) take(step historyStep) string {
	want, got := step.call.on(p.ref, step.now), step.call.on(p.got, step.now)
	if got.text != want.text {
		return fmt.Sprintf("the answers differ:\n  got  %s\n  want %s\n", got.text, want.text)
	}
	if !want.claim {
		return ""
	}
	// A claim may promise to find something earlier than it will, but neither later,
	// nor at once without a cause: its worker would claim in circles.
	late := want.next.Set && (!got.next.Set || got.next.Value > want.next.Value)
	circles := got.next.Set && got.next.Value <= step.now && (!want.next.Set || want.next.Value > step.now)
	if late || circles {
		return fmt.Sprintf("nextRunAt differs at %d:\n  got  %s\n  want %s, or earlier, but after now\n", step.now, render(got.next), render(want.next))
	}
	return ""
}

// compare compares the contents of both stores, and checks what must hold.
func (p *pair) compare() string {
	want, err := p.ref.dump(historyIDs)
	if err != nil {
		return fmt.Sprintf("reading the reference: %v\n", err)
	}
	got, err := p.got.dump(historyIDs)
	if err != nil {
		return fmt.Sprintf("reading the store: %v\n", err)
	}
	var b strings.Builder
	for _, text := range p.got.broken(got) {
		fmt.Fprintf(&b, "does not hold: %s\n", text)
	}
	known := make(map[string]int)
	for _, line := range want.lines {
		known[line]++
	}
	for _, line := range got.lines {
		if known[line]--; known[line] < 0 {
			fmt.Fprintf(&b, "  got  %s\n", line)
		}
	}
	for _, line := range want.lines {
		if known[line] > 0 {
			known[line]--
			fmt.Fprintf(&b, "  want %s\n", line)
		}
	}
	if b.Len() == 0 && strings.Join(got.lines, "\n") != strings.Join(want.lines, "\n") {
		fmt.Fprintf(&b, "the same contents in another order:\n  got  %s\n  want %s\n",
			strings.Join(got.lines, "\n       "), strings.Join(want.lines, "\n       "))
	}
	return b.String()
}

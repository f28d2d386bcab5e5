package drivertest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/braidmq/braid/driver"
)

// historian draws the calls of a history. It looks at what the reference
// answered, so that most calls find something to do: a claimed job to ack, a
// parked parent to report to.
//
// It stays within what all stores answer alike: one policy of retention per job
// name, no id twice in a batch, no order of flows among each other.
type historian struct {
	*rand.Rand
	harness Harness
	ref     *side
	now     driver.Time
	calls   int
	still   int // so many calls are made at time 0

	assigned []string          // the newest assigned ids
	held     []driver.Lock     // the newest locks, held or not
	queues   map[string]string // the queue that a token was drawn for
	staged   map[driver.Lock][]driver.StagedChild
	landed   []driver.StagedChild // children of flows, the newest
}

func newHistorian(seed uint64, h Harness, ref *side) *historian {
	return &historian{
		Rand: rand.New(rand.NewPCG(seed, 0x6272616964)), harness: h, ref: ref, still: int(seed % 3 * 8),
		queues: make(map[string]string), staged: make(map[driver.Lock][]driver.StagedChild),
	}
}

// What histories draw from: few of each, so that calls meet.
var (
	historyIDs       = []string{"a", "b", "c", "d", "e", "f"}
	historyNames     = []string{"plain", "last", "brief"}
	historyQueues    = []string{"q1", "q2"}
	historyKeys      = []string{"k1", "k2"}
	historyChildren  = []string{"x", "y", "z", "ä"}
	historySchedules = []string{"s1", "s2", "s3"}
	historyValues    = []string{"", "null", "[]", `{"n":9007199254740993}`, `"\u0000"`}
	historySteps     = []driver.Millis{0, 0, 1, 1, 10, 50, 100, 400, 1000}
)

// nestedParent is the id of the only job that is a child and, at times, a parent:
// so one step never ends two of them, in an order that stores may choose.
const nestedParent = "e"

// keepOf is the retention of a job name.
func keepOf(name string) *driver.Keep {
	switch name {
	case "last":
		one := driver.Retention{Count: driver.Some(int64(1))}
		return &driver.Keep{Completed: one, Failed: one, Cancelled: one}
	case "brief":
		return &driver.Keep{
			Completed: driver.Retention{Count: driver.Some(int64(2)), Age: driver.Some(driver.Millis(500))},
			Failed:    driver.Retention{Age: driver.Some(driver.Millis(300))},
			Cancelled: driver.Retention{Count: driver.Some(int64(0))},
		}
	}
	return nil
}

// pick returns one of the values.
func pick[V any](g *historian, values []V) V { return values[g.IntN(len(values))] }

// chance is true once in n.
func (g *historian) chance(n int) bool { return g.IntN(n) == 0 }

func (g *historian) id() string {
	if len(g.assigned) > 0 && g.chance(4) {
		return pick(g, g.assigned)
	}
	if len(g.landed) > 0 && g.chance(4) {
		return pick(g, g.landed).Request.ID
	}
	return pick(g, historyIDs)
}

// distinctIDs returns one id, or a few that are different and not finished: a
// finished one may be trimmed by what the batch does before its turn.
func (g *historian) distinctIDs() []string {
	ids := []string{g.id()}
	for range g.IntN(4) {
		if id := g.id(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	open := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		j := g.job(id)
		return j != nil && j.State.Terminal()
	})
	if len(open) > 1 {
		return open
	}
	return ids[:1]
}

// job returns the reference's record of a job, or nil.
func (g *historian) job(name string) *driver.Job {
	jobs, err := g.ref.store.Jobs(g.ref.ctx, []string{g.ref.id(name)})
	if err != nil || len(jobs) != 1 {
		return nil
	}
	return jobs[0]
}

func (g *historian) value() []byte { return []byte(pick(g, historyValues)) }

func (g *historian) spec() driver.Spec {
	name := pick(g, historyNames)
	s := driver.Spec{
		Name: name, Queue: pick(g, historyQueues), Payload: g.value(),
		Priority: int32(g.IntN(3) - 1), AttemptsMax: int32(1 + g.IntN(3)), Keep: keepOf(name),
	}
	if g.chance(3) {
		s.Metadata = map[string]string{"tenant": pick(g, []string{"t1", "t2", ""})}
		if g.chance(2) {
			s.Metadata["kind"] = "x"
		}
	}
	if g.chance(5) {
		s.Backoff = &driver.Backoff{Kind: driver.BackoffFixed, Delay: driver.Millis(g.IntN(100))}
	}
	if g.chance(5) {
		s.Timeout = driver.Some(driver.Millis(g.IntN(2)))
	}
	if g.chance(5) {
		s.Trace = &driver.Trace{TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: "b7ad6b7169203331", Sampled: g.chance(2)}
	}
	return s
}

// step draws the next step and the time at which it happens.
func (g *historian) step() (driver.Time, historyCall) {
	g.calls++
	if g.calls > g.still {
		g.now = g.now.Add(pick(g, historySteps))
	}
	if g.chance(50) {
		g.now = max(0, g.now-20)
	}
	total := 0
	for _, d := range draws {
		total += d.weight
	}
	n := g.IntN(total)
	for _, d := range draws {
		if n -= d.weight; n < 0 {
			return g.now, d.draw(g)
		}
	}
	panic("drivertest: no step was drawn")
}

// draws are the calls and how often they are drawn.
var draws = []struct {
	weight int
	draw   func(g *historian) historyCall
}{
	{13, (*historian).enqueue},
	{7, (*historian).enqueueChildren},
	{2, func(g *historian) historyCall { return cancelByDedupeCall{pick(g, historyNames), pick(g, historyKeys)} }},
	{16, (*historian).claim},
	{13, (*historian).ack},
	{14, (*historian).stage},
	{10, (*historian).fanOut},
	{3, (*historian).heartbeat},
	{3, func(g *historian) historyCall {
		return recoverCall{driver.RecoverRequest{MaxStalled: int32(g.IntN(3)), Limit: 1 + g.IntN(4)}}
	}},
	{7, (*historian).operate},
	{3, (*historian).remove},
	{2, func(g *historian) historyCall { return pauseCall{Queue: pick(g, historyQueues), Resume: !g.chance(3)} }},
	{4, (*historian).list},
	{4, func(g *historian) historyCall {
		return lookCall{pick(g, []string{"", "q1", "q2", "none"}), []string{g.id(), g.id()}}
	}},
	{7, (*historian).report},
	{7, (*historian).relay},
	{4, func(g *historian) historyCall { return flowWorkCall{Mark: g.IntN(4)} }},
	{2, func(g *historian) historyCall {
		return markCall{[]driver.ChildRef{{FlowID: pick(g, historyIDs), ChildKey: pick(g, historyChildren)}, {FlowID: g.id(), ChildKey: "none"}}}
	}},
	{3, func(g *historian) historyCall {
		return childrenCall{pick(g, historyIDs), []string{pick(g, historyChildren), "none", pick(g, historyChildren)}, 1 + g.IntN(3)}
	}},
	{3, func(g *historian) historyCall {
		return sweepCall{pick(g, []string{"history", "dedupe", "flows", "stats"}), 1 + g.IntN(5)}
	}},
	{7, (*historian).schedule},
	{3, func(g *historian) historyCall {
		return workersCall{ID: pick(g, historyIDs), Lives: driver.Millis(g.IntN(1500)), Forget: g.chance(4), Page: 1 + g.IntN(4)}
	}},
}

// learn takes in what the reference answered.
func (g *historian) learn(c historyCall) {
	const newest = 12
	switch c := c.(type) {
	case enqueueCall:
		g.assigned = last(append(g.assigned, g.ref.assigned...), newest)
	case claimCall:
		g.queues[c.Token] = c.Queue
		for _, id := range g.ref.claimed {
			g.held = last(append(g.held, driver.Lock{ID: id, Token: c.Token}), newest)
		}
	case stageCall:
		lock := driver.Lock{ID: c.ID, Token: c.Token}
		for _, staged := range c.Page {
			known := slices.ContainsFunc(g.staged[lock], func(s driver.StagedChild) bool { return s.ChildKey == staged.ChildKey })
			if !known {
				g.staged[lock] = append(g.staged[lock], staged)
			}
		}
	case ackCall:
		for i, a := range c.Batch {
			if a.Kind == driver.AckFanOut && i < len(g.ref.acked) && g.ref.acked[i].Err == nil {
				g.landed = last(append(g.landed, g.staged[driver.Lock{ID: a.ID, Token: a.Token}]...), newest)
			}
		}
	}
}

func last[V any](values []V, n int) []V { return values[max(0, len(values)-n):] }

// probes are the calls that end a history: every dedup key is tried, so that one
// whose owner is gone shows.
func (g *historian) probes() []historyCall {
	var calls []historyCall
	for _, name := range historyNames {
		for _, key := range historyKeys {
			g.calls++
			calls = append(calls, enqueueCall{Tag: g.calls, Batch: []driver.EnqueueRequest{{
				Spec:   driver.Spec{Name: name, Queue: "q1", AttemptsMax: 1, Keep: keepOf(name)},
				Dedupe: &driver.Dedupe{Key: key},
			}}})
		}
	}
	return calls
}

func (g *historian) token() string { return fmt.Sprintf("t%d", g.calls) }

package redisstore_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
)

// manyChildren is more than any script may touch.
const manyChildren = 4000

// parkMany parks a flow parent with many children.
func (l *lossy) parkMany(id string, n int) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%05d", i)
	}
	l.park(id, keys...)
}

func TestARemovedFlowIsWorkedOffInPages(t *testing.T) {
	l := newLossy(t, testserver.Redis(t).URL())
	l.must(l.client.FlushDB(l.ctx).Result())
	l.parkMany("p", manyChildren)
	l.must(l.store.Cancel(l.ctx, 0, []string{"p"}))
	removed, err := l.store.Remove(l.ctx, 0, []string{"p"})
	if err != nil || !removed[0] {
		t.Fatalf("Remove: %v, %v", removed, err)
	}
	work, err := l.store.FlowSweepWork(l.ctx, 1_000_000, lossAge, 10)
	l.must(nil, err)
	if n := len(work.Reconcile) + len(work.Cascade); n != 0 {
		t.Errorf("a sweep is told of %d rows of a removed flow", n)
	}
	for left := manyChildren; left > 0; {
		result, err := l.store.SweepFlows(l.ctx, 0, 300)
		l.must(nil, err)
		left -= result.Deleted
		if result.Deleted != min(300, left+result.Deleted) || result.More != (left > 0) {
			t.Fatalf("SweepFlows of 300 at most answered %+v with %d rows left", result, left)
		}
	}
	keys, err := l.client.Keys(l.ctx, "{"+l.prefix+"}:f*").Result()
	l.must(nil, err)
	if len(keys) != 0 {
		t.Errorf("of the removed flow there is left %q", keys)
	}
}

var evalStats = regexp.MustCompile(`cmdstat_(\w+):calls=(\d+)`)

// commandsOf returns how many commands the server ran for a call, those of scripts
// included.
func (l *lossy) commandsOf(work func()) (n int) {
	l.Helper()
	l.must(l.client.ConfigResetStat(l.ctx).Result())
	work()
	stats, err := l.client.Info(l.ctx, "commandstats").Result()
	l.must(nil, err)
	for _, line := range evalStats.FindAllStringSubmatch(stats, -1) {
		calls, _ := strconv.Atoi(line[2])
		n += calls
	}
	return n
}

func TestTheWorkOfASettleDoesNotGrowWithTheFlow(t *testing.T) {
	l := newLossy(t, testserver.Redis(t).URL())
	work := map[int]map[string]int{}
	for _, n := range []int{10, manyChildren} {
		cancelled, failed := fmt.Sprintf("cancelled-%d", n), fmt.Sprintf("failed-%d", n)
		l.parkMany(cancelled, n)
		l.parkMany(failed, n)
		work[n] = map[string]int{
			"Cancel": l.commandsOf(func() { l.must(l.store.Cancel(l.ctx, 0, []string{cancelled})) }),
			"report": l.commandsOf(func() {
				l.must(l.store.RecordChildResults(l.ctx, 0, []driver.ChildReport{
					{FlowID: failed, ChildKey: "k00003", Outcome: driver.ChildFailed}}))
			}),
			"Remove": l.commandsOf(func() { l.must(l.store.Remove(l.ctx, 0, []string{cancelled})) }),
		}
	}
	for what, few := range work[10] {
		if many := work[manyChildren][what]; many > few+2 {
			t.Errorf("%s makes %d commands for a flow of %d children, and %d for one of 10", what, many, manyChildren, few)
		}
	}
}

// fill leaves the server no memory for what asks for some.
func (l *lossy) fill() {
	l.Helper()
	l.must(l.client.ConfigSet(l.ctx, "maxmemory", "1").Result())
	l.Cleanup(func() { l.client.ConfigSet(l.ctx, "maxmemory", "0") })
}

func TestFlowsSettleOnAServerWithoutMemory(t *testing.T) {
	l := newLossy(t, testserver.Redis(t).URL())
	envelope := driver.Envelope{FlowName: "f", FlowID: "far", ChildKey: "k", ParentStoreKey: "elsewhere", Depth: 1}
	l.must(l.store.Enqueue(l.ctx, 0, []driver.EnqueueRequest{{ID: "running", Spec: driver.Spec{
		Name: "running", Queue: "children", AttemptsMax: 1, Parent: &envelope}}}))
	l.must(l.store.Claim(l.ctx, 0, driver.ClaimRequest{Queue: "children", Names: []string{"running"}, Worker: "w", Token: "t", Limit: 1, LockDuration: 1000}))
	l.fill()

	results, err := l.store.RecordChildResults(l.ctx, 0, []driver.ChildReport{{FlowID: "quiet", ChildKey: "a", Outcome: driver.ChildCompleted}})
	if err != nil || !results[0].ParentSettled {
		t.Errorf("the last report: %+v, %v; want it to settle the parent", results, err)
	}
	l.must(nil, l.store.MarkChildrenCascaded(l.ctx, 0, []driver.ChildRef{{FlowID: "owing", ChildKey: "a"}}))
	acks, err := l.store.Ack(l.ctx, 0, []driver.Ack{{ID: "running", Token: "t", Kind: driver.AckComplete, Exit: []byte("1")}})
	l.must(nil, err)
	l.must(nil, acks[0].Err)
	entries, err := l.store.PeekOutbox(l.ctx, 5000, driver.PeekRequest{Limit: 10, Hold: 1000})
	if err != nil || len(entries) != 3 {
		t.Fatalf("PeekOutbox: %d entries, %v; want 3", len(entries), err)
	}
	l.must(nil, l.store.DeleteOutbox(l.ctx, []string{entries[0].ID}))
	l.must(l.store.FlowSweepWork(l.ctx, 1_000_000, lossAge, 10))
	l.must(l.store.SweepFlows(l.ctx, 0, 10))
}

func TestWhatNeedsMemoryIsRefusedWhole(t *testing.T) {
	l := newLossy(t, testserver.Redis(t).URL())
	l.must(l.store.Enqueue(l.ctx, 0, []driver.EnqueueRequest{{ID: "p", Spec: driver.Spec{Name: "p", Queue: "p", AttemptsMax: 1}}}))
	l.must(l.store.Claim(l.ctx, 0, driver.ClaimRequest{Queue: "p", Names: []string{"p"}, Worker: "w", Token: "t", Limit: 1, LockDuration: 1000}))
	before := l.contents()
	l.fill()

	refused := func(what string, err error) {
		t.Helper()
		if !driver.Retryable(err) || driver.OutcomeUnknown(err) {
			t.Errorf("%s without memory: %v; want an error that can be retried, of known outcome", what, err)
		}
	}
	refused("StageChildren", l.store.StageChildren(l.ctx, "p", "t", []driver.StagedChild{{ChildKey: "a", StoreKey: "main",
		Request: driver.EnqueueRequest{ID: "flow/a", Spec: driver.Spec{Name: "c", Queue: "q", AttemptsMax: 1}}}}))
	_, err := l.store.Tick(l.ctx, 1000, driver.TickRequest{Key: "daily", Expected: 1000, Next: 2000,
		Job: driver.EnqueueRequest{ID: "sched/daily/1000", Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1}}})
	refused("Tick", err)
	_, err = l.store.UpsertSchedule(l.ctx, driver.Schedule{Key: "new", JobName: "n", Queue: "q", Every: 1000, AttemptsMax: 1})
	refused("UpsertSchedule", err)
	if after := l.contents(); after != before {
		t.Errorf("the refused calls left\n%s\nof\n%s", after, before)
	}
}

// contents tells all keys with their sizes.
func (l *lossy) contents() string {
	l.Helper()
	keys, err := l.client.Keys(l.ctx, "*").Result()
	l.must(nil, err)
	dump := redis.NewScript(`
		table.sort(KEYS)
		local out = {}
		for i, key in ipairs(KEYS) do out[i] = key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) end
		return table.concat(out, '\n')`)
	text, err := dump.Run(l.ctx, l.client, keys).Text()
	l.must(nil, err)
	return text
}

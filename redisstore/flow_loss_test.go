package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
)

// A server may lose single keys or entries: by eviction, by a hand, by a partial
// restore. What is only an index is found missing by the audit of a stall recovery, and
// entered anew.

// lossAge is how long rows are pending before these tests reconcile them.
const lossAge = driver.Millis(1000)

// lossy is a store with flows, an outbox and a schedule in every place that they can
// lie in.
type lossy struct {
	*testing.T
	ctx    context.Context
	store  driver.Store
	client *redis.Client
	prefix string
}

func newLossy(t *testing.T, url string) *lossy {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	if err := client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	prefix := freshPrefix("")
	l := &lossy{T: t, ctx: t.Context(), store: stores{url: url}.open(t, prefix), client: client, prefix: prefix}

	l.park("moving", "a", "b", "c")
	l.park("quiet", "a", "b")
	l.must(l.store.RecordChildResults(l.ctx, 0, []driver.ChildReport{{FlowID: "quiet", ChildKey: "b", Outcome: driver.ChildFailed}}))
	l.park("asked", "a")
	l.must(l.store.Cancel(l.ctx, 0, []string{"asked"}))
	l.must(l.store.FlowSweepWork(l.ctx, 0, lossAge, 1))
	l.park("owing", "a", "b")
	l.must(l.store.Cancel(l.ctx, 0, []string{"owing"}))
	// One row of moving is returned, and that stands in the rotation; quiet waits for its
	// time. One row of owing was asked for, and all of asked.
	l.must(l.store.FlowSweepWork(l.ctx, driver.Time(lossAge), lossAge, 1))

	envelope := driver.Envelope{FlowName: "f", FlowID: "far", ChildKey: "k", ParentStoreKey: "elsewhere", Depth: 1}
	for _, id := range []string{"first", "second"} {
		l.must(l.store.Enqueue(l.ctx, 0, []driver.EnqueueRequest{{ID: id, Spec: driver.Spec{
			Name: "child", Queue: "q", AttemptsMax: 1, Parent: &envelope}}}))
	}
	l.must(l.store.Cancel(l.ctx, 0, []string{"first", "second"}))
	l.must(l.store.PeekOutbox(l.ctx, 0, driver.PeekRequest{Limit: 1, Hold: 1000}))

	l.must(l.store.UpsertSchedule(l.ctx, driver.Schedule{
		Key: "daily", JobName: "n", Queue: "q", Every: 1000, AttemptsMax: 1, NextRunAt: 1000}))
	return l
}

// must fails the test if a call failed; its answer does not matter.
func (l *lossy) must(_ any, err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// park makes a parked flow parent with children of these keys, at the time 0.
func (l *lossy) park(id string, keys ...string) {
	l.Helper()
	token := "token of " + id
	l.must(l.store.Enqueue(l.ctx, 0, []driver.EnqueueRequest{{ID: id, Spec: driver.Spec{Name: "parent", Queue: "parents", AttemptsMax: 1}}}))
	l.must(l.store.Claim(l.ctx, 0, driver.ClaimRequest{Queue: "parents", Names: []string{"parent"}, Worker: "w", Token: token, Limit: 1, LockDuration: 1}))
	page := make([]driver.StagedChild, len(keys))
	for i, key := range keys {
		page[i] = driver.StagedChild{ChildKey: key, StoreKey: "main", Request: driver.EnqueueRequest{
			ID: "flow/" + id + "/" + key, Spec: driver.Spec{Name: "child", Queue: "q", AttemptsMax: 1}}}
	}
	l.must(nil, l.store.StageChildren(l.ctx, id, token, page))
	results, err := l.store.Ack(l.ctx, 0, []driver.Ack{{ID: id, Token: token, Kind: driver.AckFanOut, Children: int64(len(keys))}})
	l.must(nil, err)
	l.must(nil, results[0].Err)
}

// lose deletes a key of the store, which must be there, of every flow where it has a
// number.
func (l *lossy) lose(key string) {
	l.Helper()
	keys, err := l.client.Keys(l.ctx, "{"+l.prefix+"}:"+key).Result()
	l.must(nil, err)
	if len(keys) == 0 {
		l.Fatalf("there is no key %q to lose", key)
	}
	l.must(l.client.Del(l.ctx, keys...).Result())
}

// heal lets stall recoveries audit everything, and sweeps do what they ask for.
func (l *lossy) heal() {
	l.Helper()
	for range 60 {
		l.must(l.store.RecoverStalled(l.ctx, 0, driver.RecoverRequest{MaxStalled: 1, Limit: 10}))
	}
	for range 100 {
		result, err := l.store.SweepFlows(l.ctx, 0, 2)
		l.must(nil, err)
		if !result.More {
			return
		}
	}
	l.Fatal("SweepFlows always says that there is more")
}

// within tells all that can be reached, long after.
func (l *lossy) within() string {
	l.Helper()
	const later = 1_000_000
	var seen []string
	for range 4 {
		work, err := l.store.FlowSweepWork(l.ctx, later, lossAge, 2)
		l.must(nil, err)
		for _, row := range work.Reconcile {
			seen = append(seen, "reconcile "+row.FlowID+"/"+row.ChildKey)
		}
		for _, row := range work.Cascade {
			seen = append(seen, "cascade "+row.FlowID+"/"+row.ChildKey)
		}
	}
	for _, id := range []string{"moving", "quiet", "owing", "asked"} {
		page, err := l.store.ListChildResults(l.ctx, id, "", 0)
		l.must(nil, err)
		for _, row := range page.Children {
			seen = append(seen, fmt.Sprintf("row %s/%s %v", id, row.ChildKey, row.Status))
		}
	}
	for _, hold := range []driver.Millis{0, 1} {
		entries, err := l.store.PeekOutbox(l.ctx, later, driver.PeekRequest{Limit: 10, Hold: hold})
		l.must(nil, err)
		for _, entry := range entries {
			seen = append(seen, fmt.Sprintf("outbox %s, hold %d", entry.Report.ChildJobID, hold))
		}
	}
	schedules, err := l.store.Schedules(l.ctx, driver.ScheduleFilter{})
	l.must(nil, err)
	due, err := l.store.DueSchedules(l.ctx, later, driver.Opt[driver.ScheduleCursor]{}, 10)
	l.must(nil, err)
	seen = append(seen, fmt.Sprintf("%d schedules, %d due", len(schedules), len(due)))
	slices.Sort(seen)
	return strings.Join(slices.Compact(seen), "\n")
}

func TestLostPlacesOfFlowsOutboxAndSchedulesAreEnteredAnew(t *testing.T) {
	url := testserver.Redis(t).URL()
	want := newLossy(t, url).within()
	for _, key := range []string{
		"flows:parked", "flows:due", "flows:owing", "flows:asked", "fk:*", "fn:*", "fb:*", "fa:*",
		"out:boxes", "ob:*", "or:*", "oh:*", "schedules", "schedules:due",
	} {
		t.Run(strings.ReplaceAll(key, ":*", ""), func(t *testing.T) {
			l := newLossy(t, url)
			l.lose(key)
			l.heal()
			if got := l.within(); got != want {
				t.Errorf("within reach is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestAnAuditOfWhatIsWholeChangesNothing(t *testing.T) {
	url := testserver.Redis(t).URL()
	want := newLossy(t, url).within()
	l := newLossy(t, url)
	l.heal()
	if n := l.client.Exists(l.ctx, "{"+l.prefix+"}:mending").Val(); n != 0 {
		t.Errorf("the audit asks to mend what is whole")
	}
	if got := l.within(); got != want {
		t.Errorf("within reach is\n%s\nwant\n%s", got, want)
	}
}

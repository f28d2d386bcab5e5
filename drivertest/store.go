package drivertest

import (
	"context"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// method is one method of a store with arguments that would have an effect.
type method struct {
	name string
	do   func(ctx context.Context, s driver.Store) error
}

// methods are all methods of a store that take a context, on what callFixture made.
func methods() []method {
	one := func(op operation, ctx context.Context) error {
		_, err := op(ctx, 100, []string{"waiting"})
		return err
	}
	report := driver.ChildReport{FlowID: "active", ChildKey: "c", Outcome: driver.ChildCompleted}
	staged := driver.StagedChild{ChildKey: "c", StoreKey: "main", Request: request("flow/c")}
	return []method{
		{"Enqueue", func(ctx context.Context, s driver.Store) error {
			_, err := s.Enqueue(ctx, 100, []driver.EnqueueRequest{request("new")})
			return err
		}},
		{"CancelByDedupe", func(ctx context.Context, s driver.Store) error {
			_, err := s.CancelByDedupe(ctx, 100, someName, "k")
			return err
		}},
		{"Claim", func(ctx context.Context, s driver.Store) error {
			_, err := s.Claim(ctx, 100, driver.ClaimRequest{
				Queue: someQueue, Names: []string{someName}, Worker: "w", Token: "new", Limit: 5, LockDuration: 1000})
			return err
		}},
		{"Ack", func(ctx context.Context, s driver.Store) error {
			_, err := s.Ack(ctx, 100, []driver.Ack{{ID: "active", Token: "held", Kind: driver.AckComplete}})
			return err
		}},
		{"Heartbeat", func(ctx context.Context, s driver.Store) error {
			_, err := s.Heartbeat(ctx, 100, []driver.Lock{{ID: "active", Token: "held"}}, 90_000)
			return err
		}},
		{"RecoverStalled", func(ctx context.Context, s driver.Store) error {
			_, err := s.RecoverStalled(ctx, 1_000_000, driver.RecoverRequest{MaxStalled: 1, Limit: 10})
			return err
		}},
		{"Jobs", func(ctx context.Context, s driver.Store) error {
			_, err := s.Jobs(ctx, []string{"waiting"})
			return err
		}},
		{"Attempts", func(ctx context.Context, s driver.Store) error { _, err := s.Attempts(ctx, "done"); return err }},
		{"List", func(ctx context.Context, s driver.Store) error {
			_, err := s.List(ctx, driver.ListRequest{})
			return err
		}},
		{"Counts", func(ctx context.Context, s driver.Store) error { _, err := s.Counts(ctx, ""); return err }},
		{"Queues", func(ctx context.Context, s driver.Store) error { _, err := s.Queues(ctx); return err }},
		{"Position", func(ctx context.Context, s driver.Store) error { _, err := s.Position(ctx, "waiting"); return err }},
		{"Cancel", func(ctx context.Context, s driver.Store) error { return one(s.Cancel, ctx) }},
		{"Promote", func(ctx context.Context, s driver.Store) error { return one(s.Promote, ctx) }},
		{"Retry", func(ctx context.Context, s driver.Store) error { return one(s.Retry, ctx) }},
		{"Remove", func(ctx context.Context, s driver.Store) error {
			_, err := s.Remove(ctx, 100, []string{"waiting"})
			return err
		}},
		{"Pause", func(ctx context.Context, s driver.Store) error { return s.Pause(ctx, someQueue) }},
		{"Resume", func(ctx context.Context, s driver.Store) error { return s.Resume(ctx, "paused") }},
		{"PausedQueues", func(ctx context.Context, s driver.Store) error { _, err := s.PausedQueues(ctx); return err }},
		{"UpsertSchedule", func(ctx context.Context, s driver.Store) error {
			_, err := s.UpsertSchedule(ctx, schedule("new"))
			return err
		}},
		{"Schedule", func(ctx context.Context, s driver.Store) error { _, err := s.Schedule(ctx, "nightly"); return err }},
		{"Schedules", func(ctx context.Context, s driver.Store) error {
			_, err := s.Schedules(ctx, driver.ScheduleFilter{})
			return err
		}},
		{"DueSchedules", func(ctx context.Context, s driver.Store) error {
			_, err := s.DueSchedules(ctx, 9000, driver.Opt[driver.ScheduleCursor]{}, 10)
			return err
		}},
		{"Tick", func(ctx context.Context, s driver.Store) error {
			_, err := s.Tick(ctx, 1000, slot("nightly", 1000, 2000))
			return err
		}},
		{"Advance", func(ctx context.Context, s driver.Store) error {
			_, err := s.Advance(ctx, "nightly", 1000, 2000)
			return err
		}},
		{"RemoveSchedule", func(ctx context.Context, s driver.Store) error {
			_, err := s.RemoveSchedule(ctx, "nightly")
			return err
		}},
		{"StageChildren", func(ctx context.Context, s driver.Store) error {
			return s.StageChildren(ctx, "active", "held", []driver.StagedChild{staged})
		}},
		{"RecordChildResults", func(ctx context.Context, s driver.Store) error {
			_, err := s.RecordChildResults(ctx, 100, []driver.ChildReport{report})
			return err
		}},
		{"FlowSweepWork", func(ctx context.Context, s driver.Store) error {
			_, err := s.FlowSweepWork(ctx, 100, 10, 10)
			return err
		}},
		{"MarkChildrenCascaded", func(ctx context.Context, s driver.Store) error {
			return s.MarkChildrenCascaded(ctx, 100, []driver.ChildRef{{FlowID: "active", ChildKey: "c"}})
		}},
		{"Children", func(ctx context.Context, s driver.Store) error {
			_, err := s.Children(ctx, "active", []string{"c"})
			return err
		}},
		{"ListChildResults", func(ctx context.Context, s driver.Store) error {
			_, err := s.ListChildResults(ctx, "active", "", 10)
			return err
		}},
		{"PeekOutbox", func(ctx context.Context, s driver.Store) error {
			_, err := s.PeekOutbox(ctx, 100, driver.PeekRequest{Limit: 10, Hold: 60_000})
			return err
		}},
		{"DeleteOutbox", func(ctx context.Context, s driver.Store) error { return s.DeleteOutbox(ctx, []string{"1"}) }},
		{"OutboxBacklog", func(ctx context.Context, s driver.Store) error { _, err := s.OutboxBacklog(ctx); return err }},
		{"SweepHistory", func(ctx context.Context, s driver.Store) error { _, err := s.SweepHistory(ctx, 9000, 10); return err }},
		{"SweepDedupe", func(ctx context.Context, s driver.Store) error { _, err := s.SweepDedupe(ctx, 9000, 10); return err }},
		{"SweepFlows", func(ctx context.Context, s driver.Store) error { _, err := s.SweepFlows(ctx, 9000, 10); return err }},
		{"BeatWorker", func(ctx context.Context, s driver.Store) error {
			return s.BeatWorker(ctx, 100, driver.WorkerRecord{ID: "new", ExpiresAt: 30_000})
		}},
		{"ForgetWorker", func(ctx context.Context, s driver.Store) error { return s.ForgetWorker(ctx, "worker-1") }},
		{"Workers", func(ctx context.Context, s driver.Store) error { _, err := s.Workers(ctx, 100, "", 10); return err }},
		{"Stats", func(ctx context.Context, s driver.Store) error {
			_, err := s.Stats(ctx, driver.StatsRequest{To: 60_000})
			return err
		}},
		{"SampleDepth", func(ctx context.Context, s driver.Store) error { return s.SampleDepth(ctx, 60_000) }},
		{"Depths", func(ctx context.Context, s driver.Store) error { _, err := s.Depths(ctx, 0, 60_000); return err }},
		{"SweepStats", func(ctx context.Context, s driver.Store) error {
			_, err := s.SweepStats(ctx, driver.Time(driver.StatsKept), 10)
			return err
		}},
		{"Ping", func(ctx context.Context, s driver.Store) error { return s.Ping(ctx) }},
	}
}

// callFixture prepares a store so that each of methods would have an effect.
func (t *T) callFixture() {
	t.Helper()
	t.insert(0, request("active"))
	t.claimWith(0, driver.ClaimRequest{Token: "held"})
	t.finished(0, request("done", named("done"), keep(ageOf(100))), driver.Completed)
	t.insert(0, request("waiting", dedupe("k")))
	t.upsert(schedule("nightly"))
	t.pause("paused")
	t.beat(0, driver.WorkerRecord{ID: "worker-1", ExpiresAt: 30_000})
}

func init() {
	register("Store/Info",
		"Info names the store's kind and its format.",
		func(t *T) {
			info := t.Store.Info()
			if info.Kind == "" || info.Format < 1 {
				t.Errorf("Info is %+v; want a kind, and a format of at least 1", info)
			}
			t.must("Ping", t.Store.Ping(t.ctx))
		})

	register("Store/PowersAsDeclared",
		"A store has the optional interfaces, but for those that its harness declares it to lack.",
		func(t *T) {
			_, waker := t.Store.(driver.Waker)
			_, finish := t.Store.(driver.FinishWatcher)
			_, cancels := t.Store.(driver.CancelWatcher)
			_, clock := t.Store.(driver.ServerClock)
			_, tx := t.Store.(driver.TxProducer)
			h := t.Harness
			for _, p := range []struct {
				name            string
				has, declaredTo bool
			}{
				{"Waker", waker, !h.NoWaker}, {"FinishWatcher", finish, !h.NoFinishWatcher},
				{"CancelWatcher", cancels, !h.NoCancelWatcher}, {"ServerClock", clock, !h.NoServerClock},
				{"TxProducer", tx, h.BeginTx != nil},
			} {
				if p.has != p.declaredTo {
					t.Errorf("the store is a driver.%s: %v; the harness declares %v", p.name, p.has, p.declaredTo)
				}
			}
		})

	register("Store/CancelledContext",
		"A call with a context that has ended returns its error and changes nothing.",
		func(t *T) {
			t.callFixture()
			before := []snapshot{t.snapshot("waiting"), t.snapshot("active"), t.snapshot("done")}
			ended, cancel := context.WithCancel(t.ctx)
			cancel()
			for _, c := range methods() {
				t.failsWith(c.name, c.do(ended, t.Store), context.Canceled)
			}
			for _, s := range before {
				t.unchanged(s)
			}
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 1, Active: 1, Completed: 1})
			t.equal("paused", t.pausedQueues(), []string{"paused"})
			t.equal("schedules", t.keysOf(driver.ScheduleFilter{}), []string{"nightly"})
			t.equal("NextRunAt", t.schedule("nightly").NextRunAt, driver.Time(1000))
			t.equal("workers", workerIDs(t.workers(100)), []string{"worker-1"})
			t.equal("stats", len(t.stats()), 1)
			t.equal("depths", len(t.depths(0, 600_000)), 0)
		})

	register("Store/Closed",
		"After Close every call returns ErrClosed; Close is idempotent.",
		func(t *T) {
			t.callFixture()
			t.must("Close", t.Store.Close())
			for _, c := range methods() {
				t.failsWith(c.name, c.do(t.ctx, t.Store), driver.ErrClosed)
			}
			t.must("a second Close", t.Store.Close())
			t.Store.Info()
		})

	register("Store/RecordsAreSnapshots",
		"Nobody changes what a store returned: later operations do not show in a record that was read before.",
		func(t *T) {
			t.insert(0, request("a", metadata("k", "v")))
			read := t.job("a")
			run := t.claimOne(100)
			ledger := t.attempts("a")
			t.equal("state of the record that was read first", read.State, driver.Waiting)
			t.cancel(200, "a")
			retry := run.ack(driver.AckRetry)
			listed := t.list(driver.ListRequest{}).Jobs[0]
			t.settle(300, retry, driver.Cancelled)
			t.equal("state of the claimed record", run.State, driver.Active)
			t.equal("cancel request on the claimed record", run.CancelRequested, false)
			t.equal("state of the listed record", fmt.Sprint(listed.State, listed.CancelRequested), "active true")
			t.equal("length of the ledger that was read before", len(ledger), 0)
		})

	registerIf(func(h Harness) bool { return h.Reopen != nil }, "Store/SharesItsData",
		"What one process writes another reads, every field alike, and the two work off one queue.",
		func(t *T) {
			first := t.Store
			t.insert(0, request("a", everything), request("b"))
			t.upsert(fullSchedule("daily"))
			before, daily := t.snapshot("a"), t.schedule("daily")
			t.Store = t.Harness.Reopen(t, first)
			t.unchanged(before)
			t.equal("schedule", t.schedule("daily"), daily)
			run := t.claimOne(100)
			t.Store = first
			t.complete(200, run, `1`)
			t.equal("counts", t.counts(""), driver.Counts{Waiting: 1, Completed: 1})
		})

	registerIf(func(h Harness) bool { return !h.NoServerClock }, "Store/ServerTime",
		"The server's time goes forward.",
		func(t *T) {
			clock, ok := t.Store.(driver.ServerClock)
			if !ok {
				t.Fatalf("the store is no driver.ServerClock")
			}
			first, err := clock.ServerTime(t.ctx)
			t.must("ServerTime", err)
			second, err := clock.ServerTime(t.ctx)
			t.must("ServerTime", err)
			if first <= 0 || second < first {
				t.Errorf("ServerTime answered %d, then %d", first, second)
			}
		})
}

package drivertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// operation is Cancel, Promote or Retry of a store.
type operation = func(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error)

// operate calls an operation on a batch of ids.
func (t *T) operate(op operation, now driver.Time, ids ...string) []driver.OperateResult {
	t.Helper()
	results, err := op(t.ctx, now, ids)
	if err != nil {
		t.Fatalf("operating on %q: %v", ids, err)
	}
	if len(results) != len(ids) {
		t.Fatalf("operating on %d ids answered %d results", len(ids), len(results))
	}
	return results
}

// plainStates are the states that a job without a flow can be in.
var plainStates = []driver.State{
	driver.Waiting, driver.Delayed, driver.Active, driver.Completed, driver.Failed, driver.Cancelled,
}

// refusal is an operation with the states that it refuses.
type refusal struct {
	name    string
	pick    func(s driver.Store) operation
	err     error
	allowed []driver.State
}

var refusals = []refusal{
	{"Cancel", func(s driver.Store) operation { return s.Cancel }, driver.ErrNotCancellable,
		[]driver.State{driver.Waiting, driver.Delayed, driver.Active}},
	{"Promote", func(s driver.Store) operation { return s.Promote }, driver.ErrNotPromotable, []driver.State{driver.Delayed}},
	{"Retry", func(s driver.Store) operation { return s.Retry }, driver.ErrNotRetryable, []driver.State{driver.Failed}},
}

func init() {
	for _, op := range refusals {
		register("Operate/"+op.name+"Refuses",
			op.name+" refuses an unknown job with ErrNotFound, and one in a state that it does not suit with a StateError that names job and state; nothing changes.",
			func(t *T) {
				call := op.pick(t.Store)
				t.failsWith("unknown", t.operate(call, 500, "unknown")[0].Err, driver.ErrNotFound)
				for _, state := range plainStates {
					if contains(op.allowed, state) {
						continue
					}
					id := state.String()
					t.bring(id, state, named(id))
					before := t.snapshot(id)
					t.refuses(op.name+" of "+id, t.operate(call, 500, id)[0].Err, op.err, id, state)
					t.unchanged(before)
				}
			})

		register("Operate/"+op.name+"AnswersPositionByPosition",
			"A batch is answered position by position, each item on its own, in order.",
			func(t *T) {
				call, state := op.pick(t.Store), op.allowed[0]
				t.bring("a", state, named("a"))
				t.bring("b", state, named("b"))
				t.bring("done", driver.Completed, named("done"))
				got := t.operate(call, 500, "unknown", "a", "done", "a", "b")
				t.failsWith("unknown", got[0].Err, driver.ErrNotFound)
				t.failsWith("done", got[2].Err, op.err)
				t.failsWith("the second a", got[3].Err, op.err)
				for _, i := range []int{1, 4} {
					if got[i].Err != nil {
						t.Errorf("item %d: %v", i, got[i].Err)
					}
				}
			})

		register("Operate/"+op.name+"OfNothing", "An empty batch is answered with nothing.",
			func(t *T) { t.operate(op.pick(t.Store), 500) })
	}

	for _, state := range []driver.State{driver.Waiting, driver.Delayed} {
		register("Operate/Cancel"+stateWord(state),
			"A cancel of a waiting or delayed job finishes it as cancelled, with one ledger entry, without using an attempt.",
			func(t *T) {
				t.bring("a", state)
				before := t.snapshot("a")
				t.equal("state", t.cancel(500, "a"), driver.Cancelled)
				t.changed(before, func(s *snapshot) {
					s.ended(500, driver.Cancelled)
					s.entry(driver.Attempt{FinishedAt: 500, Outcome: driver.OutcomeCancelled})
				})
				t.equal("claimed", len(t.claim(90_000, 1)), 0)
			})
	}

	register("Operate/CancelOfARetriedJob",
		"A cancel of a job that ran before leaves an entry of no run: without worker and start. The job keeps its attempts.",
		func(t *T) {
			t.settle(100, t.start(0, request("a")).ack(driver.AckRetry), driver.Waiting)
			before := t.snapshot("a")
			t.cancel(500, "a")
			t.changed(before, func(s *snapshot) {
				s.ended(500, driver.Cancelled)
				s.entry(driver.Attempt{FinishedAt: 500, Outcome: driver.OutcomeCancelled})
			})
		})

	register("Operate/CancelOfActiveReachesTheWorker",
		"A cancel of an active job is delivered by the heartbeat, and its Cancelled ack finishes it.",
		func(t *T) {
			run := t.start(0, request("a"))
			t.equal("state", t.cancel(100, "a"), driver.Active)
			t.equal("heartbeat", t.heartbeat(200, run.lock()), driver.HeartbeatResult{CancelRequested: []string{"a"}})
			t.settle(300, run.ack(driver.AckCancelled), driver.Cancelled)
			if j := t.job("a"); j.CancelRequested || j.State != driver.Cancelled {
				t.Errorf("state %v, cancelRequested %v; want cancelled, false", j.State, j.CancelRequested)
			}
		})

	register("Operate/CancelAppliesKeep",
		"A cancel is a terminal transition: the job's keep applies.",
		func(t *T) {
			none := driver.Keep{Cancelled: driver.Retention{Count: driver.Some(int64(0))}}
			t.insert(0, request("a", keep(none)))
			t.equal("state", t.cancel(100, "a"), driver.Cancelled)
			t.equal("jobs that exist", t.present("a"), []string(nil))
		})

	register("Operate/Promote",
		"A promotion makes a delayed job waiting with RunAt now; seq and the rest stay, and it stands where it was enqueued.",
		func(t *T) {
			t.insert(0, request("a", after(9000)), request("b"))
			before := t.snapshot("a")
			t.equal("state", t.promote(500, "a"), driver.Waiting)
			t.changed(before, func(s *snapshot) { s.Job.State, s.Job.RunAt = driver.Waiting, 500 })
			t.equal("claimed", t.drain(500), []string{"a", "b"})
		})

	register("Operate/Retry",
		"A retry gives a failed job a fresh budget: waiting, new seq, RunAt now, no attempts and stalls; exit, failedReason, finishedAt and processedAt are cleared; the ledger is kept.",
		func(t *T) {
			r := request("a", everything)
			first := t.start(0, r)
			t.settle(100, first.ack(driver.AckRetry), driver.Waiting)
			t.claimOne(200)
			t.recover(50_000, 5)
			t.fail(60_000, t.claimOne(60_000), `"broken"`)
			t.insert(60_000, request("b", priority(7)))
			before := t.snapshot("a")
			t.equal("state", t.retry(70_000, "a"), driver.Waiting)
			t.changed(before, func(s *snapshot) {
				j := &s.Job
				j.State, j.Seq, j.RunAt = driver.Waiting, newSeq, 70_000
				j.AttemptsMade, j.StalledCount = 0, 0
				j.Exit, j.FailedReason = nil, ""
				j.FinishedAt, j.ProcessedAt = driver.Opt[driver.Time]{}, driver.Opt[driver.Time]{}
			})
			t.equal("claimed", t.drain(70_000), []string{"b", "a"})
		})

	register("Operate/RetryOfAStalledJobClearsItsReason",
		"A retry clears the failedReason that the store set.",
		func(t *T) {
			t.start(0, request("a"))
			t.recover(50_000, 0)
			t.retry(60_000, "a")
			if j := t.job("a"); j.FailedReason != "" || j.State != driver.Waiting {
				t.Errorf("state %v, failedReason %q; want waiting, none", j.State, j.FailedReason)
			}
		})

	for _, state := range plainStates {
		want := state != driver.Active
		register("Operate/Remove"+stateWord(state),
			"Remove deletes a job and its ledger; false for an active one, which stays.",
			func(t *T) {
				t.bring("a", state)
				before := t.snapshot("a")
				t.equal("Remove", t.remove(500, "a"), []bool{want})
				if !want {
					t.unchanged(before)
					return
				}
				t.equal("jobs that exist", t.present("a"), []string(nil))
				t.equal("ledger", t.attempts("a"), []driver.Attempt(nil))
				t.equal("counts", t.counts(""), driver.Counts{})
				t.equal("queues", t.queues(), []string(nil))
				t.equal("listed", t.listAll(driver.ListRequest{}), []string(nil))
				t.equal("claimed", len(t.claim(90_000, 1)), 0)
			})
	}

	register("Operate/RemoveAnswersPositionByPosition",
		"Remove answers true where a job was deleted; unknown ones and repeats are false.",
		func(t *T) {
			t.insert(0, request("a"), request("b"))
			t.equal("Remove", t.remove(0, "unknown", "a", "a", "b"), []bool{false, true, false, true})
			t.equal("Remove of nothing", t.remove(0), []bool(nil))
		})

	register("Operate/RemovedIDStartsAnew",
		"A removed id can be enqueued again, with a ledger of its own.",
		func(t *T) {
			t.finished(0, request("a", everything), driver.Failed)
			t.remove(100, "a")
			t.insert(200, request("a"))
			t.equal("ledger", t.attempts("a"), []driver.Attempt(nil))
			t.complete(300, t.claimOne(300), `1`)
			t.equal("first attempt's number", t.attempts("a")[0].Attempt, int64(1))
		})

	register("Operate/ManyAtOnce",
		"A batch larger than a chunk is worked off whole, position by position.",
		func(t *T) {
			n := driver.ChunkJobs + 20
			var batch []driver.EnqueueRequest
			for i := range n {
				batch = append(batch, request(fmt.Sprintf("job-%d", i), after(9000)))
			}
			ids := t.insert(0, batch...)
			for i, r := range t.operate(t.Store.Promote, 100, ids...) {
				if r.Err != nil || r.State != driver.Waiting {
					t.Fatalf("Promote %d: %+v", i, r)
				}
			}
			t.equal("counts after Promote", t.counts(""), driver.Counts{Waiting: int64(n)})
			for i, r := range t.operate(t.Store.Cancel, 200, ids...) {
				if r.Err != nil || r.State != driver.Cancelled {
					t.Fatalf("Cancel %d: %+v", i, r)
				}
			}
			t.equal("counts after Cancel", t.counts(""), driver.Counts{Cancelled: int64(n)})
			for i, removed := range t.remove(300, ids...) {
				if !removed {
					t.Fatalf("Remove %d: false", i)
				}
			}
			t.equal("counts after Remove", t.counts(""), driver.Counts{})
		})

	register("Operate/Pause",
		"While a queue is paused claims of it find nothing; other queues and producers are not affected; resume ends it.",
		func(t *T) {
			t.insert(0, request("a"), request("x", inQueue("other")))
			t.pause(someQueue)
			t.insert(0, request("b"))
			t.equal("claimed while paused", len(t.claim(0, 5)), 0)
			got := t.claimWith(0, driver.ClaimRequest{Queue: "other"})
			t.equal("claimed from the other queue", idsOf(got.Jobs), []string{"x"})
			t.resume(someQueue)
			t.equal("claimed after the pause", t.drain(0), []string{"a", "b"})
		})

	register("Operate/PauseLeavesRunningJobsAlone",
		"A pause does not touch jobs that run: they heartbeat, finish, and may be resumed by their claim.",
		func(t *T) {
			run := t.start(0, request("a"))
			t.pause(someQueue)
			t.equal("heartbeat", t.heartbeat(100, run.lock()), driver.HeartbeatResult{})
			t.complete(200, run, `1`)
		})

	register("Operate/PausedQueues",
		"PausedQueues lists the paused queues in byte order; pause and resume are idempotent.",
		func(t *T) {
			for _, queue := range []string{"b", "B", "a", "ä", "b"} {
				t.pause(queue)
			}
			t.equal("paused", t.pausedQueues(), []string{"B", "a", "b", "ä"})
			t.resume("b")
			t.resume("b")
			t.resume("never paused")
			t.equal("paused after a resume", t.pausedQueues(), []string{"B", "a", "ä"})
		})

	registerIf(func(h Harness) bool { return h.Reopen != nil }, "Operate/PauseIsShared",
		"A pause is durable: another process sees it.",
		func(t *T) {
			t.insert(0, request("a"))
			t.pause(someQueue)
			t.Store = t.Harness.Reopen(t, t.Store)
			t.equal("paused", t.pausedQueues(), []string{someQueue})
			t.equal("claimed", len(t.claim(0, 5)), 0)
		})
}

// refuses fails unless err is a StateError of that kind, job and state.
func (t *T) refuses(what string, err, kind error, id string, state driver.State) {
	t.Helper()
	t.failsWith(what, err, kind)
	var refused *driver.StateError
	if !errors.As(err, &refused) || refused.ID != id || refused.State != state {
		t.Errorf("%s: error %v; want a StateError of %q in %v", what, err, id, state)
	}
}

func (t *T) pausedQueues() []string {
	t.Helper()
	queues, err := t.Store.PausedQueues(t.ctx)
	t.must("PausedQueues", err)
	return queues
}

func contains(states []driver.State, s driver.State) bool {
	for _, other := range states {
		if other == s {
			return true
		}
	}
	return false
}

package memstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/braidmq/braid/driver"
)

// holdings is how much each structure of a store holds; zero fields hold nothing.
type holdings struct {
	Jobs, Queues, Names, Active, Claims, Expiry, Surplus, Dedupes, DedupeEnds        int
	Schedules, Due, FlowOrders, Abandoned, Outbox, Boxes, Waiters, Finished, Cancels int
	Stats, Depths, Workers, WorkerEnds                                               int
}

func (s *Store) holdings() holdings {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := holdings{
		Jobs: len(s.jobs), Queues: len(s.queues), Names: len(s.names), Active: s.active.len(),
		Claims: len(s.claims), Expiry: s.expiry.len(), Surplus: len(s.surplus),
		Dedupes: len(s.dedupes), DedupeEnds: s.dedupeEnds.Len(),
		Schedules: s.schedules.byKey.Len(), Due: s.schedules.due.Len(), Abandoned: len(s.flows.abandoned),
		Outbox: len(s.outbox.entries), Boxes: len(s.outbox.boxes), Waiters: len(s.wakes.waiters),
		Finished: len(s.finished), Cancels: len(s.cancels),
		Stats: s.stats.minutes.Len(), Depths: s.stats.depths.Len(), Workers: s.workers.byID.Len(), WorkerEnds: s.workers.expiring.Len(),
	}
	for _, order := range s.flows.orders {
		h.FlowOrders += order.Len()
	}
	return h
}

// scatter drives a store with random calls over a few queues, names, keys and ids.
type scatter struct {
	t      *testing.T
	s      *Store
	r      *rand.Rand
	now    driver.Time
	tokens []string // of claims
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (x *scatter) id() string    { return fmt.Sprint("job-", x.r.IntN(30)) }
func (x *scatter) queue() string { return pick(x.r, "q1", "q2", "q3") }
func (x *scatter) name() string  { return pick(x.r, "n1", "n2", "n3") }

func (x *scatter) ids() []string { return []string{x.id(), x.id(), x.id(), x.id()} }

func (x *scatter) token() string {
	if len(x.tokens) == 0 || x.r.IntN(10) == 0 {
		return "no token"
	}
	return x.tokens[max(0, len(x.tokens)-1-x.r.IntN(6))]
}

func (x *scatter) retention() (k driver.Retention) {
	if x.r.IntN(2) == 0 {
		k.Count = driver.Some(int64(x.r.IntN(3)))
	}
	if x.r.IntN(2) == 0 {
		k.Age = driver.Some(driver.Millis(x.r.IntN(300)))
	}
	return k
}

func (x *scatter) request() driver.EnqueueRequest {
	req := driver.EnqueueRequest{
		ID: pick(x.r, "", x.id(), x.id()),
		Spec: driver.Spec{
			Name: x.name(), Queue: x.queue(), Priority: int32(x.r.IntN(3)), AttemptsMax: 3,
		},
		Delay: pick(x.r, 0, 0, driver.Millis(x.r.IntN(200))),
	}
	if x.r.IntN(2) == 0 {
		req.Keep = &driver.Keep{Completed: x.retention(), Failed: x.retention(), Cancelled: x.retention()}
	}
	if x.r.IntN(2) == 0 {
		req.Dedupe = &driver.Dedupe{
			Key: pick(x.r, "k1", "k2", "k3"), Extend: x.r.IntN(2) == 0, Replace: x.r.IntN(2) == 0,
		}
		if x.r.IntN(2) == 0 {
			req.Dedupe.TTL = driver.Some(driver.Millis(x.r.IntN(300)))
		}
	}
	if x.r.IntN(3) == 0 {
		req.Parent = &driver.Envelope{FlowName: "f", FlowID: x.id(), ChildKey: "c", ParentStoreKey: pick(x.r, "s1", "s2"), Depth: 1}
	}
	return req
}

// claim claims, and then stages children for, acks or forgets what it got.
func (x *scatter) claim() error {
	token := fmt.Sprint("token-", len(x.tokens))
	x.tokens = append(x.tokens, token)
	got, err := x.s.Claim(x.t.Context(), x.now, driver.ClaimRequest{
		Queue: x.queue(), Names: []string{x.name(), x.name()}, Worker: "w", Token: token,
		Limit: 1 + x.r.IntN(6), LockDuration: driver.Millis(1 + x.r.IntN(300)), Resume: x.r.IntN(4) == 0,
	})
	if err != nil {
		return err
	}
	var acks []driver.Ack
	for _, job := range got.Jobs {
		ack := driver.Ack{ID: job.ID, Token: token, Delay: driver.Millis(x.r.IntN(100)), FailFast: x.r.IntN(2) == 0}
		ack.Kind = pick(x.r, driver.AckComplete, driver.AckFail, driver.AckCancelled, driver.AckRetry, driver.AckSnooze, driver.AckRelease)
		if x.r.IntN(2) == 0 {
			ack.Kind = driver.AckFanOut
			var page []driver.StagedChild
			for i := range x.r.IntN(5) {
				page = append(page, driver.StagedChild{ChildKey: fmt.Sprint("c", i), StoreKey: "s1",
					Request: driver.EnqueueRequest{ID: fmt.Sprint("flow/", token, i)}})
			}
			if err := x.s.StageChildren(x.t.Context(), job.ID, token, page); err != nil {
				return err
			}
			ack.Children = int64(len(page))
		}
		if x.r.IntN(4) > 0 {
			acks = append(acks, ack)
		}
	}
	_, err = x.s.Ack(x.t.Context(), x.now, acks)
	return err
}

func (x *scatter) reports() []driver.ChildReport {
	var reports []driver.ChildReport
	for range x.r.IntN(6) {
		reports = append(reports, driver.ChildReport{FlowID: x.id(), ChildKey: fmt.Sprint("c", x.r.IntN(5)),
			Outcome: pick(x.r, driver.ChildCompleted, driver.ChildCompleted, driver.ChildFailed, driver.ChildCancelled)})
	}
	return reports
}

// relay peeks, and deletes some of what it got.
func (x *scatter) relay() error {
	page, err := x.s.PeekOutbox(x.t.Context(), x.now, driver.PeekRequest{Limit: 3, Hold: driver.Millis(x.r.IntN(2) * 100)})
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range page {
		ids = append(ids, e.ID)
	}
	if x.r.IntN(2) == 0 {
		return x.s.DeleteOutbox(x.t.Context(), ids)
	}
	return nil
}

// cascade marks some of what a flow sweep returns.
func (x *scatter) cascade() error {
	work, err := x.s.FlowSweepWork(x.t.Context(), x.now, driver.Millis(x.r.IntN(200)), 1+x.r.IntN(5))
	if err != nil {
		return err
	}
	var refs []driver.ChildRef
	for _, c := range work.Cascade {
		if x.r.IntN(2) == 0 {
			refs = append(refs, driver.ChildRef{FlowID: c.FlowID, ChildKey: c.ChildKey})
		}
	}
	return x.s.MarkChildrenCascaded(x.t.Context(), x.now, refs)
}

func (x *scatter) schedule() error {
	key := pick(x.r, "s1", "s2")
	switch x.r.IntN(3) {
	case 0:
		_, err := x.s.UpsertSchedule(x.t.Context(), driver.Schedule{Key: key, Every: driver.Millis(1 + x.r.IntN(2)), NextRunAt: x.now})
		return err
	case 1:
		_, err := x.s.RemoveSchedule(x.t.Context(), key)
		return err
	}
	due, err := x.s.DueSchedules(x.t.Context(), x.now, driver.Opt[driver.ScheduleCursor]{}, 1)
	if err != nil || len(due) == 0 {
		return err
	}
	job := x.request()
	job.ID = fmt.Sprint("sched/", due[0].Key, "/", int64(due[0].NextRunAt))
	_, err = x.s.Tick(x.t.Context(), x.now, driver.TickRequest{Key: due[0].Key, Expected: due[0].NextRunAt, Next: x.now + 50, Job: job})
	return err
}

// step makes one random call, or a few that belong together.
func (x *scatter) step() error {
	ctx, s := x.t.Context(), x.s
	x.now += driver.Time(x.r.IntN(20))
	switch x.r.IntN(19) {
	case 0, 1, 2, 3:
		_, err := s.Enqueue(ctx, x.now, []driver.EnqueueRequest{x.request(), x.request(), x.request()})
		return err
	case 4, 5, 6:
		return x.claim()
	case 7:
		_, err := s.Ack(ctx, x.now, []driver.Ack{{ID: x.id(), Token: x.token(), Kind: driver.AckComplete}})
		return err
	case 8:
		_, err := s.Heartbeat(ctx, x.now, []driver.Lock{{ID: x.id(), Token: x.token()}, {ID: x.id(), Token: x.token()}}, 100)
		return err
	case 9:
		_, err := s.RecoverStalled(ctx, x.now, driver.RecoverRequest{MaxStalled: 1, Limit: 3})
		return err
	case 10:
		_, err := s.Cancel(ctx, x.now, x.ids())
		return err
	case 11:
		_, err := pick(x.r, s.Retry, s.Promote)(ctx, x.now, x.ids())
		return err
	case 12:
		_, err := s.Remove(ctx, x.now, x.ids())
		return err
	case 13:
		return pick(x.r, s.Pause, s.Resume)(ctx, x.queue())
	case 14:
		_, err := s.RecordChildResults(ctx, x.now, x.reports())
		return err
	case 15:
		return x.relay()
	case 16:
		return pick(x.r, x.cascade, x.schedule)()
	case 17:
		return s.BeatWorker(ctx, x.now, driver.WorkerRecord{ID: fmt.Sprint("w", x.r.IntN(30)), ExpiresAt: x.now + driver.Time(x.r.IntN(300))})
	}
	_, err := pick(x.r, s.SweepHistory, s.SweepDedupe, s.SweepFlows, s.SweepStats, x.sampleDepth)(ctx, x.now, x.r.IntN(6))
	return err
}

func (x *scatter) sampleDepth(ctx context.Context, now driver.Time, _ int) (driver.SweepResult, error) {
	return driver.SweepResult{}, x.s.SampleDepth(ctx, now)
}

// removeAll ends and removes everything, by the store's own means.
func (x *scatter) removeAll() error {
	ctx, s := x.t.Context(), x.s
	x.now += driver.Time(driver.StatsKept) + 1_000_000
	var ids []string
	for id := range s.jobs {
		ids = append(ids, id)
	}
	if _, err := s.Cancel(ctx, x.now, ids); err != nil {
		return err
	}
	if _, err := s.RecoverStalled(ctx, x.now, driver.RecoverRequest{Limit: len(ids)}); err != nil {
		return err
	}
	if _, err := s.Remove(ctx, x.now, ids); err != nil {
		return err
	}
	for _, sweep := range []func() (driver.SweepResult, error){
		func() (driver.SweepResult, error) { return s.SweepDedupe(ctx, x.now, 1000) },
		func() (driver.SweepResult, error) { return s.SweepFlows(ctx, x.now, 10_000) },
		func() (driver.SweepResult, error) { return s.SweepStats(ctx, x.now, 10_000) },
	} {
		if result, err := sweep(); err != nil || result.More {
			return fmt.Errorf("a sweep left something: %+v, %w", result, err)
		}
	}
	page, err := s.PeekOutbox(ctx, x.now, driver.PeekRequest{Limit: 10_000})
	if err != nil {
		return err
	}
	for _, e := range page {
		if err := s.DeleteOutbox(ctx, []string{e.ID}); err != nil {
			return err
		}
	}
	for _, q := range []string{"q1", "q2", "q3"} {
		if err := s.Resume(ctx, q); err != nil {
			return err
		}
	}
	for _, key := range []string{"s1", "s2"} {
		if _, err := s.RemoveSchedule(ctx, key); err != nil {
			return err
		}
	}
	for range 4 { // each lets a few lapse
		if err := s.BeatWorker(ctx, x.now, driver.WorkerRecord{ID: "last", ExpiresAt: x.now + 1}); err != nil {
			return err
		}
	}
	s.withoutStats = true // so that the next sample only deletes
	if err := s.SampleDepth(ctx, x.now); err != nil {
		return err
	}
	return s.ForgetWorker(ctx, "last")
}

func TestRandomCallsKeepTheInvariantsAndLeaveNothingBehind(t *testing.T) {
	for seed := range uint64(24) {
		opts := []Option{WithHistoryCeiling(driver.HistoryCeiling{Failed: driver.Some(driver.Millis(400))})}
		x := &scatter{t: t, s: New(opts[:seed%2]...), r: rand.New(rand.NewPCG(seed, 1))}
		for step := range 400 {
			if err := x.step(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			if err := x.s.CheckInvariants(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
		}
		if err := x.removeAll(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := x.s.CheckInvariants(); err != nil {
			t.Fatalf("seed %d, all removed: %v", seed, err)
		}
		if got := x.s.holdings(); got != (holdings{}) {
			t.Fatalf("seed %d: the empty store still holds %+v", seed, got)
		}
	}
}

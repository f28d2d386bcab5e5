package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/braidmq/braid/driver"
)

// finishAll enqueues jobs with those requests, and completes them one by one.
func finishAll(t *testing.T, s *Store, now driver.Time, requests ...driver.EnqueueRequest) {
	t.Helper()
	if _, err := s.Enqueue(t.Context(), now, requests); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(t.Context(), now, driver.ClaimRequest{
		Queue: "q", Names: []string{"n"}, Token: "t", Limit: len(requests), LockDuration: 1000,
	})
	if err != nil || len(got.Jobs) != len(requests) {
		t.Fatalf("claimed %d of %d jobs, %v", len(got.Jobs), len(requests), err)
	}
	for _, job := range got.Jobs {
		acks, err := s.Ack(t.Context(), now, []driver.Ack{{ID: job.ID, Token: "t", Kind: driver.AckComplete}})
		if err != nil || acks[0].Err != nil {
			t.Fatalf("ack: %+v, %v", acks, err)
		}
	}
}

func completed(t *testing.T, s *Store) int64 {
	t.Helper()
	counts, err := s.Counts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return counts.Completed
}

func TestACallTrimsAtMostItsBatchPlus100AndTheSweepDoesTheRest(t *testing.T) {
	s := New()
	finishAll(t, s, 0, make500()...)
	last := request("last")
	last.Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(1))}}
	finishAll(t, s, 1, last)
	if got := completed(t, s); got != 501-101 {
		t.Fatalf("%d jobs are left after the trim, want %d", got, 501-101)
	}
	finishAll(t, s, 2, request("later"))
	if got := completed(t, s); got != 401-101 {
		t.Fatalf("%d jobs are left after the next finish, want %d", got, 401-101)
	}
	for page, want := range []int64{300 - 150, 2} {
		result, err := s.SweepHistory(t.Context(), 3, 150)
		if err != nil || result.More != (page < 1) {
			t.Fatalf("sweep %d: %+v, %v", page, result, err)
		}
		if got := completed(t, s); got != want {
			t.Fatalf("%d jobs are left after sweep %d, want %d", got, page, want)
		}
	}
	jobs, err := s.Jobs(t.Context(), []string{"last", "later"})
	if err != nil || jobs[0] == nil || jobs[1] == nil {
		t.Errorf("the newest job of the policy, or one that finished after it, is gone: %v, %v", jobs, err)
	}
	if err := s.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

func make500() []driver.EnqueueRequest {
	requests := make([]driver.EnqueueRequest, 500)
	for i := range requests {
		requests[i] = request(fmt.Sprintf("%03d", i))
	}
	return requests
}

func TestAListAppliesFiltersToABoundedNumberOfJobs(t *testing.T) {
	s := New()
	const jobs = 2*driver.ListLookups + 500
	requests := make([]driver.EnqueueRequest, jobs)
	for i := range requests {
		requests[i] = request("")
	}
	requests[0].Metadata = map[string]string{"k": "v"} // the last one, newest first
	for i := range requests {
		if _, err := s.Enqueue(t.Context(), driver.Time(i), requests[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	req := driver.ListRequest{Metadata: map[string]string{"k": "v"}}
	for page := range 3 {
		got, err := s.List(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if last := page == 2; len(got.Jobs) != map[bool]int{true: 1}[last] || (got.Cursor == "") != last {
			t.Fatalf("page %d: %d jobs, cursor %q", page, len(got.Jobs), got.Cursor)
		}
		req.Cursor = got.Cursor
	}
}

func TestAPageEndsAtItsSizeButALargerItemGoesAlone(t *testing.T) {
	s := New()
	large := make([]byte, driver.ChunkBytes/2+1)
	larger := make([]byte, driver.ChunkBytes+1)
	for i, p := range [][]byte{large, large, larger} {
		r := request(fmt.Sprint(i))
		r.Payload = p
		if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{r}); err != nil {
			t.Fatal(err)
		}
	}
	req := driver.ListRequest{Ascending: true}
	for i := range 3 {
		page, err := s.List(t.Context(), req)
		if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != fmt.Sprint(i) || (page.Cursor == "") != (i == 2) {
			t.Fatalf("page %d: %d jobs, cursor %q, %v", i, len(page.Jobs), page.Cursor, err)
		}
		req.Cursor = page.Cursor
	}
	for i := range 3 {
		got, err := s.Claim(t.Context(), 7, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Token: "t", Limit: 9, LockDuration: 1})
		if err != nil || len(got.Jobs) != 1 || got.Jobs[0].ID != fmt.Sprint(i) {
			t.Fatalf("claim %d: %d jobs, %v", i, len(got.Jobs), err)
		}
		if next, set := got.NextRunAt.Get(); set != (i < 2) || set && next != 7 {
			t.Errorf("claim %d: NextRunAt is %+v", i, got.NextRunAt)
		}
	}
}

func TestTheRowsOfARemovedFlowAreDeletedInPages(t *testing.T) {
	s := New()
	const children = 700
	ctx := t.Context()
	if _, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{request("parent")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(ctx, 0, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Token: "t", Limit: 1, LockDuration: 1}); err != nil {
		t.Fatal(err)
	}
	page := make([]driver.StagedChild, children)
	for i := range page {
		page[i] = driver.StagedChild{ChildKey: fmt.Sprint(i), Request: request(fmt.Sprint("flow/", i))}
	}
	if err := s.StageChildren(ctx, "parent", "t", page); err != nil {
		t.Fatal(err)
	}
	acks, err := s.Ack(ctx, 0, []driver.Ack{{ID: "parent", Token: "t", Kind: driver.AckFanOut, Children: children}})
	if err != nil || acks[0].State != driver.WaitingChildren {
		t.Fatalf("fan-out: %+v, %v", acks, err)
	}
	if _, err := s.Cancel(ctx, 0, []string{"parent"}); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.Remove(ctx, 0, []string{"parent"}); err != nil || !removed[0] {
		t.Fatalf("remove: %v, %v", removed, err)
	}
	work, err := s.FlowSweepWork(ctx, 0, 0, 10)
	if err != nil || len(work.Reconcile)+len(work.Cascade) > 0 {
		t.Fatalf("a removed flow still has work: %+v, %v", work, err)
	}
	for i, want := range []driver.SweepResult{{Deleted: 300, More: true}, {Deleted: 300, More: true}, {Deleted: 100}} {
		if got, err := s.SweepFlows(ctx, 0, 300); err != nil || got != want {
			t.Errorf("sweep %d: %+v, %v; want %+v", i, got, err, want)
		}
	}
}

func TestIDsThatAreTakenEndABatchAfterABound(t *testing.T) {
	draws := 0
	s := New(WithIDGenerator(func() string { draws++; return "same" }))
	got, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{request("a"), request(""), request(""), request("b")})
	var partial *driver.PartialError
	if !errors.As(err, &partial) || partial.Applied != 2 || partial.Unknown != 0 {
		t.Fatalf("enqueue: %v", err)
	}
	if len(got) != 2 || got[1].ID != "same" || draws != 1+maxIDCollisions {
		t.Errorf("%d results, %d draws", len(got), draws)
	}
	if jobs, err := s.Jobs(t.Context(), []string{"b"}); err != nil || jobs[0] != nil {
		t.Errorf("the item behind the failed one was applied: %v, %v", jobs, err)
	}
}

// endsAfter is a context that ends when its error has been asked for so often.
type endsAfter struct {
	context.Context
	calls int
}

func (c *endsAfter) Err() error {
	if c.calls == 0 {
		return context.Canceled
	}
	c.calls--
	return nil
}

func TestABatchThatEndsBetweenChunksTellsHowFarItCame(t *testing.T) {
	s := New()
	ctx := &endsAfter{Context: t.Context(), calls: 2}
	got, err := s.Enqueue(ctx, 0, make500()[:2*driver.ChunkJobs])
	if err != nil || len(got) != 2*driver.ChunkJobs {
		t.Fatalf("two chunks: %d results, %v", len(got), err)
	}
	ctx.calls = 1
	ids := []string{}
	for i := range 2 * driver.ChunkJobs {
		ids = append(ids, fmt.Sprintf("%03d", i))
	}
	results, err := s.Cancel(ctx, 0, ids)
	var partial *driver.PartialError
	if !errors.As(err, &partial) || partial.Applied != driver.ChunkJobs || !errors.Is(err, context.Canceled) || len(results) != driver.ChunkJobs {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if counts, err := s.Counts(t.Context(), ""); err != nil || counts.Cancelled != driver.ChunkJobs || counts.Waiting != driver.ChunkJobs {
		t.Errorf("counts: %+v, %v", counts, err)
	}
}

func TestForgottenWakesAreNotLost(t *testing.T) {
	s := New()
	const queues = 3 * maxWakeVersions
	r := request("")
	for i := range queues {
		r.Queue = fmt.Sprint(i)
		if _, err := s.Enqueue(t.Context(), 0, []driver.EnqueueRequest{r}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.wakes.versions); n > maxWakeVersions {
		t.Errorf("%d wake versions are kept, the bound is %d", n, maxWakeVersions)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, queue := range []string{"0", fmt.Sprint(queues - 1)} {
		if err := s.AwaitWake(t.Context(), []string{queue}, 0); err != nil {
			t.Errorf("queue %s: %v", queue, err)
		}
		if s.wakes.wokenSince(queue, s.wakes.cursor()) {
			t.Errorf("queue %s counts as woken after its last wake", queue)
		}
	}
	if err := s.AwaitWake(ended, []string{"0"}, s.wakes.cursor()); !errors.Is(err, context.Canceled) {
		t.Errorf("without a wake: %v", err)
	}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	s := New()
	ctx := t.Context()
	if _, err := s.Enqueue(ctx, 0, []driver.EnqueueRequest{request("a")}); err != nil {
		t.Fatal(err)
	}
	claim := func(now driver.Time) *driver.Job {
		got, err := s.Claim(ctx, now, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Token: "t", Limit: 1, LockDuration: 10})
		if err != nil || len(got.Jobs) != 1 {
			t.Fatalf("claim: %+v, %v", got, err)
		}
		return got.Jobs[0]
	}
	ack := func(now driver.Time, a driver.Ack) {
		a.ID, a.Token = "a", "t"
		if got, err := s.Ack(ctx, now, []driver.Ack{a}); err != nil || got[0].Err != nil {
			t.Fatalf("ack: %+v, %v", got, err)
		}
	}
	first := claim(1)
	ack(2, driver.Ack{Kind: driver.AckRetry})
	ledger, err := s.Attempts(ctx, "a")
	if err != nil || len(ledger) != 1 {
		t.Fatalf("ledger: %+v, %v", ledger, err)
	}
	_ = append(ledger, driver.Attempt{Worker: "a caller's own"})
	claim(3)
	if err := s.StageChildren(ctx, "a", "t", []driver.StagedChild{{ChildKey: "c", Request: request("flow/c")}}); err != nil {
		t.Fatal(err)
	}
	ack(4, driver.Ack{Kind: driver.AckFanOut, Children: 1})
	parked, err := s.Jobs(ctx, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RecordChildResults(ctx, 5, []driver.ChildReport{{FlowID: "a", ChildKey: "c", Outcome: driver.ChildCompleted}}); err != nil {
		t.Fatal(err)
	}
	if first.State != driver.Active || first.AttemptsMade != 0 || first.Flow != nil || first.LockExpiresAt != driver.Some(driver.Time(11)) {
		t.Errorf("the first claim's record changed: %+v", first)
	}
	if *parked[0].Flow != (driver.Manifest{Pending: 1}) {
		t.Errorf("the parked parent's manifest changed: %+v", *parked[0].Flow)
	}
	now, err := s.Attempts(ctx, "a")
	if err != nil || len(now) != 2 || now[1].Outcome != driver.OutcomeFannedOut || len(ledger) != 1 {
		t.Errorf("ledger: %+v, %v", now, err)
	}
}

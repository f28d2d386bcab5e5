package memstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

func request(id string) driver.EnqueueRequest {
	return driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 3}}
}

func TestRunsJobs(t *testing.T) {
	ctx := t.Context()
	s := New()
	batch := make([]driver.EnqueueRequest, 600)
	for i := range batch {
		batch[i] = request("")
	}
	got, err := s.Enqueue(ctx, 0, batch)
	if err != nil || len(got) != 600 || got[0].ID != "j-1" || got[599].ID != "j-600" {
		t.Fatalf("enqueue: %d results, %v", len(got), err)
	}
	claimed, err := s.Claim(ctx, 1, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Token: "t", Limit: 1000, LockDuration: 10})
	if err != nil || len(claimed.Jobs) != 600 {
		t.Fatalf("claim: %d jobs, %v", len(claimed.Jobs), err)
	}
	acks := make([]driver.Ack, len(claimed.Jobs))
	for i, job := range claimed.Jobs {
		acks[i] = driver.Ack{ID: job.ID, Token: "t", Kind: driver.AckComplete}
	}
	results, err := s.Ack(ctx, 2, acks)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || r.State != driver.Completed {
			t.Fatalf("ack %d: %+v", i, r)
		}
	}
	counts, err := s.Counts(ctx, "q")
	if err != nil || counts != (driver.Counts{Completed: 600}) {
		t.Fatalf("counts: %+v, %v", counts, err)
	}
}

// everyCall calls every method of the store once that can fail.
func everyCall(ctx context.Context, s *Store) map[string]error {
	errs := map[string]error{}

	call := func(name string, f func() error) { errs[name] = f() }
	call("Ping", func() error { return s.Ping(ctx) })
	call("Enqueue", func() error { _, err := s.Enqueue(ctx, 0, nil); return err })
	call("CancelByDedupe", func() error { _, err := s.CancelByDedupe(ctx, 0, "n", "k"); return err })
	call("Claim", func() error { _, err := s.Claim(ctx, 0, driver.ClaimRequest{Queue: "q", Limit: 1}); return err })
	call("Ack", func() error { _, err := s.Ack(ctx, 0, nil); return err })
	call("Heartbeat", func() error { _, err := s.Heartbeat(ctx, 0, nil, 1); return err })
	call("RecoverStalled", func() error { _, err := s.RecoverStalled(ctx, 0, driver.RecoverRequest{Limit: 1}); return err })
	call("Jobs", func() error { _, err := s.Jobs(ctx, nil); return err })
	call("Attempts", func() error { _, err := s.Attempts(ctx, "a"); return err })
	call("List", func() error { _, err := s.List(ctx, driver.ListRequest{}); return err })
	call("Counts", func() error { _, err := s.Counts(ctx, ""); return err })
	call("Queues", func() error { _, err := s.Queues(ctx); return err })
	call("Position", func() error { _, err := s.Position(ctx, "a"); return err })
	call("Cancel", func() error { _, err := s.Cancel(ctx, 0, nil); return err })
	call("Promote", func() error { _, err := s.Promote(ctx, 0, nil); return err })
	call("Retry", func() error { _, err := s.Retry(ctx, 0, nil); return err })
	call("Remove", func() error { _, err := s.Remove(ctx, 0, nil); return err })
	call("Pause", func() error { return s.Pause(ctx, "q") })
	call("Resume", func() error { return s.Resume(ctx, "q") })
	call("PausedQueues", func() error { _, err := s.PausedQueues(ctx); return err })
	call("UpsertSchedule", func() error { _, err := s.UpsertSchedule(ctx, driver.Schedule{Key: "k"}); return err })
	call("Schedule", func() error { _, err := s.Schedule(ctx, "k"); return err })
	call("Schedules", func() error { _, err := s.Schedules(ctx, driver.ScheduleFilter{}); return err })
	call("DueSchedules", func() error { _, err := s.DueSchedules(ctx, 0, driver.Opt[driver.ScheduleCursor]{}, 1); return err })
	call("Tick", func() error { _, err := s.Tick(ctx, 0, driver.TickRequest{Job: request("sched/k/0")}); return err })
	call("Advance", func() error { _, err := s.Advance(ctx, "k", 0, 1); return err })
	call("RemoveSchedule", func() error { _, err := s.RemoveSchedule(ctx, "k"); return err })
	call("StageChildren", func() error { return s.StageChildren(ctx, "a", "t", nil) })
	call("RecordChildResults", func() error { _, err := s.RecordChildResults(ctx, 0, nil); return err })
	call("FlowSweepWork", func() error { _, err := s.FlowSweepWork(ctx, 0, 0, 1); return err })
	call("MarkChildrenCascaded", func() error { return s.MarkChildrenCascaded(ctx, 0, nil) })
	call("Children", func() error { _, err := s.Children(ctx, "a", nil); return err })
	call("ListChildResults", func() error { _, err := s.ListChildResults(ctx, "a", "", 0); return err })
	call("PeekOutbox", func() error { _, err := s.PeekOutbox(ctx, 0, driver.PeekRequest{Limit: 1}); return err })
	call("DeleteOutbox", func() error { return s.DeleteOutbox(ctx, nil) })
	call("OutboxBacklog", func() error { _, err := s.OutboxBacklog(ctx); return err })
	call("SweepHistory", func() error { _, err := s.SweepHistory(ctx, 0, 1); return err })
	call("SweepDedupe", func() error { _, err := s.SweepDedupe(ctx, 0, 1); return err })
	call("SweepFlows", func() error { _, err := s.SweepFlows(ctx, 0, 1); return err })
	call("AwaitWake", func() error { return s.AwaitWake(ctx, []string{"q"}, 0) })
	call("WatchFinished", func() error { _, err := s.WatchFinished(ctx, "a"); return err })
	call("WatchCancels", func() error { return s.WatchCancels(ctx, func(string) {}) })
	return errs
}

func TestEveryCallOfAClosedStoreReturnsErrClosed(t *testing.T) {
	s := New()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	for name, err := range everyCall(t.Context(), s) {
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryCallObeysAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range everyCall(ctx, New()) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEveryCallReturnsTheProblemOfAnOption(t *testing.T) {
	for name, opt := range map[string]Option{
		"negative ttl":  WithHistoryTTL(-time.Nanosecond),
		"empty ceiling": WithHistoryCeiling(driver.HistoryCeiling{}),
		"negative age":  WithHistoryCeiling(driver.HistoryCeiling{Failed: driver.Some(driver.Millis(-1))}),
		"no generator":  WithIDGenerator(nil),
	} {
		s := New(opt, WithHistoryTTL(time.Hour))
		for call, err := range everyCall(t.Context(), s) {
			if !errors.Is(err, driver.ErrInvalid) {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
	}
}

func TestCloseEndsWaits(t *testing.T) {
	s := New()
	ctx := t.Context()
	ends := make(chan error, 2)
	go func() { ends <- s.AwaitWake(ctx, []string{"q"}, 0) }()
	go func() { ends <- s.WatchCancels(ctx, func(string) {}) }()
	watch, err := s.WatchFinished(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-ends; !errors.Is(err, driver.ErrClosed) {
			t.Errorf("a wait ended with %v", err)
		}
	}
	if end, open := <-watch; open {
		t.Errorf("the watch delivered %+v", end)
	}
}

package braid_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// workers returns the workers that are listed.
func (b *bench) workers() []braid.WorkerInfo {
	b.Helper()
	workers, err := b.client.Workers(b.ctx)
	if err != nil {
		b.Fatalf("workers: %v", err)
	}
	return workers
}

// await waits until something holds, or fails.
func (b *bench) await(what string, holds func() bool) {
	b.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			b.Fatalf("timed out waiting for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAWorkerThatRunsIsListed(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[int, int]("double", braid.Queue("maths"))
	worker := b.work(braid.WorkerOptions{ID: "w-1", Version: "v7", Concurrency: 3}, func(w *braid.Worker) {
		job.Handle(w, func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	})
	b.await("the worker to be listed", func() bool { return len(b.workers()) == 1 })
	w := b.workers()[0]
	if w.ID != "w-1" || w.Version != "v7" || !w.Runs("maths", "double") || w.Runs("maths", "other") || w.Runs("default", "double") ||
		w.Queues[0].Slots != 3 || w.Since.IsZero() || w.BeatAt.Before(w.Since) || w.ExpiresAt.Sub(w.BeatAt) != 30*time.Second {
		t.Errorf("listed: %+v", w)
	}
	if err := worker.Stop(b.within(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if left := b.workers(); left == nil || len(left) != 0 {
		t.Errorf("after the stop: %+v", left)
	}
}

func TestAWorkerThatLeasesIsListed(t *testing.T) {
	b := newBench(t)
	leasing := func(queue string, names ...string) {
		if _, err := b.client.Lease(b.ctx, braid.LeaseRequest{Queue: queue, Names: names, Worker: "python", Limit: 4, LockDuration: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	leasing("b", "mail")
	b.await("the worker to be listed", func() bool { return len(b.workers()) == 1 })
	leasing("a", "mail", "fax")
	b.await("its other queue to be listed", func() bool { return len(b.workers()[0].Queues) == 2 })
	w := b.workers()[0]
	if w.ID != "python" || w.Queues[0].Name != "a" || w.Queues[1].Slots != 4 || !slices.Equal(w.Names, []string{"fax", "mail"}) ||
		w.ExpiresAt.Sub(w.BeatAt) != 30*time.Second {
		t.Errorf("listed: %+v", w)
	}
	at := w.BeatAt
	leasing("a", "mail")
	if again := b.workers()[0]; !again.BeatAt.Equal(at) {
		t.Errorf("it was told again at %v, and nothing has changed since %v", again.BeatAt, at)
	}
}

func TestAWorkerThatLeasesIsListedAsLongAsItHoldsJobs(t *testing.T) {
	b := newBench(t)
	claim := braid.LeaseRequest{Queue: "q", Names: []string{"mail"}, Worker: "python", Limit: 2, LockDuration: 24 * time.Hour}
	listed := func(what string, holds func(braid.WorkerInfo) bool) {
		t.Helper()
		b.await(what, func() bool { w := b.workers(); return len(w) == 1 && holds(w[0]) })
	}
	lives := func(w braid.WorkerInfo) time.Duration { return w.ExpiresAt.Sub(w.BeatAt) }
	if jobs, err := b.client.Lease(b.ctx, claim); err != nil || len(jobs) != 0 {
		t.Fatalf("leased %+v, %v", jobs, err)
	}
	listed("a worker without jobs to be listed for half a minute", func(w braid.WorkerInfo) bool {
		return lives(w) == 30*time.Second && w.Queues[0].InFlight == 0
	})
	for range 3 {
		b.enqueueNamed("mail", braid.Queue("q"))
	}
	claim.Worker = "ruby"
	jobs := append(b.lease(claim), b.lease(claim)...)
	// Its third job came within a second, so that it is told with what comes next.
	inFlight := func(n int) func() bool {
		return func() bool {
			if _, err := b.client.ExtendLeases(b.ctx, []braid.Lock{{ID: jobs[0].ID, Token: jobs[0].Token}}, time.Minute); err != nil {
				t.Fatal(err)
			}
			w := b.workers()
			return len(w) == 2 && w[1].Queues[0].InFlight == n && w[1].Queues[0].Slots == max(2, n) && lives(w[1]) > time.Hour
		}
	}
	b.await("its jobs to be counted, and their locks to keep it listed", inFlight(3))
	b.settle(jobs[1], braid.Settlement{Kind: braid.SettleCompleted})
	b.await("one job fewer", inFlight(2))
	b.settle(jobs[2], braid.Settlement{Kind: braid.SettleFailed, Message: "no luck"})
	b.await("its long lock to be gone", func() bool { w := b.workers(); return len(w) == 2 && lives(w[1]) <= time.Minute })
}

func TestAllPagesOfWorkersAreListed(t *testing.T) {
	b := newBench(t)
	for i := range 250 {
		b.present("w"+string(rune('a'+i%26))+string(rune('a'+i/26)), "q", "n")
	}
	if got := len(b.workers()); got != 250 {
		t.Errorf("%d workers are listed, want 250", got)
	}
}

// runs acks so many runs of a queue at a time, half of which fail.
func (b *bench) runs(at time.Time, queue string, n int) {
	b.Helper()
	now := driver.TimeOf(at)
	batch := make([]driver.EnqueueRequest, n)
	for i := range batch {
		batch[i] = driver.EnqueueRequest{Spec: driver.Spec{Name: "n", Queue: queue, AttemptsMax: 1}}
	}
	if _, err := b.store.Enqueue(b.ctx, now-300, batch); err != nil {
		b.Fatal(err)
	}
	claimed, err := b.store.Claim(b.ctx, now-200, driver.ClaimRequest{Queue: queue, Names: []string{"n"}, Worker: "w", Token: at.String() + queue, Limit: n, LockDuration: 1000})
	if err != nil || len(claimed.Jobs) != n {
		b.Fatalf("claimed %d, %v", len(claimed.Jobs), err)
	}
	acks := make([]driver.Ack, n)
	for i, job := range claimed.Jobs {
		acks[i] = driver.Ack{ID: job.ID, Token: at.String() + queue, Kind: driver.AckComplete}
		if i%2 == 1 {
			acks[i].Kind = driver.AckFail
		}
	}
	if _, err := b.store.Ack(b.ctx, now, acks); err != nil {
		b.Fatal(err)
	}
}

func TestStatsSumUpRuns(t *testing.T) {
	b := newBench(t)
	now := time.Now().UTC()
	noon := now.Truncate(10 * time.Minute).Add(-20 * time.Minute)
	b.runs(noon.Add(30*time.Second), "a", 4)
	b.runs(noon.Add(30*time.Second), "b", 2)
	b.runs(noon.Add(3*time.Minute), "a", 2)
	b.runs(noon.Add(7*time.Minute), "a", 2)
	stats := func(filter braid.StatsFilter) []braid.Stat {
		t.Helper()
		found, err := b.client.Stats(b.ctx, filter)
		if err != nil || found == nil {
			t.Fatalf("stats: %v, %v", found, err)
		}
		return found
	}
	stat := func(at time.Time, queue string, outcome braid.Outcome, n int64) braid.Stat {
		return braid.Stat{Time: at, Queue: queue, Outcome: outcome, Count: n,
			RunTime: time.Duration(n) * 200 * time.Millisecond, WaitTime: time.Duration(n) * 100 * time.Millisecond}
	}
	if got, want := stats(braid.StatsFilter{To: noon.Add(5 * time.Minute)}), []braid.Stat{
		stat(noon, "", braid.OutcomeCompleted, 3), stat(noon, "", braid.OutcomeFailed, 3),
		stat(noon.Add(3*time.Minute), "", braid.OutcomeCompleted, 1), stat(noon.Add(3*time.Minute), "", braid.OutcomeFailed, 1),
	}; !slices.Equal(got, want) {
		t.Errorf("by minute: %+v, want %+v", got, want)
	}
	if got, want := stats(braid.StatsFilter{Step: 5 * time.Minute, ByQueue: true, Queues: []string{"a"}}), []braid.Stat{
		stat(noon, "a", braid.OutcomeCompleted, 3), stat(noon, "a", braid.OutcomeFailed, 3),
		stat(noon.Add(5*time.Minute), "a", braid.OutcomeCompleted, 1), stat(noon.Add(5*time.Minute), "a", braid.OutcomeFailed, 1),
	}; !slices.Equal(got, want) {
		t.Errorf("by five minutes, of one queue: %+v, want %+v", got, want)
	}
	if got := stats(braid.StatsFilter{From: noon.Add(4 * time.Minute), To: noon.Add(7 * time.Minute)}); len(got) != 0 {
		t.Errorf("of minutes without runs: %+v", got)
	}
	for name, filter := range map[string]braid.StatsFilter{
		"step":   {Step: 90 * time.Second},
		"from":   {From: now, To: noon},
		"queues": {Queues: []string{""}},
	} {
		var invalid *braid.InvalidError
		if _, err := b.client.Stats(b.ctx, filter); !errors.As(err, &invalid) || invalid.Field != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := b.client.Stats(b.ctx, braid.StatsFilter{From: now.Add(-48 * time.Hour)}); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("of two days: %v", err)
	}
}

func TestDepthsAreThoseOfTheStore(t *testing.T) {
	b := newBench(t)
	b.enqueueNamed("later", braid.In(time.Hour))
	at := time.Now().UTC()
	if err := b.store.SampleDepth(b.ctx, driver.TimeOf(at)); err != nil {
		t.Fatal(err)
	}
	depths, err := b.client.Depths(b.ctx, at.Add(-time.Minute), at.Add(time.Minute))
	if err != nil || len(depths) != 1 || depths[0] != (braid.Depth{Time: at.Truncate(time.Minute), Counts: braid.Counts{Delayed: 1}}) {
		t.Errorf("depths: %+v, %v", depths, err)
	}
}

package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/braidmq/braid/driver"
)

// Runs that end, stall and are operated on at once.

func acksOfOneRun(t *T) {
	r := t.start(0, request("j"))
	var accepted atomic.Int64
	t.together(20, func(ctx context.Context, i int) error {
		a := r.ack([]driver.AckKind{driver.AckComplete, driver.AckFail, driver.AckRelease, driver.AckRetry}[i%4])
		results, err := t.Store.Ack(ctx, 0, []driver.Ack{a})
		if err != nil {
			return err
		}
		switch err := results[0].Err; {
		case err == nil:
			accepted.Add(1)
		case !errors.Is(err, driver.ErrLockLost):
			return err
		}
		return nil
	})
	t.equal("the accepted acks", accepted.Load(), int64(1))
}

// startMany enqueues n jobs and claims them under one token.
func (t *T) startMany(n int, edits ...edit) []run {
	t.Helper()
	batch := jobsNamed("j", n)
	for i := range batch {
		for _, e := range edits {
			e(&batch[i])
		}
	}
	t.insert(0, batch...)
	runs := t.claim(0, n)
	for len(runs) < n {
		more := t.claim(0, n-len(runs))
		if len(more) == 0 {
			t.Fatalf("claims found %d of %d jobs", len(runs), n)
		}
		runs = append(runs, more...)
	}
	return runs
}

func recoverWhileAcking(t *T) {
	const jobs, recoverers, ackers = 200, 4, 8
	runs := t.startMany(jobs)
	late := driver.Time(lockFor)
	var ended tally
	t.together(recoverers+ackers, func(ctx context.Context, i int) error {
		if i < recoverers {
			for {
				result, err := t.Store.RecoverStalled(ctx, late, driver.RecoverRequest{MaxStalled: 5, Limit: 10})
				if err != nil {
					return err
				}
				for _, j := range result.Jobs {
					ended.add(j.ID)
				}
				if !result.More {
					return nil
				}
			}
		}
		for k := i - recoverers; k < jobs; k += ackers {
			results, err := t.Store.Ack(ctx, late, []driver.Ack{runs[k].ack(driver.AckComplete)})
			if err != nil {
				return err
			}
			switch err := results[0].Err; {
			case err == nil:
				ended.add(runs[k].ID)
			case !errors.Is(err, driver.ErrLockLost):
				return err
			}
		}
		return nil
	})
	t.once("acked or recovered", &ended, jobs)
	c := t.counts("")
	t.equal("completed and waiting jobs", c.Completed+c.Waiting, int64(jobs))
}

func recoverWhileHeartbeating(t *T) {
	const jobs = 100
	runs := t.startMany(jobs)
	late := driver.Time(lockFor)
	var ended tally
	const recoverers, each = 4, 10
	t.together(recoverers+jobs/each, func(ctx context.Context, i int) error {
		if i < recoverers {
			result, err := t.Store.RecoverStalled(ctx, late, driver.RecoverRequest{MaxStalled: 5, Limit: jobs})
			for _, j := range result.Jobs {
				ended.add(j.ID)
			}
			return err
		}
		locks := make([]driver.Lock, each)
		lost := make(map[string]bool)
		for k := range locks {
			locks[k] = runs[(i-recoverers)*each+k].lock()
		}
		result, err := t.Store.Heartbeat(ctx, late, locks, lockFor)
		for _, id := range result.Lost {
			lost[id] = true
		}
		for _, l := range locks {
			if !lost[l.ID] && err == nil {
				ended.add(l.ID)
			}
		}
		return err
	})
	t.once("extended or recovered", &ended, jobs)
	for _, r := range runs {
		j := t.job(r.ID)
		stillHeld := j.State == driver.Active && j.LockExpiresAt == driver.Some(late.Add(lockFor))
		if !stillHeld && j.State != driver.Waiting {
			t.Errorf("job %q is %v until %v; want it extended or waiting", j.ID, j.State, j.LockExpiresAt)
		}
	}
}

func cancelWhileCompleting(t *T) {
	const jobs = 60
	runs := t.startMany(jobs, func(r *driver.EnqueueRequest) { child(*fosterChild(r.ID).Parent)(r) })
	t.together(40, func(ctx context.Context, i int) error {
		for k := i % 20; k < jobs; k += 20 {
			if i < 20 {
				if _, err := t.Store.Cancel(ctx, 0, []string{runs[k].ID}); err != nil {
					return err
				}
				continue
			}
			kind := []driver.AckKind{driver.AckComplete, driver.AckCancelled, driver.AckRetry}[k%3]
			if _, err := t.Store.Ack(ctx, 0, []driver.Ack{runs[k].ack(kind)}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, r := range runs {
		t.cancelIfOpen(r.ID)
	}
	var reported tally
	for _, e := range t.outbox() {
		reported.add(e.Report.ChildJobID)
	}
	t.once("in the outbox", &reported, jobs)
	for i, r := range runs {
		j, ledger := t.job(r.ID), t.attempts(r.ID)
		if !j.State.Terminal() || j.CancelRequested {
			t.Errorf("job %q is %v, cancel requested: %v; want it ended", j.ID, j.State, j.CancelRequested)
		}
		ends := 0
		for _, a := range ledger {
			if a.Outcome == driver.OutcomeCompleted || a.Outcome == driver.OutcomeCancelled {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("job %d has the ledger %+v; want one entry of its end", i, ledger)
		}
	}
}

// cancelIfOpen cancels a job that a retry has sent back.
func (t *T) cancelIfOpen(id string) {
	t.Helper()
	if !t.job(id).State.Terminal() {
		t.cancel(0, id)
	}
}

func retriesOfOneJob(t *T) {
	t.finished(0, request("j", dedupe("k")), driver.Failed)
	var succeeded atomic.Int64
	t.together(30, func(ctx context.Context, i int) error {
		results, err := t.Store.Retry(ctx, 0, []string{"j"})
		if err != nil {
			return err
		}
		switch err := results[0].Err; {
		case err == nil:
			succeeded.Add(1)
		case !errors.Is(err, driver.ErrNotRetryable):
			return err
		}
		return nil
	})
	t.equal("the retries that succeeded", succeeded.Load(), int64(1))
	t.equal("Counts", t.counts(""), driver.Counts{Waiting: 1})
	t.duplicate(0, request("", dedupe("k")), "j")
}

func keepWhileFinishing(t *T) {
	const jobs, kept = 200, 10
	runs := t.startMany(jobs, keepNewest(kept))
	t.together(10, func(ctx context.Context, i int) error {
		for k := i * 20; k < i*20+20; k += 4 {
			acks := make([]driver.Ack, 4)
			for n := range acks {
				acks[n] = runs[k+n].ack(driver.AckComplete)
			}
			if _, err := t.Store.Ack(ctx, 0, acks); err != nil {
				return err
			}
		}
		return nil
	})
	if n := t.counts("").Completed; n < kept {
		t.Errorf("%d jobs are left; want the newest %d at least", n, kept)
	}
	for range 100 {
		result, err := t.Store.SweepHistory(t.ctx, 0, 100)
		t.must("SweepHistory", err)
		if !result.More {
			break
		}
	}
	t.equal("Counts", t.counts(""), driver.Counts{Completed: kept})
}

func countsAfterChurn(t *T) {
	const callers, rounds = 16, 12
	t.together(callers, func(ctx context.Context, i int) error {
		s := t.Store
		for n := range rounds {
			queue := fmt.Sprintf("q%d", n%2)
			ids := []string{fmt.Sprintf("job-%d", n%6), fmt.Sprintf("job-%d", (n+i)%6)}
			batch := []driver.EnqueueRequest{request(ids[0], inQueue(queue), keepNewest(3)), request(ids[1], inQueue(queue), after(10))}
			if _, err := s.Enqueue(ctx, driver.Time(n), batch); err != nil {
				return err
			}
			token := fmt.Sprintf("w%d-%d", i, n)
			claimed, err := s.Claim(ctx, driver.Time(n), driver.ClaimRequest{
				Queue: queue, Names: []string{someName}, Token: token, Limit: 2, LockDuration: 5, Worker: "w",
			})
			if err != nil {
				return err
			}
			for k, j := range claimed.Jobs {
				kind := driver.AckKind((i+n+k)%int(driver.AckRelease)) + driver.AckComplete
				if _, err := s.Ack(ctx, driver.Time(n), []driver.Ack{{ID: j.ID, Token: token, Kind: kind, Delay: driver.Millis(n % 3)}}); err != nil {
					return err
				}
			}
			ops := []operation{s.Cancel, s.Promote, s.Retry}
			if _, err := ops[(i+n)%3](ctx, driver.Time(n), ids); err != nil {
				return err
			}
			if _, err := s.RecoverStalled(ctx, driver.Time(n), driver.RecoverRequest{MaxStalled: 1, Limit: 5}); err != nil {
				return err
			}
			if n%4 == 3 {
				if _, err := s.Remove(ctx, driver.Time(n), ids); err != nil {
					return err
				}
			}
		}
		return nil
	})
	sum := driver.Counts{}
	for _, queue := range []string{"q0", "q1"} {
		got := t.counts(queue)
		for _, state := range driver.States {
			listed := int64(0)
			for _, job := range t.jobs(t.listAll(driver.ListRequest{States: []driver.State{state}})...) {
				if job.Queue == queue {
					listed++
				}
			}
			if *got.Of(state) != listed {
				t.Errorf("queue %s counts %d %v jobs; a list finds %d", queue, *got.Of(state), state, listed)
			}
			*sum.Of(state) += listed
		}
	}
	t.equal("Counts of all", t.counts(""), sum)
}

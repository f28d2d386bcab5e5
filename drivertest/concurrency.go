package drivertest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid/driver"
)

// Many callers at once: nothing happens twice, nothing is lost.

func init() {
	register("Concurrency/ClaimsGiveEachJobOnce",
		"Any number of workers may claim at once: each job is given out once, and none is left behind.",
		claimsGiveOnce)
	register("Concurrency/ProduceClaimAck",
		"Producers and workers at work at once: every job runs once and is finished once.",
		produceClaimAck)
	register("Concurrency/OneIDManyCallers",
		"50 callers at once with one id: one job, 50 answers.",
		oneIDManyCallers)
	register("Concurrency/OneDedupKeyManyCallers",
		"50 callers at once with one dedup key: one job, 50 answers.",
		oneKeyManyCallers)
	register("Concurrency/BatchesThatOverlap",
		"Batches that name the same ids in different orders neither fail each other nor insert twice.",
		batchesThatOverlap)
	register("Concurrency/AcksOfOneRun",
		"Any number of acks of one run: one is accepted, the others have lost the lock.",
		acksOfOneRun)
	register("Concurrency/RecoverWhileAcking",
		"A lock that has run out is either acked or recovered, never both; each stall is reported once.",
		recoverWhileAcking)
	register("Concurrency/RecoverWhileHeartbeating",
		"A lock that has run out is either extended or recovered, never both; a lost one is reported.",
		recoverWhileHeartbeating)
	register("Concurrency/CancelWhileCompleting",
		"A job that is cancelled while its run ends has one terminal state, one ledger entry, and one outbox entry.",
		cancelWhileCompleting)
	register("Concurrency/RetriesOfOneJob",
		"Any number of operators retry one failed job: one succeeds.",
		retriesOfOneJob)
	register("Concurrency/KeepNeverTrimsTooMuch",
		"Keep: never fewer than the newest count; a surplus between concurrent finishes goes with the sweep.",
		keepWhileFinishing)
	register("Concurrency/CountsAfterChurn",
		"Counts are exact, whatever happened at once.",
		countsAfterChurn)
}

// together calls f for 0 to n−1, all at once, and fails the case on their errors.
func (t *T) together(n int, f func(ctx context.Context, i int) error) {
	t.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			<-start
			errs[i] = f(t.ctx, i)
		})
	}
	close(start)
	callers.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("caller %d of %d: %v", i, n, err)
		}
	}
}

// tally counts events by name, from many goroutines.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[name]++
}

// once fails unless every name was counted exactly once, and there were want names.
func (t *T) once(what string, c *tally, want int) {
	t.Helper()
	for name, n := range c.n {
		if n != 1 {
			t.Errorf("%s: %q %d times; want once", what, name, n)
		}
	}
	if len(c.n) != want {
		t.Errorf("%s: %d different ones; want %d", what, len(c.n), want)
	}
}

// jobsNamed returns n plain requests with the ids prefix-0, prefix-1, ….
func jobsNamed(prefix string, n int, edits ...edit) []driver.EnqueueRequest {
	batch := make([]driver.EnqueueRequest, n)
	for i := range batch {
		batch[i] = request(fmt.Sprintf("%s-%d", prefix, i), edits...)
	}
	return batch
}

// drain claims until nothing is left to claim at now, and calls each for what it
// got.
func drain(ctx context.Context, s driver.Store, now driver.Time, worker, limit int, each func(jobs []*driver.Job, token string) error) error {
	for n := 0; ; n++ {
		token := fmt.Sprintf("w%d-%d", worker, n)
		result, err := s.Claim(ctx, now, driver.ClaimRequest{
			Queue: someQueue, Names: []string{someName}, Worker: fmt.Sprintf("worker-%d", worker),
			Token: token, Limit: limit, LockDuration: lockFor,
		})
		if err != nil {
			return err
		}
		if len(result.Jobs) == 0 {
			if result.NextRunAt.Set && result.NextRunAt.Value <= now {
				continue
			}
			return nil
		}
		if err := each(result.Jobs, token); err != nil {
			return err
		}
	}
}

func claimsGiveOnce(t *T) {
	const jobs = 600
	t.insert(0, jobsNamed("j", jobs)...)
	var claimed tally
	t.together(20, func(ctx context.Context, i int) error {
		return drain(ctx, t.Store, 0, i, 7, func(jobs []*driver.Job, _ string) error {
			for _, j := range jobs {
				claimed.add(j.ID)
			}
			return nil
		})
	})
	t.once("claimed", &claimed, jobs)
	t.equal("Counts", t.counts(someQueue), driver.Counts{Active: jobs})
}

func produceClaimAck(t *T) {
	const producers, workers, batches, size = 8, 8, 10, 10
	const jobs = producers * batches * size
	var completed tally
	var producing, finished atomic.Int64
	producing.Store(producers)
	t.together(producers+workers, func(ctx context.Context, i int) error {
		if i < producers {
			defer producing.Add(-1)
			for b := range batches {
				if _, err := t.Store.Enqueue(ctx, 0, jobsNamed(fmt.Sprintf("p%d-%d", i, b), size)); err != nil {
					return err
				}
			}
			return nil
		}
		for round := 0; ; round++ {
			last := producing.Load() == 0
			err := drain(ctx, t.Store, 0, i+round*100, 5, func(jobs []*driver.Job, token string) error {
				acks := make([]driver.Ack, len(jobs))
				for k, j := range jobs {
					acks[k] = driver.Ack{ID: j.ID, Token: token, Kind: driver.AckComplete, Exit: []byte("1")}
				}
				results, err := t.Store.Ack(ctx, 0, acks)
				for k, r := range results {
					if r.Err != nil {
						return fmt.Errorf("ack of %q: %w", jobs[k].ID, r.Err)
					}
					completed.add(jobs[k].ID)
					finished.Add(1)
				}
				return err
			})
			if err != nil || last {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond): // an idle worker's poll
			}
		}
	})
	t.once("completed", &completed, jobs)
	t.equal("Counts", t.counts(someQueue), driver.Counts{Completed: jobs})
	t.equal("the ledger of one", len(t.attempts("p0-0-0")), 1)
}

func oneIDManyCallers(t *T) {
	var inserted atomic.Int64
	t.together(50, func(ctx context.Context, i int) error {
		results, err := t.Store.Enqueue(ctx, 0, []driver.EnqueueRequest{request("one", priority(int32(i)))})
		if err != nil {
			return err
		}
		if results[0].ID != "one" {
			return fmt.Errorf("answered the id %q", results[0].ID)
		}
		if !results[0].Duplicate {
			inserted.Add(1)
		}
		return nil
	})
	t.equal("the callers that inserted", inserted.Load(), int64(1))
	t.equal("Counts", t.counts(""), driver.Counts{Waiting: 1})
}

func oneKeyManyCallers(t *T) {
	for _, kind := range []struct {
		name string
		edit edit
	}{{"without-ttl", dedupe("k1")}, {"window", window("k2", 1000)}} {
		var inserted, answers tally
		t.together(50, func(ctx context.Context, i int) error {
			id := ""
			if i%2 == 1 {
				id = fmt.Sprintf("%s-%d", kind.name, i)
			}
			results, err := t.Store.Enqueue(ctx, 0, []driver.EnqueueRequest{request(id, kind.edit)})
			if err != nil {
				return err
			}
			answers.add(results[0].ID)
			if !results[0].Duplicate {
				inserted.add(results[0].ID)
			}
			return nil
		})
		t.once("inserted "+kind.name, &inserted, 1)
		for id := range inserted.n {
			t.equal("the answers with the inserted job's id, "+kind.name, answers.n[id], 50)
		}
	}
	t.equal("Counts", t.counts(""), driver.Counts{Waiting: 2})
}

func batchesThatOverlap(t *T) {
	const ids, keys = 30, 5
	var inserted tally
	t.together(20, func(ctx context.Context, i int) error {
		batch := make([]driver.EnqueueRequest, ids+keys)
		for k := range ids {
			batch[k] = request(fmt.Sprintf("id-%d", (k*7+i*11)%ids))
		}
		for k := range keys {
			batch[ids+k] = request("", dedupe(fmt.Sprintf("key-%d", (k+i)%keys)))
		}
		results, err := t.Store.Enqueue(ctx, 0, batch)
		if err != nil {
			return err
		}
		for k, r := range results {
			if k < ids && r.ID != batch[k].ID {
				return fmt.Errorf("the request with id %q was answered %q", batch[k].ID, r.ID)
			}
			if !r.Duplicate {
				inserted.add(r.ID)
			}
		}
		return nil
	})
	t.once("inserted", &inserted, ids+keys)
	t.equal("Counts", t.counts(""), driver.Counts{Waiting: ids + keys})

	var cancelled tally
	t.together(20, func(ctx context.Context, i int) error {
		batch := make([]string, ids)
		for k := range batch {
			batch[k] = fmt.Sprintf("id-%d", (k*13+i*7)%ids)
		}
		results, err := t.Store.Cancel(ctx, 0, batch)
		for k, r := range results {
			if r.Err == nil {
				cancelled.add(batch[k])
			}
		}
		return err
	})
	t.once("cancelled", &cancelled, ids)
}

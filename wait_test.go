package braid_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// silentStore is a store without optional powers: it pushes nothing.
type silentStore struct{ driver.Store }

func TestWaitTellsHowAJobEnded(t *testing.T) {
	for name, store := range map[string]driver.Store{"pushed": memstore.New(), "polled": silentStore{memstore.New()}} {
		t.Run(name, func(t *testing.T) {
			b := newBenchOn(t, store)
			job := braid.NewJob[string, string]("job", braid.Attempts(1))
			hold := make(chan struct{})
			b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
				job.Handle(w, func(ctx context.Context, do string) (string, error) {
					switch do {
					case "fail":
						return "", errors.New("it failed")
					case "hang":
						<-ctx.Done()
						return "", ctx.Err()
					case "hold":
						<-hold
					}
					return do, nil
				})
			})
			enqueue := func(do string, opts ...braid.EnqueueOption) *braid.Handle[string] {
				handle, err := job.Enqueue(b.ctx, b.client, do, opts...)
				if err != nil {
					t.Fatal(err)
				}
				return handle
			}
			ctx := b.within(20 * time.Second)

			if result, err := enqueue("ok").Wait(ctx); result != "ok" || err != nil {
				t.Errorf("completed: %q, %v", result, err)
			}
			var failed *braid.JobError
			if _, err := enqueue("fail").Wait(ctx); !errors.As(err, &failed) || failed.Message != "it failed" || failed.Attempts != 1 {
				t.Errorf("failed: %v", err)
			}
			delayed := enqueue("ok", braid.In(time.Hour))
			if err := delayed.Cancel(b.ctx); err != nil {
				t.Error(err)
			}
			if _, err := delayed.Wait(ctx); !errors.Is(err, braid.ErrCancelled) {
				t.Errorf("cancelled: %v", err)
			}

			// Ends that come while somebody waits.
			ended := func(handle *braid.Handle[string]) <-chan error {
				end := make(chan error, 1)
				go func() {
					_, err := handle.Wait(ctx)
					end <- err
				}()
				return end
			}
			removed := enqueue("ok", braid.In(time.Hour))
			wait := ended(removed)
			time.Sleep(20 * time.Millisecond) // either order must do; this makes the waiter likely first
			if ok, err := removed.Remove(b.ctx); !ok || err != nil {
				t.Errorf("remove: %v, %v", ok, err)
			}
			if err := receive(b, wait, "the removal"); !errors.Is(err, braid.ErrRemoved) && !errors.Is(err, braid.ErrResultNotKept) {
				t.Errorf("removed: %v", err)
			}
			hung := enqueue("hang")
			wait = ended(hung)
			if err := hung.Cancel(b.ctx); err != nil {
				t.Error(err)
			}
			if err := receive(b, wait, "the cancel"); !errors.Is(err, braid.ErrCancelled) {
				t.Errorf("cancelled while running: %v", err)
			}
			held := enqueue("hold")
			waits := make([]<-chan error, 20)
			for i := range waits {
				waits[i] = ended(held)
			}
			close(hold)
			for _, wait := range waits {
				if err := receive(b, wait, "the result"); err != nil {
					t.Errorf("one of many waiters: %v", err)
				}
			}

			if _, err := job.ByID(b.client, "never-was").Wait(ctx); !errors.Is(err, braid.ErrNotFound) {
				t.Errorf("unknown: %v", err)
			}
			short, cancel := context.WithTimeout(b.ctx, 20*time.Millisecond)
			defer cancel()
			if _, err := enqueue("ok", braid.In(time.Hour)).Wait(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("out of patience: %v", err)
			}
		})
	}
}

func TestDoGetsTheResultOfAJobThatIsNotKept(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[int, int]("job", braid.Keep(braid.KeepLast(0)), braid.Attempts(1))
	b.work(braid.WorkerOptions{Concurrency: 10}, func(w *braid.Worker) {
		job.Handle(w, func(_ context.Context, n int) (int, error) {
			if n < 0 {
				return 0, errors.New("negative")
			}
			return n + 1, nil
		})
	})
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			if n, err := job.Do(b.within(20*time.Second), b.client, i); n != i+1 || err != nil {
				t.Errorf("Do(%d): %d, %v", i, n, err)
			}
		})
	}
	calls.Wait()
	var failed *braid.JobError
	if _, err := job.Do(b.within(10*time.Second), b.client, -1); !errors.As(err, &failed) || failed.Attempts != 1 {
		t.Errorf("failed and not kept: %v", err)
	}
	if counts, err := b.client.Counts(b.ctx, ""); err != nil || counts.Total() != 0 {
		t.Errorf("%+v are left (%v)", counts, err)
	}
}

func TestAPollerLearnsThatAResultWasNotKept(t *testing.T) {
	b := newBenchOn(t, silentStore{memstore.New()})
	job := braid.NewJob[int, int]("job", braid.Keep(braid.KeepLast(0)))
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(_ context.Context, n int) (int, error) { return n, nil })
	})
	if _, err := job.Do(b.within(10*time.Second), b.client, 1); !errors.Is(err, braid.ErrResultNotKept) {
		t.Errorf("%v, want ErrResultNotKept", err)
	}
}

func TestDoFollowsTheOwnerOfItsDedupKey(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job").
		DedupeBy(func(string) string { return "key" }, braid.Window(time.Hour))
	first, err := job.Enqueue(b.ctx, b.client, "first")
	if err != nil {
		t.Fatal(err)
	}
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(_ context.Context, s string) (string, error) { return s, nil })
	})
	if result, err := job.Do(b.within(10*time.Second), b.client, "second"); result != "first" || err != nil {
		t.Errorf("result is %q (%v), want that of the key's owner, %q", result, err, first.ID)
	}
}

func TestClosingTheClientEndsWaits(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	handle, err := job.Enqueue(b.ctx, b.client, "x")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := handle.Wait(b.ctx)
		ended <- err
	}()
	b.client.Close()
	if err := receive(b, ended, "the wait's end"); !errors.Is(err, braid.ErrClientClosed) {
		t.Errorf("%v, want ErrClientClosed", err)
	}
}

package braidtest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/braidtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	work   = braid.NewJob[int, int]("work", braid.Attempts(3), braid.Backoff(braid.Fixed(time.Hour)))
	parent = braid.NewFlow("parent", braid.NewJob[int, int]("gather"), braid.Children(work))
)

// handle registers a handler for work.
func handle(run func(ctx context.Context, n int) (int, error)) func(*braid.Worker) {
	return func(w *braid.Worker) { work.Handle(w, run) }
}

// enqueue enqueues work.
func enqueue(t *braidtest.T, n int, options ...braid.EnqueueOption) *braid.Handle[int] {
	t.Helper()
	h, err := work.Enqueue(t.Context(), t.Client, n, options...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func state(t *braidtest.T, h *braid.Handle[int]) braid.State {
	t.Helper()
	job, err := h.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return job.State
}

func TestADelayedJobRunsWhenItsTimeComesAndNotBefore(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		var ran time.Time
		t.Work(handle(func(context.Context, int) (int, error) { ran = time.Now(); return 0, nil }))
		due := time.Now().Add(90 * time.Minute)
		enqueue(t, 1, braid.In(90*time.Minute))
		t.Settle()
		t.Advance(90*time.Minute - time.Millisecond)
		if !ran.IsZero() {
			t.Fatalf("it ran %v early", due.Sub(ran))
		}
		t.Advance(time.Millisecond)
		if late := ran.Sub(due); late < 0 || late > 50*time.Millisecond {
			t.Errorf("it ran %v late", late)
		}
	})
}

func TestTheClockMovesByWhatAdvanceIsTold(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		began := time.Now()
		for range 24 {
			t.Advance(time.Hour)
		}
		if took := time.Since(began); took != 24*time.Hour {
			t.Errorf("24 hours took %v", took)
		}
		t.Work(handle(func(context.Context, int) (int, error) { time.Sleep(20 * time.Second); return 0, nil }))
		enqueue(t, 1)
		began = time.Now()
		t.Settle()
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("to settle a run of 20 s took %v", took)
		}
	})
}

func TestARetryComesAfterItsBackoffUntilNoAttemptIsLeft(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		var at []time.Duration
		began := time.Now()
		t.Work(handle(func(ctx context.Context, _ int) (int, error) {
			at = append(at, time.Since(began).Round(time.Second))
			if got := braid.Current(ctx).Attempt; got != len(at) {
				t.Errorf("attempt %d is numbered %d", len(at), got)
			}
			return 0, errors.New("no luck")
		}))
		_, err := braidtest.Do(t, work, 1)
		var failed *braid.JobError
		if !errors.As(err, &failed) || failed.Attempts != 3 || failed.Message != "no luck" {
			t.Errorf("the error is %v", err)
		}
		if len(at) != 3 || at[0] != 0 || at[1] != time.Hour || at[2] != 2*time.Hour {
			t.Errorf("it ran at %v", at)
		}
	})
}

func TestASettleLeavesARetryForLater(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		var runs atomic.Int32
		t.Work(handle(func(context.Context, int) (int, error) { runs.Add(1); return 0, errors.New("no luck") }))
		h := enqueue(t, 1)
		t.Settle()
		if got := state(t, h); got != braid.Delayed || runs.Load() != 1 {
			t.Errorf("after a run it is %v; it ran %d times", got, runs.Load())
		}
	})
}

func TestAScheduleFiresAtEachSlot(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		var runs atomic.Int32
		t.Work(handle(func(context.Context, int) (int, error) { runs.Add(1); return 0, nil }))
		if err := work.Schedule(t.Context(), t.Client, "often", braid.Every(10*time.Minute), 1); err != nil {
			t.Fatal(err)
		}
		t.Advance(time.Hour)
		fired := braidtest.Enqueued(t, work)
		if len(fired) != 6 || runs.Load() != 6 {
			t.Fatalf("in an hour it fired %d times, and ran %d times", len(fired), runs.Load())
		}
		for _, job := range fired {
			slot, err := time.Parse(time.RFC3339, job.Metadata["scheduledFor"])
			if late := job.At.Sub(slot); err != nil || late < 0 || late > time.Second {
				t.Errorf("the slot of %v was fired at %v: %v", slot, job.At, err)
			}
		}
		// A drain ends, although the schedule goes on.
		enqueue(t, 2, braid.In(25*time.Minute))
		t.Drain()
		if runs.Load() != 6+1+2 {
			t.Errorf("after the drain there were %d runs", runs.Load())
		}
	})
}

func TestAFlowWithChildrenThatFailIsCollected(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		t.Work(func(w *braid.Worker) {
			work.Handle(w, func(_ context.Context, n int) (int, error) {
				if n%2 == 0 {
					return 0, errors.New("even")
				}
				return n, nil
			})
			parent.Handle(w,
				func(_ context.Context, n int, out *braid.FanOut) error {
					for i := range n {
						work.Child(out, string(rune('a'+i)), i)
					}
					return nil
				},
				func(ctx context.Context, _ int, results *braid.Results) (int, error) {
					sum := 0
					for child, err := range work.Results(ctx, results) {
						if err != nil {
							return 0, err
						}
						sum += child.Value
					}
					return sum*100 + int(results.Counts.Failed), nil
				})
		})
		if sum, err := braidtest.Do(t, parent.Job, 6); sum != 903 || err != nil {
			t.Errorf("the flow gave %d, %v; 1+3+5 and three failures were to be expected", sum, err)
		}
		if got := len(braidtest.Enqueued(t, work)); got != 6 {
			t.Errorf("%d children were enqueued", got)
		}
	})
}

func TestAPanicIsAFailedAttempt(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		t.Work(handle(func(context.Context, int) (int, error) { panic("what now?") }))
		_, err := braidtest.Do(t, work, 1)
		var failed *braid.JobError
		if !errors.As(err, &failed) || failed.Type != "panic" || failed.Attempts != 3 || !strings.Contains(failed.Message, "what now?") {
			t.Errorf("the error is %+v", failed)
		}
	})
}

func TestASnoozeComesBack(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		runs := 0
		t.Work(handle(func(context.Context, int) (int, error) {
			if runs++; runs < 5 {
				return 0, braid.Snooze(24 * time.Hour)
			}
			return runs, nil
		}))
		began := time.Now()
		if got, err := braidtest.Do(t, work, 1); got != 5 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		if took := time.Since(began).Round(time.Second); took != 4*24*time.Hour {
			t.Errorf("four snoozes of a day took %v", took)
		}
	})
}

func TestACancelReachesDelayedAndRunningJobs(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		var cause error
		running := make(chan struct{})
		t.Work(handle(func(ctx context.Context, _ int) (int, error) {
			close(running)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return 0, ctx.Err()
		}))
		delayed, active := enqueue(t, 1, braid.In(time.Hour)), enqueue(t, 2)
		<-running
		for _, h := range []*braid.Handle[int]{delayed, active} {
			if err := h.Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		t.Drain()
		if !errors.Is(cause, braid.ErrCancelRequested) || state(t, delayed) != braid.Cancelled || state(t, active) != braid.Cancelled {
			t.Errorf("cause %v; %v and %v", cause, state(t, delayed), state(t, active))
		}
	})
}

func TestATimeoutEndsAHandlerThatHangs(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		t.Work(handle(func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() }))
		_, err := braidtest.Do(t, work, 1, braid.Timeout(time.Minute), braid.Attempts(1))
		var failed *braid.JobError
		if !errors.As(err, &failed) || failed.Type != "timeout" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestDuplicatesAreToldApart(t *testing.T) {
	bt := braidtest.New(t)
	first := enqueue(bt, 1, braid.Dedupe("k"), braid.Timeout(time.Minute))
	enqueue(bt, 2, braid.Dedupe("k"))
	all := braidtest.Enqueued(bt, work)
	if len(all) != 2 || all[0].Duplicate || !all[1].Duplicate || all[1].ID != first.ID || all[0].DedupeKey != "k" || all[0].Timeout != time.Minute {
		t.Errorf("enqueued: %+v", all)
	}
	if one := braidtest.RequireOne(bt, work); one.Payload != 1 {
		t.Errorf("the one is %+v", one)
	}
}

func TestABubbleOfTheTestsOwnHasTheFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bt := braidtest.New(t)
		bt.Work(handle(func(context.Context, int) (int, error) { return 1, nil }))
		h := enqueue(bt, 1, braid.In(time.Hour))
		bt.Drain()
		if got := state(bt, h); got != braid.Completed {
			t.Errorf("it is %v", got)
		}
	})
}

func TestWorkersOfSeveralStores(t *testing.T) {
	other := braid.NewJob[int, int]("other", braid.OnStore("second"))
	braidtest.Run(t, func(t *braidtest.T) {
		t.Work(func(w *braid.Worker) {
			handle(func(ctx context.Context, n int) (int, error) {
				_, err := other.Enqueue(ctx, t.Client, n+1, braid.In(time.Hour))
				return n, err
			})(w)
			other.Handle(w, func(_ context.Context, n int) (int, error) { return n, nil })
		})
		enqueue(t, 1)
		t.Drain()
		job := braidtest.RequireOne(t, other)
		if got, err := other.ByID(t.Client, job.ID).Wait(t.Context()); got != 2 || err != nil || job.Store != "second" {
			t.Errorf("%d, %v, %+v", got, err, job)
		}
	}, braidtest.WithStore("second"))
}

func TestRunOnceTellsEachOutcome(t *testing.T) {
	bt := braidtest.New(t)
	once := func(run func(ctx context.Context, n int) (int, error), options ...braid.EnqueueOption) braidtest.Outcome[int] {
		t.Helper()
		return braidtest.RunOnce(bt, work, 7, run, options...)
	}
	sorry := errors.New("sorry")
	if got := once(func(ctx context.Context, n int) (int, error) { return n * braid.Current(ctx).Attempt, nil }, braid.In(time.Hour)); got != (braidtest.Outcome[int]{State: braid.Completed, Result: 7}) {
		t.Errorf("a result: %+v", got)
	}
	if got := once(func(context.Context, int) (int, error) { return 1, sorry }); got != (braidtest.Outcome[int]{State: braid.Delayed, Err: sorry, RunAgainIn: time.Hour}) {
		t.Errorf("an error: %+v", got)
	}
	if got := once(func(context.Context, int) (int, error) { return 1, sorry }, braid.Backoff(braid.Fixed(0))); got != (braidtest.Outcome[int]{State: braid.Waiting, Err: sorry}) {
		t.Errorf("an error without backoff: %+v", got)
	}
	if got := once(func(context.Context, int) (int, error) { return 1, sorry }, braid.Attempts(1)); got != (braidtest.Outcome[int]{State: braid.Failed, Err: sorry}) {
		t.Errorf("the last attempt's error: %+v", got)
	}
	if got := once(func(context.Context, int) (int, error) { return 1, braid.Unrecoverable(sorry) }); got.State != braid.Failed || !errors.Is(got.Err, sorry) {
		t.Errorf("an error for good: %+v", got)
	}
	if got := once(func(context.Context, int) (int, error) { return 1, braid.Snooze(time.Minute) }); got.State != braid.Delayed || !got.Snoozed || got.RunAgainIn != time.Minute {
		t.Errorf("a snooze: %+v", got)
	}
	var panicked *braid.PanicError
	if got := once(func(context.Context, int) (int, error) { panic("what now?") }); got.State != braid.Delayed || !errors.As(got.Err, &panicked) || panicked.Value != "what now?" {
		t.Errorf("a panic: %+v", got)
	}
	if got := once(func(context.Context, int) (int, error) { runtime.Goexit(); return 0, nil }); got.State != braid.Delayed || !errors.As(got.Err, &panicked) || !panicked.Exit {
		t.Errorf("a goroutine that ends: %+v", got)
	}
	var timeout *braid.TimeoutError
	if got := once(func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() }, braid.Timeout(time.Millisecond)); !errors.As(got.Err, &timeout) {
		t.Errorf("a timeout: %+v", got)
	}
	braidtest.RequireNone(bt) // what RunOnce enqueues is its own
}

func TestAHandlerThatRunOnceRunsEnqueuesWithTheTestsClient(t *testing.T) {
	braidtest.Run(t, func(t *braidtest.T) {
		got := braidtest.RunOnce(t, work, 1, func(ctx context.Context, n int) (int, error) {
			time.Sleep(time.Hour)
			_, err := work.Enqueue(ctx, t.Client, n+1)
			return n, err
		})
		if got.State != braid.Completed || braidtest.RequireOne(t, work).Payload != 2 {
			t.Errorf("%+v", got)
		}
	})
}

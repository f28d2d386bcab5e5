package braid_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/memstore"
)

// waitEnd is what a wait returned, and when.
type waitEnd struct {
	result string
	err    error
	after  time.Duration
}

// waiting starts a wait.
func waiting(b *bench, handle *braid.Handle[string]) <-chan waitEnd {
	ended := make(chan waitEnd, 1)
	start := time.Now()
	go func() {
		result, err := handle.Wait(b.ctx)
		ended <- waitEnd{result, err, time.Since(start)}
	}()
	return ended
}

var answer = braid.NewJob[string, string]("answer")

func enqueueAnswer(b *bench) *braid.Handle[string] {
	b.Helper()
	handle, err := answer.Enqueue(b.ctx, b.client, "x")
	if err != nil {
		b.Fatal(err)
	}
	return handle
}

// expect checks a wait's result, and that it came in time.
func expect(b *bench, end waitEnd, within time.Duration) {
	b.Helper()
	if end.err != nil || end.result != "42" || end.after > within {
		b.Errorf("%q, %v after %v, want the result within %v", end.result, end.err, end.after, within)
	}
}

func TestClosingTheClientEndsAWaitWhoseStoreDoesNotAnswer(t *testing.T) {
	for _, op := range []string{"Jobs", "WatchFinished"} {
		synctest.Test(t, func(t *testing.T) {
			faults := faultstore.New(memstore.New())
			b := newBenchOn(t, faults)
			handle := enqueueAnswer(b)
			defer faults.BlackHole(op)()
			ended := waiting(b, handle)
			synctest.Wait()
			b.client.Close()
			if end := <-ended; !errors.Is(end.err, braid.ErrClientClosed) || end.after != 0 {
				t.Errorf("%s: %v after %v, want ErrClientClosed at once", op, end.err, end.after)
			}
		})
	}
}

func TestACallThatIsNotAnsweredDoesNotHoldUpAWait(t *testing.T) {
	for _, op := range []string{"Jobs", "WatchFinished"} {
		for _, pushes := range []bool{true, false} {
			if op == "WatchFinished" && !pushes {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				faults := faultstore.New(memstore.New())
				store := driver.Store(faults)
				if !pushes {
					store = faults.Plain()
				}
				b := newBenchOn(t, store)
				handle := enqueueAnswer(b)
				end := faults.Inject(func(ctx context.Context, _ string) error {
					<-ctx.Done()
					return ctx.Err() // not a StoreError, which says that it is worth another try
				}, nil, op)
				ended := waiting(b, handle)
				synctest.Wait()
				end() // the call that hangs hangs on
				complete(t, faults, "answer", `"42"`)
				limit := callLimit + time.Second
				if pushes && op == "Jobs" {
					limit = 0 // the push comes while the look hangs
				}
				expect(b, <-ended, limit)
			})
		}
	}
}

func TestAPassingFailureDoesNotEndAWait(t *testing.T) {
	for _, op := range []string{"Jobs", "WatchFinished"} {
		for _, pushes := range []bool{true, false} {
			if op == "WatchFinished" && !pushes {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				faults := faultstore.New(memstore.New())
				store := driver.Store(faults)
				if !pushes {
					store = faults.Plain()
				}
				b := newBenchOn(t, store)
				handle := enqueueAnswer(b)
				end := faults.Fail(true, op)
				ended := waiting(b, handle)
				time.Sleep(time.Minute)
				select {
				case end := <-ended:
					t.Fatalf("%s failed, and the wait ended: %v", op, end.err)
				default:
				}
				if calls := faults.Calls(op); calls < 2 || calls > 100 {
					t.Errorf("%s was called %d times in a minute, want some tries again", op, calls)
				}
				end()
				complete(t, faults, "answer", `"42"`)
				expect(b, <-ended, time.Minute+callLimit)
			})
		}
	}
}

func TestAWaitThatCouldNotWatchPollsAndWatchesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := faultstore.New(memstore.New())
		b := newBenchOn(t, faults)
		handle := enqueueAnswer(b)
		end := faults.Fail(true, "WatchFinished")
		ended := waiting(b, handle)
		time.Sleep(5 * time.Second)
		looks := faults.Calls("Jobs")
		if looks < 5 {
			t.Errorf("it looked %d times in 5 s, want polls meanwhile", looks)
		}
		end()
		watched := faults.Calls("WatchFinished")
		time.Sleep(40 * time.Second)
		if again := faults.Calls("WatchFinished"); again != watched+1 {
			t.Errorf("it watched %d times more, want one watch that holds", again-watched)
		}
		start := time.Now()
		complete(t, faults, "answer", `"42"`)
		if end := <-ended; end.err != nil || time.Since(start) > 0 {
			t.Errorf("%v %v after the job's end, want a push", end.err, time.Since(start))
		}
	})
}

func TestALastingFailureEndsAWait(t *testing.T) {
	for _, op := range []string{"Jobs", "WatchFinished"} {
		synctest.Test(t, func(t *testing.T) {
			faults := faultstore.New(memstore.New())
			b := newBenchOn(t, faults)
			handle := enqueueAnswer(b)
			defer faults.Fail(false, op)()
			if end := <-waiting(b, handle); !errors.Is(end.err, faultstore.ErrInjected) || end.after != 0 {
				t.Errorf("%s: %v after %v", op, end.err, end.after)
			}
		})
	}
}

func TestALostWatchIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := newStub()
		b := newBenchOn(t, stub)
		handle := enqueueAnswer(b)
		lost := make(chan driver.Finished)
		var watches atomic.Int32
		stub.watch = func(ctx context.Context, id string) (<-chan driver.Finished, error) {
			if watches.Add(1) == 1 {
				return lost, nil
			}
			return stub.Store.WatchFinished(ctx, id)
		}
		ended := waiting(b, handle)
		synctest.Wait()
		close(lost)
		synctest.Wait()
		complete(t, stub, "answer", `"42"`)
		expect(b, <-ended, 0)
		if watches.Load() != 2 {
			t.Errorf("it watched %d times, want twice", watches.Load())
		}
	})
}

func TestAWatchThatIsLostAgainAndAgainCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := newStub()
		b := newBenchOn(t, stub)
		handle := enqueueAnswer(b)
		var watches atomic.Int32
		stub.watch = func(context.Context, string) (<-chan driver.Finished, error) {
			watches.Add(1)
			lost := make(chan driver.Finished)
			close(lost)
			return lost, nil
		}
		ended := waiting(b, handle)
		time.Sleep(time.Minute)
		if n := watches.Load(); n > 20 {
			t.Errorf("it watched %d times in a minute", n)
		}
		complete(t, stub, "answer", `"42"`)
		expect(b, <-ended, time.Minute+time.Second)
	})
}

func TestAWaitLooksNowAndThenAlthoughTheStorePushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := newStub()
		b := newBenchOn(t, stub)
		stub.watch = func(context.Context, string) (<-chan driver.Finished, error) {
			return make(chan driver.Finished), nil // a push that is lost
		}
		ended := waiting(b, enqueueAnswer(b))
		synctest.Wait()
		complete(t, stub, "answer", `"42"`)
		expect(b, <-ended, 10*time.Second)
	})
}

func TestDoOfAJobThatIsThereLooksAtIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if _, err := answer.Enqueue(b.ctx, b.client, "x", braid.ID("there")); err != nil {
			t.Fatal(err)
		}
		complete(t, b.store, "answer", `"42"`)
		start := time.Now()
		result, err := answer.Do(b.ctx, b.client, "x", braid.ID("there"))
		expect(b, waitEnd{result, err, time.Since(start)}, 0)
	})
}

func TestDoOutlivesAPassingFailureOfItsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := faultstore.New(memstore.New())
		b := newBenchOn(t, faults)
		// Its result is not kept, so that only the push can tell it.
		job := braid.NewJob[string, string]("answer", braid.Keep(braid.KeepLast(0)))
		b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
			job.Handle(w, func(context.Context, string) (string, error) { return "42", nil })
		})
		end := faults.Inject(func(_ context.Context, op string) error {
			if faults.Calls(op) > 2 {
				return nil
			}
			return &driver.StoreError{Op: op, Err: faultstore.ErrInjected, Retryable: true}
		}, nil, "WatchFinished")
		defer end()
		if result, err := job.Do(b.ctx, b.client, "x"); result != "42" || err != nil {
			t.Errorf("%q, %v", result, err)
		}
	})
}

func TestDoWithoutAWatchPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := faultstore.New(memstore.New())
		b := newBenchOn(t, faults)
		b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
			answer.Handle(w, func(context.Context, string) (string, error) { return "42", nil })
		})
		defer faults.Fail(true, "WatchFinished")()
		if result, err := answer.Do(b.ctx, b.client, "x"); result != "42" || err != nil {
			t.Errorf("%q, %v", result, err)
		}
	})
}

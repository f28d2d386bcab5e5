package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// evilError panics wherever it is asked.
type evilError struct{}

func (evilError) Error() string   { panic("no text") }
func (evilError) Is(error) bool   { panic("no kind") }
func (evilError) As(any) bool     { panic("no kind") }
func (evilError) Unwrap() []error { panic("no cause") }

func TestWhatAHandlerReturnsDecidesWhatBecomesOfTheJob(t *testing.T) {
	_, pathErr := os.Open("/no/such/file")
	sad := errors.New("sad")
	for name, c := range map[string]struct {
		handle   handlerFunc
		change   func(*Handler)
		attempts int32 // allowed
		state    driver.State
		outcomes string // of the ledger
		message  string // in the last exit
		kind     string // the last exit's type
	}{
		"a result": {
			handle: noop, attempts: 1, state: driver.Completed, outcomes: "completed",
		},
		"an error is retried until the attempts are used up": {
			handle:   func(context.Context, *Run) ([]byte, error) { return []byte("1"), sad },
			attempts: 3, state: driver.Failed, outcomes: "retried retried failed", message: "sad",
		},
		"a retry may succeed": {
			handle: func(_ context.Context, run *Run) ([]byte, error) {
				if run.Attempt < 3 {
					return nil, sad
				}
				return nil, nil
			},
			attempts: 3, state: driver.Completed, outcomes: "retried retried completed",
		},
		"Unrecoverable fails at once": {
			handle: func(context.Context, *Run) ([]byte, error) {
				return nil, fmt.Errorf("wrapped: %w", Unrecoverable(sad))
			},
			attempts: 3, state: driver.Failed, outcomes: "failed", message: "wrapped: sad",
		},
		"the predicate says no": {
			handle:   func(context.Context, *Run) ([]byte, error) { return nil, fmt.Errorf("open: %w", pathErr) },
			change:   func(h *Handler) { h.Retryable = func(err error) bool { return !errors.Is(err, fs.ErrNotExist) } },
			attempts: 3, state: driver.Failed, outcomes: "failed",
			message: "open: open /no/such/file: no such file or directory", kind: "*fs.PathError",
		},
		"a predicate that panics means yes": {
			handle:   func(context.Context, *Run) ([]byte, error) { return nil, sad },
			change:   func(h *Handler) { h.Retryable = func(error) bool { panic("predicate") } },
			attempts: 2, state: driver.Failed, outcomes: "retried failed", message: "sad",
		},
		"a result that cannot be encoded is not retried": {
			handle:   func(context.Context, *Run) ([]byte, error) { return nil, &EncodeError{Err: sad} },
			attempts: 3, state: driver.Failed, outcomes: "failed",
			message: "braid: the job ran, but its result cannot be stored: sad", kind: "encode",
		},
		"joined errors survive in the text": {
			handle:   func(context.Context, *Run) ([]byte, error) { return nil, errors.Join(sad, pathErr) },
			attempts: 1, state: driver.Failed, outcomes: "failed",
			message: "sad\nopen /no/such/file: no such file or directory",
		},
		"a panic is a failed attempt": {
			handle:   func(context.Context, *Run) ([]byte, error) { panic("boom") },
			attempts: 2, state: driver.Failed, outcomes: "retried failed", message: "panic: boom", kind: "panic",
		},
		"panic(nil) is a failed attempt": {
			handle:   func(context.Context, *Run) ([]byte, error) { panic(nil) },
			attempts: 1, state: driver.Failed, outcomes: "failed", kind: "panic",
			message: "panic: panic called with nil argument",
		},
		"Goexit is a failed attempt": {
			handle:   func(context.Context, *Run) ([]byte, error) { runtime.Goexit(); return nil, nil },
			attempts: 2, state: driver.Failed, outcomes: "retried failed", kind: "goexit",
			message: "braid: the handler ended its goroutine (runtime.Goexit)",
		},
		"an error whose methods panic is a failed attempt": {
			handle:   func(context.Context, *Run) ([]byte, error) { return nil, evilError{} },
			attempts: 2, state: driver.Failed, outcomes: "retried failed",
			message: "a method of the handler's error (engine.evilError) panicked: no kind",
		},
		"bad text is replaced": {
			handle:   func(context.Context, *Run) ([]byte, error) { return nil, errors.New("a\x00b\xff<c>") },
			attempts: 1, state: driver.Failed, outcomes: "failed", message: "a\uFFFDb\uFFFD<c>",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.handle)
			handler := r.config.Handlers["job"]
			if c.change != nil {
				c.change(&handler)
			}
			r.engine.byName["job"] = &handler
			id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.AttemptsMax = c.attempts })
			r.start()
			job := r.await(id, c.state)
			var outcomes []string
			for _, a := range r.attempts(id) {
				outcomes = append(outcomes, a.Outcome.String())
			}
			if got := strings.Join(outcomes, " "); got != c.outcomes {
				t.Errorf("the ledger says %q, want %q", got, c.outcomes)
			}
			if c.message == "" {
				return
			}
			var exit ErrorExit
			if err := json.Unmarshal(job.Exit, &exit); err != nil {
				t.Fatal(err)
			}
			if exit.Message != c.message || exit.Type != c.kind {
				t.Errorf("the exit is %q of type %q, want %q of type %q", exit.Message, exit.Type, c.message, c.kind)
			}
			if wantStack := c.kind == "panic" || c.kind == "goexit"; wantStack != strings.Contains(exit.Stack, "outcome_test.go") {
				t.Errorf("the exit's stack is %q", exit.Stack)
			}
		})
	}
}

func TestASnoozeUsesNoAttempt(t *testing.T) {
	var runs atomic.Int64
	r := startRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		if run.Attempt != 1 {
			t.Errorf("attempt %d", run.Attempt)
		}
		if runs.Add(1) < 4 {
			return nil, fmt.Errorf("later: %w", Snooze(time.Duration(runs.Load()-2)*time.Millisecond))
		}
		return nil, nil
	})
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.AttemptsMax = 1 })
	if job := r.await(id, driver.Completed); job.AttemptsMade != 1 || len(r.attempts(id)) != 1 {
		t.Errorf("the job made %d attempts", job.AttemptsMade)
	}
}

func TestASlotComesBackAfterAPanicAndAGoexit(t *testing.T) {
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		switch run.Job.Seq % 3 {
		case 0:
			panic("boom")
		case 1:
			runtime.Goexit()
		}
		return nil, nil
	}, func(c *Config) { c.Queues[0].Slots = 2 })
	r.enqueue(30, func(q *driver.EnqueueRequest) { q.AttemptsMax = 1 })
	r.start()
	eventually(t, "all jobs are done", func() bool { c := r.counts(); return c.Completed == 10 && c.Failed == 20 })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func TestACorruptPayloadFailsOnlyItsJob(t *testing.T) {
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		var n int
		return nil, json.Unmarshal(run.Job.Payload, &n)
	})
	bad := r.enqueue(1, func(q *driver.EnqueueRequest) { q.AttemptsMax = 1; q.Payload = []byte(`{"torn`) })
	r.enqueue(20)
	r.start()
	r.await(bad, driver.Failed)
	eventually(t, "its neighbours are completed", func() bool { return r.counts().Completed == 20 })
}

func TestAFanOutParksItsParentAndSaysWhenItHas(t *testing.T) {
	landed := make(chan driver.State, 1)
	var r *rig
	r = newRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		child := driver.StagedChild{ChildKey: "c", StoreKey: "main", Request: driver.EnqueueRequest{
			ID: "flow/child", Spec: driver.Spec{Name: "child", Queue: "q", AttemptsMax: 1},
		}}
		if err := r.store.StageChildren(ctx, run.Job.ID, run.Token, []driver.StagedChild{child}); err != nil {
			return nil, err
		}
		return nil, &FanOutDone{Children: 1, Landed: func(_ context.Context, state driver.State) { landed <- state }}
	})
	id := r.enqueue(1)
	r.start()
	if state := receive(t, landed, "the fan-out"); state != driver.WaitingChildren {
		t.Errorf("the parent was said to be %v", state)
	}
	if job := r.await(id, driver.WaitingChildren); job.AttemptsMade != 0 || job.Flow == nil {
		t.Errorf("the parked parent is %+v", job)
	}
}

func TestAFanOutThatTheStoreRefusesIsAFailedAttempt(t *testing.T) {
	r := startRig(t, func(context.Context, *Run) ([]byte, error) {
		return nil, &FanOutDone{Children: 3, Landed: func(context.Context, driver.State) { t.Error("it landed") }}
	})
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.AttemptsMax = 1 })
	if job := r.await(id, driver.Failed); !strings.Contains(string(job.Exit), "children") {
		t.Errorf("the parent failed with %s", job.Exit)
	}
}

func TestTheFailureHookHearsOfEveryFailedAttempt(t *testing.T) {
	failures := make(chan Failure, 10)
	r := startRig(t, func(context.Context, *Run) ([]byte, error) { return nil, errors.New("sad") },
		func(c *Config) {
			c.Backoff = &driver.Backoff{Kind: driver.BackoffFixed, Delay: 3}
			c.OnFailure = func(ctx context.Context, f Failure) {
				if run, ok := CurrentRun(ctx); !ok || run.Job.ID != f.Job.ID {
					t.Error("the hook's context does not know the run")
				}
				failures <- f
				panic("the hook panics, too")
			}
		})
	id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.AttemptsMax = 2 })
	r.await(id, driver.Failed)
	first, second := receive(t, failures, "the first failure"), receive(t, failures, "the second failure")
	if first.Attempt != 1 || !first.WillRetry || first.RetryIn != 3*time.Millisecond || first.Err.Error() != "sad" {
		t.Errorf("the first failure is %+v", first)
	}
	if second.Attempt != 2 || second.WillRetry || !json.Valid(second.Exit) {
		t.Errorf("the second failure is %+v", second)
	}
	if r.log.count("the failure hook panicked") != 2 {
		t.Errorf("the hook's panics were not logged:\n%s", r.log)
	}
}

func TestAJobsBackoffComesBeforeTheHandlersAndThatBeforeTheWorkers(t *testing.T) {
	fixed := func(d driver.Millis) *driver.Backoff { return &driver.Backoff{Kind: driver.BackoffFixed, Delay: d} }
	for _, c := range []struct {
		job, handler *driver.Backoff
		want         driver.Millis
	}{{fixed(1000), fixed(2000), 1000}, {nil, fixed(2000), 2000}, {nil, nil, 3000}} {
		r := newRig(t, func(context.Context, *Run) ([]byte, error) { return nil, errors.New("sad") },
			func(config *Config) {
				config.Handlers["job"] = Handler{Run: config.Handlers["job"].Run, Backoff: c.handler}
				config.Backoff = fixed(3000)
			})
		id := r.enqueue(1, func(q *driver.EnqueueRequest) { q.Backoff = c.job })
		r.start()
		job := r.await(id, driver.Delayed)
		if got := job.RunAt.Sub(r.attempts(id)[0].FinishedAt); got != c.want {
			t.Errorf("the job was put off by %d ms, want %d", got, c.want)
		}
	}
}

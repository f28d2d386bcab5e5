package braidtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/braidtest"
)

// failing is a test that is to fail: it keeps what it is ended with.
type failing struct {
	*testing.T
	mu   sync.Mutex
	text string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns what ended a test.
func failure(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	f := &failing{T: t}
	var ended sync.WaitGroup
	ended.Go(func() { test(f) })
	ended.Wait()
	return f.text
}

func ok(context.Context, int) (int, error) { return 0, nil }

func TestAFailureTellsWhatToDo(t *testing.T) {
	elsewhere := braid.NewJob[int, int]("elsewhere", braid.OnStore("second"))
	for name, c := range map[string]struct {
		real bool // clock
		test func(tb testing.TB)
		want []string
	}{
		"no worker": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			enqueue(bt, 1)
			bt.Settle()
		}, want: []string{"there is no worker; start one with t.Work", "work j-1 (waiting)"}},
		"a job without handler": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			bt.Work(func(w *braid.Worker) { SendMail.Handle(w, drop) })
			enqueue(bt, 1)
			bt.Settle()
		}, want: []string{"for 10m0s, jobs do not run", "work j-1 (waiting)", "No worker that is alive works on its queue"}},
		"a delayed job without handler": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			bt.Work(func(w *braid.Worker) { SendMail.Handle(w, drop) })
			enqueue(bt, 1, braid.In(time.Hour))
			bt.Advance(2 * time.Hour)
		}, want: []string{"nobody sees to what was due at 2000-01-01 01:00:00", "t.Work", "work j-1 (delayed)"}},
		"a schedule in a store without worker": {test: func(tb testing.TB) {
			bt := braidtest.New(tb, braidtest.WithStore("second"))
			bt.Work(handle(ok))
			if err := elsewhere.Schedule(bt.Context(), bt.Client, "hourly", braid.Cron("0 * * * *"), 1); err != nil {
				bt.Error(err)
			}
			bt.Advance(2 * time.Hour)
		}, want: []string{"nobody sees to what was due at 2000-01-01 01:00:00", "schedule hourly of store second"}},
		"a paused queue": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			bt.Work(handle(ok))
			if err := bt.Client.Pause(bt.Context(), "default"); err != nil {
				bt.Error(err)
			}
			enqueue(bt, 1)
			bt.Drain()
		}, want: []string{"jobs do not end", `queue "default" is paused`}},
		"a handler that hangs": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			bt.Work(handle(func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() }))
			enqueue(bt, 1)
			bt.Settle()
		}, want: []string{"for 6h0m0s, jobs do not run", "work j-1 (active)"}},
		"jobs without end": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			bt.Work(handle(func(context.Context, int) (int, error) { return 0, braid.Snooze(time.Hour) }))
			enqueue(bt, 1)
			bt.Drain()
		}, want: []string{"do not come to an end", "use Advance", "work j-1 (delayed)"}},
		"one too few": {test: func(tb testing.TB) {
			braidtest.RequireOne(braidtest.New(tb), work)
		}, want: []string{`0 jobs "work" were enqueued, not one; enqueued were: none`}},
		"two too many": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			for range 3 {
				enqueue(bt, 1)
			}
			enqueue(bt, 1, braid.ID("j-1"))
			if err := SignUp(bt.Context(), bt.Client, "ada"); err != nil {
				bt.Error(err)
			}
			braidtest.RequireOne(bt, work)
		}, want: []string{`3 jobs "work"`, "enqueued were: remind, send-mail, 3 × work, work (duplicate)"}},
		"none of a job": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			enqueue(bt, 17)
			braidtest.RequireNone(bt, SendMail, work)
		}, want: []string{`a job "work" was enqueued: 17`}},
		"none at all": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			enqueue(bt, 17)
			braidtest.RequireNone(bt)
		}, want: []string{"jobs were enqueued: work"}},
		"another payload": {test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			if _, err := bt.Client.Enqueue(bt.Context(), "work", json.RawMessage(`{"n":1}`)); err != nil {
				bt.Error(err)
			}
			braidtest.Enqueued(bt, work)
		}, want: []string{`the payload of job "j-1" (work) is no int`, `{"n":1}`}},
		"a drain on the real clock": {real: true, test: func(tb testing.TB) {
			braidtest.New(tb).Drain()
		}, want: []string{"Drain needs a fake clock; use braidtest.Run"}},
		"an advance on the real clock": {real: true, test: func(tb testing.TB) {
			braidtest.New(tb).Advance(time.Hour)
		}, want: []string{"Advance needs a fake clock"}},
		"a start on the real clock": {real: true, test: func(tb testing.TB) {
			braidtest.New(tb, braidtest.StartAt(time.Now()))
		}, want: []string{"StartAt is for the fake clock"}},
		"a start before the fake clock's": {test: func(tb testing.TB) {
			braidtest.New(tb, braidtest.StartAt(time.Unix(1, 0)))
		}, want: []string{"use a time after 2000-01-01"}},
		"a store twice": {test: func(tb testing.TB) {
			braidtest.New(tb, braidtest.WithStore("a"), braidtest.WithStore("a"))
		}, want: []string{`WithStore("a"): the name is taken`}},
		"a client option that is wrong": {test: func(tb testing.TB) {
			braidtest.New(tb, braidtest.WithClientOptions(braid.WithMaxPayload(0)))
		}, want: []string{"max payload"}},
		"no function for a worker": {test: func(tb testing.TB) {
			braidtest.New(tb).Work(nil)
		}, want: []string{"the function is nil"}},
		"two options for a worker": {test: func(tb testing.TB) {
			braidtest.New(tb).Work(handle(ok), braid.WorkerOptions{}, braid.WorkerOptions{})
		}, want: []string{"2 options were given"}},
		"a worker that does not start": {test: func(tb testing.TB) {
			braidtest.New(tb).Work(handle(ok), braid.WorkerOptions{Concurrency: -1})
		}, want: []string{"the worker does not run", "WorkerOptions.Concurrency"}},
		"a worker that does not start, on the real clock": {real: true, test: func(tb testing.TB) {
			bt := braidtest.New(tb)
			bt.Work(handle(nil))
			enqueue(bt, 1)
			bt.Settle()
		}, want: []string{"the worker does not run", "handler"}},
		"a run of a job that is refused": {real: true, test: func(tb testing.TB) {
			braidtest.RunOnce(braidtest.New(tb), work, 1, ok, braid.ID("flow/mine"))
		}, want: []string{"RunOnce", "flow/"}},
		"a run without handler": {real: true, test: func(tb testing.TB) {
			braidtest.RunOnce(braidtest.New(tb), work, 1, nil)
		}, want: []string{"RunOnce", "handler"}},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(t *testing.T) {
				text := failure(t, c.test)
				t.Log(text)
				for _, want := range c.want {
					if !strings.Contains(text, want) {
						t.Errorf("the failure does not tell %q:\n%s", want, text)
					}
				}
			}
			if c.real {
				check(t)
			} else {
				synctest.Test(t, check)
			}
		})
	}
}

func drop(context.Context, Mail) (string, error) { return "", nil }

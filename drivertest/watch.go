package drivertest

import (
	"context"
	"time"

	"github.com/braidmq/braid/driver"
)

// ending is a way for a job to end, and what a watcher is told.
type ending struct {
	name string
	do   func(t *T, r run)
	want driver.Finished
}

var endings = []ending{
	{"Complete", func(t *T, r run) { t.complete(100, r, `{"n":9007199254740993}`) },
		driver.Finished{ID: "a", State: driver.Completed, Exit: []byte(`{"n":9007199254740993}`), AttemptsMade: 1}},
	{"Fail", func(t *T, r run) { t.fail(100, r, `"broken"`) },
		driver.Finished{ID: "a", State: driver.Failed, Exit: []byte(`"broken"`), AttemptsMade: 1}},
	{"Cancelled", func(t *T, r run) { t.settle(100, r.ack(driver.AckCancelled), driver.Cancelled) },
		driver.Finished{ID: "a", State: driver.Cancelled, AttemptsMade: 1}},
	{"ACancelThatWins", func(t *T, r run) {
		t.cancel(100, "a")
		t.settle(100, r.ack(driver.AckRelease), driver.Cancelled)
	}, driver.Finished{ID: "a", State: driver.Cancelled}},
	{"CancelOfWaiting", func(t *T, r run) {
		t.settle(100, r.ack(driver.AckRelease), driver.Waiting)
		t.cancel(100, "a")
	}, driver.Finished{ID: "a", State: driver.Cancelled}},
	{"Stall", func(t *T, r run) { t.recover(1_000_000, 0) },
		driver.Finished{ID: "a", State: driver.Failed, FailedReason: driver.StalledReason}},
	{"Removal", func(t *T, r run) {
		t.settle(100, r.ack(driver.AckRelease), driver.Waiting)
		t.remove(100, "a")
	}, driver.Finished{ID: "a"}},
}

func watchesFinished(h Harness) bool { return !h.NoFinishWatcher }
func watchesCancels(h Harness) bool  { return !h.NoCancelWatcher }

// watch watches a job's end.
func (t *T) watch(ctx context.Context, id string) <-chan driver.Finished {
	t.Helper()
	w, ok := t.Store.(driver.FinishWatcher)
	if !ok {
		t.Fatalf("the store is no driver.FinishWatcher, and the harness does not declare that")
	}
	ends, err := w.WatchFinished(ctx, id)
	t.must("WatchFinished", err)
	return ends
}

// told fails unless a watch delivers what it should and is then closed.
func (t *T) told(ends <-chan driver.Finished, want driver.Finished) {
	t.Helper()
	late := time.After(soon)
	select {
	case got, ok := <-ends:
		if !ok {
			t.Fatalf("the watch was closed without a value; want %+v", want)
		}
		t.equal("told", got, want)
	case <-late:
		t.Fatalf("the watch was told nothing; want %+v", want)
	}
	select {
	case got, ok := <-ends:
		if ok {
			t.Errorf("the watch was told a second time: %+v", got)
		}
	case <-late:
		t.Errorf("the watch was not closed after its value")
	}
}

func init() {
	for _, e := range endings {
		for _, kept := range []bool{true, false} {
			name, edits := "Watch/TellsOf"+e.name, []edit(nil)
			if !kept {
				name, edits = name+"KeptByNobody", []edit{keep(countOf(0))}
			}
			registerIf(watchesFinished, name,
				"A watch is told how its job ended, with its outcome, also when retention removes the job at once; then it is closed.",
				func(t *T) {
					r := t.start(0, request("a", edits...))
					t.insert(0, request("b"))
					other := t.watch(t.ctx, "b")
					ends, second := t.watch(t.ctx, "a"), t.watch(t.ctx, "a")
					e.do(t, r)
					t.told(ends, e.want)
					t.told(second, e.want)
					select {
					case got, ok := <-other:
						t.Errorf("the watch of another job was told %+v (closed: %v)", got, !ok)
					default:
					}
				})
		}
	}

	registerIf(watchesFinished, "Watch/OnlyTheEnd",
		"A watch is told of the end only, not of claims, retries and releases before it.",
		func(t *T) {
			t.insert(0, request("a"))
			ends := t.watch(t.ctx, "a")
			t.settle(0, t.claimOne(0).ack(driver.AckRetry), driver.Waiting)
			t.settle(0, t.claimOne(0).ack(driver.AckRelease), driver.Waiting)
			r := t.claimOne(0)
			select {
			case got, ok := <-ends:
				t.Fatalf("the watch ended early: %+v (closed: %v)", got, !ok)
			case <-time.After(meanwhile):
			}
			t.complete(0, r, `1`)
			t.told(ends, driver.Finished{ID: "a", State: driver.Completed, Exit: []byte(`1`), AttemptsMade: 2})
		})

	registerIf(watchesFinished, "Watch/EndsWithItsContext",
		"A watch whose context ends is closed without a value.",
		func(t *T) {
			t.insert(0, request("a"))
			ctx, cancel := context.WithCancel(t.ctx)
			ends := t.watch(ctx, "a")
			cancel()
			select {
			case got, ok := <-ends:
				if ok {
					t.Errorf("the watch was told %+v", got)
				}
			case <-time.After(soon):
				t.Errorf("the watch was not closed")
			}
		})

	registerIf(watchesFinished, "Watch/EndsWithClose",
		"Close ends every watch without a value, and later ones are refused.",
		func(t *T) {
			t.insert(0, request("a"))
			ends := t.watch(t.ctx, "a")
			t.must("Close", t.Store.Close())
			select {
			case got, ok := <-ends:
				if ok {
					t.Errorf("the watch was told %+v", got)
				}
			case <-time.After(soon):
				t.Errorf("the watch was not closed")
			}
			_, err := t.Store.(driver.FinishWatcher).WatchFinished(t.ctx, "a")
			t.failsWith("WatchFinished after Close", err, driver.ErrClosed)
		})

	registerIf(watchesCancels, "Watch/CancelsEndWithClose",
		"Close ends a watch of cancels with ErrClosed, and later ones too.",
		func(t *T) {
			w, done := t.cancelWatcher(), make(chan error, 1)
			go func() { done <- w.WatchCancels(t.ctx, func(string) {}) }()
			t.must("Close", t.Store.Close())
			t.endsWith("WatchCancels", done, driver.ErrClosed)
			t.failsWith("WatchCancels after Close", w.WatchCancels(t.ctx, func(string) {}), driver.ErrClosed)
		})

	registerIf(watchesCancels, "Watch/Cancels",
		"Cancel requests of active jobs are delivered; those of jobs that were not active are not; the watch ends with its context's error.",
		func(t *T) {
			w := t.cancelWatcher()
			t.insert(0, request("a"), request("waiting", inQueue("other")))
			t.claimOne(0)
			ctx, cancel := context.WithCancel(t.ctx)
			defer cancel()
			ids, done := make(chan string, 100), make(chan error, 1)
			go func() {
				done <- w.WatchCancels(ctx, func(id string) {
					select {
					case ids <- id:
					default:
					}
				})
			}()
			// The watch takes effect at some time after the call: ask until it delivers.
			late := time.After(soon)
			ask := time.NewTicker(10 * time.Millisecond)
			defer ask.Stop()
			t.cancel(0, "waiting")
			for delivered := false; !delivered; {
				t.cancel(0, "a")
				select {
				case id := <-ids:
					t.equal("delivered", id, "a")
					delivered = true
				case <-ask.C:
				case <-late:
					t.Fatalf("no cancel request was delivered")
				}
			}
			t.insert(0, request("b"), request("late", after(500)))
			t.claimOne(0)
			t.cancel(0, "late")
			t.cancel(0, "b")
			for id := ""; id != "b"; {
				select {
				case id = <-ids:
					if id != "a" && id != "b" {
						t.Errorf("a cancel of %q, which was not active, was delivered", id)
					}
				case <-late:
					t.Fatalf("the cancel request of the second job was not delivered")
				}
			}
			cancel()
			t.endsWith("WatchCancels", done, context.Canceled)
		})
}

// cancelWatcher returns the store's power to push cancel requests.
func (t *T) cancelWatcher() driver.CancelWatcher {
	t.Helper()
	w, ok := t.Store.(driver.CancelWatcher)
	if !ok {
		t.Fatalf("the store is no driver.CancelWatcher, and the harness does not declare that")
	}
	return w
}

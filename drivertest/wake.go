package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/braidmq/braid/driver"
)

const (
	// soon is long enough for any wake to arrive.
	soon = 20 * time.Second
	// meanwhile is how long a case watches that something does not happen.
	meanwhile = 60 * time.Millisecond
)

func wakes(h Harness) bool { return !h.NoWaker }

// waker returns the store's power to wake.
func (t *T) waker() driver.Waker {
	t.Helper()
	w, ok := t.Store.(driver.Waker)
	if !ok {
		t.Fatalf("the store is no driver.Waker, and the harness does not declare that")
	}
	return w
}

// wakeCursor claims nothing from a queue and returns the wake cursor.
func (t *T) wakeCursor(queue string) driver.WakeCursor {
	t.Helper()
	return t.claimWith(0, driver.ClaimRequest{Queue: queue, Names: []string{"nobody"}}).Cursor
}

// awaits starts to wait and returns the channel of its end.
func (t *T) awaits(ctx context.Context, since driver.WakeCursor, queues ...string) <-chan error {
	t.Helper()
	w, done := t.waker(), make(chan error, 1)
	go func() { done <- w.AwaitWake(ctx, queues, since) }()
	return done
}

// isWoken fails unless a wait ends without an error.
func (t *T) isWoken(what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.must(what, err)
	case <-time.After(soon):
		t.Fatalf("%s: not woken", what)
	}
}

// asleep fails if a wait ends.
func (t *T) asleep(what string, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("%s: the wait ended (error %v); want it to go on", what, err)
	case <-time.After(meanwhile):
	}
}

// endsWith fails unless a wait ends with that error.
func (t *T) endsWith(what string, done <-chan error, want error) {
	t.Helper()
	select {
	case err := <-done:
		t.failsWith(what, err, want)
	case <-time.After(soon):
		t.Fatalf("%s does not end; want %v", what, want)
	}
}

// wakeUp is something that wakes a queue.
type wakeUp struct {
	name    string
	prepare func(t *T) run
	do      func(t *T, r run)
}

var wakeUps = []wakeUp{
	{name: "Enqueue", do: func(t *T, _ run) { t.insert(0, request("new")) }},
	{name: "EnqueueOfABatch", do: func(t *T, _ run) { t.insert(0, request("x", inQueue("other")), request("new")) }},
	{name: "EnqueueOfADelayedJob", do: func(t *T, _ run) { t.insert(0, request("new", after(90_000))) }},
	{name: "Replace", prepare: func(t *T) run {
		t.insert(0, request("a", dedupe("k"), after(90_000)))
		return run{}
	}, do: func(t *T, _ run) { t.duplicate(0, request("b", dedupe("k"), replacing, after(10)), "a") }},
	{name: "RetryAck", prepare: active, do: func(t *T, r run) { t.settle(0, r.ack(driver.AckRetry), driver.Waiting) }},
	{name: "DelayedRetryAck", prepare: active, do: func(t *T, r run) {
		ack := r.ack(driver.AckRetry)
		ack.Delay = 500
		t.settle(0, ack, driver.Delayed)
	}},
	{name: "Snooze", prepare: active, do: func(t *T, r run) { t.settle(0, r.ack(driver.AckSnooze), driver.Waiting) }},
	{name: "Release", prepare: active, do: func(t *T, r run) { t.settle(0, r.ack(driver.AckRelease), driver.Waiting) }},
	{name: "Recovery", prepare: active, do: func(t *T, _ run) { t.recover(1_000_000, 5) }},
	{name: "Promotion", prepare: func(t *T) run { t.insert(0, request("a", after(90_000))); return run{} },
		do: func(t *T, _ run) { t.promote(0, "a") }},
	{name: "OperatorsRetry", prepare: func(t *T) run { t.finished(0, request("a"), driver.Failed); return run{} },
		do: func(t *T, _ run) { t.retry(0, "a") }},
	{name: "Resume", prepare: func(t *T) run { t.pause(someQueue); return run{} }, do: func(t *T, _ run) { t.resume(someQueue) }},
	{name: "Tick", prepare: func(t *T) run { t.upsert(schedule("a")); return run{} },
		do: func(t *T, _ run) { t.tick(1000, slot("a", 1000, 2000)) }},
}

func active(t *T) run { return t.start(0, request("a")) }

func init() {
	for _, w := range wakeUps {
		registerIf(wakes, "Wake/By"+w.name,
			"A transition to waiting or delayed, and a resume, wake the waiters of their queue; a wake between the claim and the wait is never lost.",
			func(t *T) {
				var r run
				if w.prepare != nil {
					r = w.prepare(t)
				}
				cursor := t.wakeCursor(someQueue)
				w.do(t, r)
				t.isWoken("a wait that began after the "+w.name, t.awaits(t.ctx, cursor, someQueue))
			})
	}

	registerIf(wakes, "Wake/WhileWaiting",
		"Every waiter of a queue is woken by an enqueue, whichever other queues it waits for.",
		func(t *T) {
			cursor := t.wakeCursor(someQueue)
			alone := t.awaits(t.ctx, cursor, someQueue)
			among := t.awaits(t.ctx, cursor, "p", someQueue, "r")
			t.asleep("before the enqueue", alone)
			t.insert(0, request("a"))
			t.isWoken("waiting for the queue alone", alone)
			t.isWoken("waiting for several queues", among)
		})

	registerIf(wakes, "Wake/OnlyItsQueue",
		"Work on another queue does not wake.",
		func(t *T) {
			cursor := t.wakeCursor(someQueue)
			ctx, cancel := context.WithCancel(t.ctx)
			defer cancel()
			mine := t.awaits(ctx, cursor, someQueue, "r")
			other := t.awaits(ctx, cursor, "other")
			t.insert(0, request("x", inQueue("other")))
			t.isWoken("the other queue's waiter", other)
			t.asleep("the waiter of another queue", mine)
			cancel()
			t.endsWith("the wait after its context ended", mine, context.Canceled)
		})

	registerIf(wakes, "Wake/NotTwice",
		"What a claim has seen does not wake: a wait from its cursor goes on until something new comes.",
		func(t *T) {
			cursor := t.wakeCursor(someQueue)
			t.insert(0, request("a"))
			t.isWoken("the first wait", t.awaits(t.ctx, cursor, someQueue))
			cursor = t.claimWith(0, driver.ClaimRequest{Limit: 5}).Cursor
			again := t.awaits(t.ctx, cursor, someQueue)
			t.asleep("the wait after the claim", again)
			t.insert(0, request("b"))
			t.isWoken("the wait after another enqueue", again)
		})

	registerIf(wakes, "Wake/DuplicatesDoNotWake",
		"An enqueue that inserts nothing wakes nobody.",
		func(t *T) {
			t.insert(0, request("a", dedupe("k")))
			t.isWoken("the insert before", t.awaits(t.ctx, 0, someQueue))
			waiting := t.awaits(t.ctx, t.wakeCursor(someQueue), someQueue)
			t.duplicate(0, request("a"), "a")
			t.duplicate(0, request("b", dedupe("k")), "a")
			t.asleep("after duplicates", waiting)
			t.insert(0, request("c"))
			t.isWoken("after an insert", waiting)
		})

	registerIf(wakes, "Wake/EndsDoNotWake",
		"What brings no work wakes nobody: claims, heartbeats, ends, cancels, removals and pauses.",
		func(t *T) {
			t.insert(0, request("a"), request("b"), request("c"))
			t.isWoken("the insert before", t.awaits(t.ctx, 0, someQueue))
			waiting := t.awaits(t.ctx, t.wakeCursor(someQueue), someQueue)
			runs := t.claim(0, 2)
			t.heartbeat(0, runs[0].lock())
			t.complete(0, runs[0], `1`)
			t.cancel(0, "b")
			t.settle(0, runs[1].ack(driver.AckCancelled), driver.Cancelled)
			t.remove(0, "b", "c")
			t.pause(someQueue)
			t.asleep("after all that", waiting)
			t.resume(someQueue)
			t.isWoken("after the resume", waiting)
		})

	registerIf(wakes, "Wake/ObeysItsContext",
		"A wait ends with its context's error, also if that has ended before.",
		func(t *T) {
			cursor := t.wakeCursor(someQueue)
			ctx, cancel := context.WithCancel(t.ctx)
			waiting := t.awaits(ctx, cursor, someQueue)
			cancel()
			for _, done := range []<-chan error{waiting, t.awaits(ctx, cursor, someQueue)} {
				t.endsWith("the wait", done, context.Canceled)
			}
		})

	registerIf(wakes, "Wake/EndsWithClose",
		"Close ends every wait with ErrClosed.",
		func(t *T) {
			waiting := t.awaits(t.ctx, t.wakeCursor(someQueue), someQueue)
			t.asleep("before Close", waiting)
			t.must("Close", t.Store.Close())
			for _, done := range []<-chan error{waiting, t.awaits(t.ctx, 0, someQueue)} {
				t.endsWith("the wait", done, driver.ErrClosed)
			}
		})

	registerIf(func(h Harness) bool { return wakes(h) && h.Reopen != nil }, "Wake/AcrossProcesses",
		"An enqueue by another process wakes.",
		func(t *T) {
			waiting := t.awaits(t.ctx, t.wakeCursor(someQueue), someQueue)
			t.Store = t.Harness.Reopen(t, t.Store)
			t.insert(0, request("a"))
			t.isWoken("the first process's wait", waiting)
		})

	registerIf(func(h Harness) bool { return wakes(h) && h.DropConnections != nil }, "Wake/AfterReconnect",
		"A dropped connection is made again by itself, and everyone is woken once after it; then wakes arrive as before.",
		func(t *T) {
			waiting := t.awaits(t.ctx, t.wakeCursor(someQueue), someQueue)
			t.asleep("before the drop", waiting)
			t.Harness.DropConnections(t, t.Store)
			t.isWoken("the wait over the drop", waiting)
			cursor := t.cursorAfterDrop()
			t.insert(0, request("a"))
			t.isWoken("the wait after the drop", t.awaits(t.ctx, cursor, someQueue))
		})
}

// cursorAfterDrop claims until the store answers again, as a worker would.
func (t *T) cursorAfterDrop() driver.WakeCursor {
	t.Helper()
	for {
		result, err := t.Store.Claim(t.ctx, 0, driver.ClaimRequest{
			Queue: someQueue, Names: []string{"nobody"}, Worker: "w", Token: t.token(), Limit: 1, LockDuration: lockFor})
		if err == nil {
			return result.Cursor
		}
		if errors.Is(err, context.DeadlineExceeded) || !driver.Retryable(err) {
			t.Fatalf("Claim after the drop: %v", err)
		}
	}
}

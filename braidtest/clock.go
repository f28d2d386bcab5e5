package braidtest

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid"
)

// Settle runs what can run now, and what that enqueues, until no job is waiting or
// active. Delayed jobs, such as those that rest before another attempt, stay. On a fake
// clock, time passes only for handlers that take some. A job that no worker takes ends
// the test, and the failure tells why.
func (t *T) Settle() {
	t.Helper()
	t.await("run", func(c braid.Counts) bool { return c.Waiting+c.Active == 0 })
}

// Drain runs everything: it lets time pass until each delayed job is due, until no job
// is left that has not ended. Schedules fire meanwhile, but do not keep it from ending.
// A job that nothing will bring to its end, such as one of a paused queue, ends the test.
func (t *T) Drain() {
	t.Helper()
	t.needFakeClock("Drain")
	const spare = 2000 // leaps, for retries, snoozes and what jobs enqueue
	mostLeaps := int(t.counts().Delayed) + spare
	for range mostLeaps {
		t.await("end", func(c braid.Counts) bool { return c.Waiting+c.Active == 0 && (c.WaitingChildren == 0 || c.Delayed > 0) })
		due, found := t.firstDelayed()
		if !found {
			return
		}
		if slot, scheduled := t.firstSlot(); scheduled && slot.Before(due) {
			due = slot
		}
		t.leap(due)
	}
	t.Fatalf("braidtest: jobs do not come to an end: Drain has waited %d times for one to fall due; use Advance for jobs that enqueue themselves again, or snooze for ever.\nFor example:%s",
		mostLeaps, t.examples(braid.Delayed, braid.Waiting))
}

// Advance lets time pass, and runs what falls due in it.
func (t *T) Advance(d time.Duration) {
	t.Helper()
	t.needFakeClock("Advance")
	end := time.Now().Add(d)
	for {
		t.Settle()
		next, found := t.firstDelayed()
		if slot, scheduled := t.firstSlot(); scheduled && (!found || slot.Before(next)) {
			next, found = slot, true
		}
		if !found || next.After(end) {
			break
		}
		t.leap(next)
	}
	if time.Now().Before(end) {
		t.leap(end)
	}
}

func (t *T) needFakeClock(method string) {
	t.Helper()
	if !t.fake {
		t.Fatalf("braidtest: %s needs a fake clock; use braidtest.Run, or Settle and t.Client.Promote", method)
	}
}

const (
	// nap is for what is due, which may take a moment to be noticed.
	nap = 10 * time.Millisecond
	// worthResting is for how long a worker goes on with its housekeeping; it would
	// have to be done for each second of a longer leap.
	worthResting = 2 * time.Second
	// overdue is how long what is due may go unnoticed.
	overdue = 10 * time.Second
)

// leap lets time pass until something falls due. What has been for long, nobody sees to.
func (t *T) leap(to time.Time) {
	t.Helper()
	if time.Since(to) > overdue {
		t.Fatalf("braidtest: nobody sees to what was due at %v: start a worker that handles jobs of that queue, or any of that store, with t.Work.%s%s",
			to.UTC().Format(time.DateTime), t.examples(braid.Delayed), t.dueSchedules(to))
	}
	d := max(time.Until(to), nap)
	if d > worthResting {
		t.rest()
		defer t.start()
	}
	time.Sleep(d)
	synctest.Wait()
}

// await lets time pass until the counts of all stores together are as they should be.
func (t *T) await(what string, done func(braid.Counts) bool) {
	t.Helper()
	patience := t.patience()
	var last braid.Counts
	changed := time.Now()
	for step := time.Millisecond; ; step = min(2*step, time.Second) {
		if t.fake {
			synctest.Wait()
		}
		counts := t.counts()
		if done(counts) {
			return
		}
		for _, w := range t.workers {
			t.checkWorker(w)
		}
		if len(t.workers) == 0 {
			t.Fatalf("braidtest: jobs wait and there is no worker; start one with t.Work. For example:%s", t.examples(braid.Waiting, braid.WaitingChildren))
		}
		idle := patience.idle
		if counts.Active > 0 {
			idle = patience.handlers
		}
		if counts != last {
			last, changed = counts, time.Now()
		}
		if time.Since(changed) > idle {
			t.Fatalf("braidtest: for %v, jobs do not %s:%s", idle, what, t.examples(braid.Active, braid.Waiting, braid.WaitingChildren))
		}
		t.pause(step)
	}
}

// patience is for how long nothing may change while jobs are to come to an end.
type patience struct {
	idle     time.Duration // while jobs wait
	handlers time.Duration // while handlers run
}

func (t *T) patience() patience {
	if t.fake {
		return patience{idle: 10 * time.Minute, handlers: 6 * time.Hour}
	}
	return patience{idle: 10 * time.Second, handlers: time.Hour}
}

// pause waits until something happens in a store, at most for d.
func (t *T) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.journal.changed:
	case <-timer.C:
	}
}

// firstDelayed returns when the first delayed job falls due.
func (t *T) firstDelayed() (due time.Time, found bool) {
	t.Helper()
	ctx := context.Background()
	for _, client := range t.stores() {
		queues, err := client.Queues(ctx)
		t.must(err)
		for _, queue := range queues {
			page, err := client.List(ctx, braid.ListFilter{
				Queue: queue, States: []braid.State{braid.Delayed}, OrderBy: braid.ByRunAt, Ascending: true, Limit: 1})
			t.must(err)
			if len(page.Jobs) > 0 && (!found || page.Jobs[0].RunAt.Before(due)) {
				due, found = page.Jobs[0].RunAt, true
			}
		}
	}
	return due, found
}

// firstSlot returns when the first schedule fires; never, without a worker that would
// see to it.
func (t *T) firstSlot() (at time.Time, found bool) {
	t.Helper()
	if len(t.workers) == 0 {
		return at, false
	}
	for _, client := range t.stores() {
		schedules, err := client.Schedules(context.Background(), braid.ScheduleFilter{})
		t.must(err)
		for _, s := range schedules {
			if !found || s.NextRunAt.Before(at) {
				at, found = s.NextRunAt, true
			}
		}
	}
	return at, found
}

package drivertest

import "github.com/braidmq/braid/driver"

// Every way in which a child ends puts its outcome into the outbox, once; nothing
// else does.

// terminalPath is one way in which a child ends.
type terminalPath struct {
	name string
	end  func(t *T, now driver.Time, c driver.EnqueueRequest) // of a child that was not enqueued yet
	want driver.ChildReport                                   // besides ids and key
	gone bool                                                 // the child is removed by it
}

const outboxRule = "Whenever any operation moves a job with an envelope into a terminal state, the same step appends to the outbox."

var endedCancelled = driver.ChildReport{Outcome: driver.ChildCancelled}

var terminalPaths = []terminalPath{
	{"AckComplete", func(t *T, now driver.Time, c driver.EnqueueRequest) { t.complete(now, t.start(0, c), `{"n":1}`) },
		driver.ChildReport{Outcome: driver.ChildCompleted, Exit: []byte(`{"n":1}`)}, false},
	{"AckCompleteWithoutExit", ackPath(driver.AckComplete, driver.Completed), driver.ChildReport{Outcome: driver.ChildCompleted}, false},
	{"AckCompleteWithNull", func(t *T, now driver.Time, c driver.EnqueueRequest) { t.complete(now, t.start(0, c), `null`) },
		driver.ChildReport{Outcome: driver.ChildCompleted, Exit: []byte(`null`)}, false},
	{"AckFail", func(t *T, now driver.Time, c driver.EnqueueRequest) { t.fail(now, t.start(0, c), `"broken"`) },
		driver.ChildReport{Outcome: driver.ChildFailed, Exit: []byte(`"broken"`)}, false},
	{"AckCancelled", ackPath(driver.AckCancelled, driver.Cancelled), endedCancelled, false},
	{"CancelOfWaiting", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		t.insert(0, c)
		t.cancel(now, c.ID)
	}, endedCancelled, false},
	{"CancelOfDelayed", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		c.Delay = 60_000
		t.insert(0, c)
		t.cancel(now, c.ID)
	}, endedCancelled, false},
	{"CancelByDedupe", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		dedupe("k")(&c)
		t.insert(0, c)
		if done, err := t.Store.CancelByDedupe(t.ctx, now, c.Name, "k"); err != nil || !done {
			t.Fatalf("CancelByDedupe: %v, %v", done, err)
		}
	}, endedCancelled, false},
	{"CancelWinsOverRetry", cancelPath(driver.AckRetry), endedCancelled, false},
	{"CancelWinsOverSnooze", cancelPath(driver.AckSnooze), endedCancelled, false},
	{"CancelWinsOverRelease", cancelPath(driver.AckRelease), endedCancelled, false},
	{"CancelWinsOverFanOut", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		r := t.start(0, c)
		t.stage(r, "grandchild")
		t.cancel(0, c.ID)
		t.fanOut(now, r, false, 1, driver.Cancelled)
	}, endedCancelled, false},
	{"CancelWinsOverStall", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		t.start(0, c)
		t.cancel(0, c.ID)
		t.equal("the stalled jobs", len(t.recover(now, 3)), 0)
	}, endedCancelled, false},
	{"StalledTooOften", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		t.start(0, c)
		t.equal("the stalled jobs", t.recover(now, 0), []driver.Recovered{{ID: c.ID, Failed: true}})
	}, driver.ChildReport{Outcome: driver.ChildFailed, FailedReason: driver.StalledReason}, false},
	{"CancelOfAParkedParent", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		t.park(0, c, false, "grandchild")
		t.cancel(now, c.ID)
	}, endedCancelled, false},
	{"FailFastOfANestedParent", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		r := t.park(0, c, true, "x", "y")
		t.applies(now, report(r, "x", driver.ChildFailed), settled)
	}, driver.ChildReport{Outcome: driver.ChildFailed, FailedReason: driver.FailFastReason("x")}, false},
	{"FailFastAsTheLastPending", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		r := t.park(0, c, true, "x")
		t.applies(now, report(r, "x", driver.ChildFailed), settled)
	}, driver.ChildReport{Outcome: driver.ChildFailed, FailedReason: driver.FailFastReason("x")}, false},
	{"RemoveOfWaiting", removePath(0), endedCancelled, true},
	{"RemoveOfDelayed", removePath(60_000), endedCancelled, true},
	{"CompleteWins", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		r := t.start(0, c)
		t.cancel(0, c.ID)
		t.complete(now, r, "1")
	}, driver.ChildReport{Outcome: driver.ChildCompleted, Exit: []byte("1")}, false},
	{"FailWins", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		r := t.start(0, c)
		t.cancel(0, c.ID)
		t.fail(now, r, "1")
	}, driver.ChildReport{Outcome: driver.ChildFailed, Exit: []byte("1")}, false},
	{"KeptByNobody", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		keepNewest(0)(&c)
		t.complete(now, t.start(0, c), "1")
	}, driver.ChildReport{Outcome: driver.ChildCompleted, Exit: []byte("1")}, true},
	{"CollectCompletes", func(t *T, now driver.Time, c driver.EnqueueRequest) {
		r := t.park(0, c, false, "x")
		t.applies(0, report(r, "x", driver.ChildCompleted), settled)
		t.complete(now, t.claimOne(0), "1")
	}, driver.ChildReport{Outcome: driver.ChildCompleted, Exit: []byte("1")}, false},
}

func ackPath(kind driver.AckKind, state driver.State) func(*T, driver.Time, driver.EnqueueRequest) {
	return func(t *T, now driver.Time, c driver.EnqueueRequest) { t.settle(now, t.start(0, c).ack(kind), state) }
}

func cancelPath(kind driver.AckKind) func(*T, driver.Time, driver.EnqueueRequest) {
	return func(t *T, now driver.Time, c driver.EnqueueRequest) {
		r := t.start(0, c)
		t.cancel(0, c.ID)
		t.settle(now, r.ack(kind), driver.Cancelled)
	}
}

func removePath(delay driver.Millis) func(*T, driver.Time, driver.EnqueueRequest) {
	return func(t *T, now driver.Time, c driver.EnqueueRequest) {
		c.Delay = delay
		t.insert(0, c)
		t.equal("Remove", t.remove(now, c.ID), []bool{true})
	}
}

func init() {
	for _, p := range terminalPaths {
		register("Outbox/"+p.name, outboxRule, func(t *T) { endsOnce(t, p) })
	}
	register("Outbox/NotWhileTheJobLives",
		"The outbox is for terminal transitions: not for a retry, snooze, release, stall, promotion, parking, or resuming.",
		notWhileAlive)
	register("Outbox/NotByRefusals",
		"What is refused or changes nothing appends nothing.",
		notByRefusals)
	register("Outbox/NotWithoutEnvelope",
		"Only a job with an envelope is reported.",
		notWithoutEnvelope)
	register("Outbox/RetriedChildReportsAgain",
		"A child that is retried and ends again is reported again; redelivery is always safe.",
		retriedReportsAgain)
}

// fosterChild returns a request for a child whose parent lives in another store.
func fosterChild(id string, edits ...edit) driver.EnqueueRequest {
	return request(id, append([]edit{child(driver.Envelope{
		FlowName: "digest", FlowID: "far", Run: "far run", ChildKey: "key of " + id, ParentStoreKey: "elsewhere", Depth: 1,
	})}, edits...)...)
}

// fosterEntry returns the outbox entry of a foster child, without its id.
func fosterEntry(id string, at driver.Time, r driver.ChildReport) driver.OutboxEntry {
	r.FlowID, r.ChildKey, r.ChildJobID = "far", "key of "+id, id
	return driver.OutboxEntry{At: at, FlowName: "digest", ParentStoreKey: "elsewhere", Report: r}
}

// endsOnce ends a child on a path, tries to end it again, and wants one entry.
func endsOnce(t *T, p terminalPath) {
	const now = driver.Time(100_000)
	p.end(t, now, fosterChild("c"))
	if present := t.jobs("c")[0] != nil; present == p.gone {
		t.Errorf("the child is present: %v", present)
	}

	t.operate(t.Store.Cancel, now, "c")
	t.remove(now, "c")
	t.ackAll(now, driver.Ack{ID: "c", Token: "token-1", Kind: driver.AckComplete})
	entries := t.outbox()
	if len(entries) == 1 {
		if entries[0].ID == "" {
			t.Errorf("the entry has no id")
		}
		entries = []driver.OutboxEntry{entries[0]}
		entries[0].ID = ""
	}
	t.equal("the outbox", entries, []driver.OutboxEntry{fosterEntry("c", now, p.want)})
}

func notWhileAlive(t *T) {
	quiet := func(what string) {
		t.Helper()
		if entries := t.outbox(); len(entries) != 0 {
			t.Errorf("%s: the outbox holds %+v", what, entries)
		}
	}
	r := t.start(0, fosterChild("c", after(0)))
	quiet("enqueue and claim")
	t.settle(0, r.ack(driver.AckRetry), driver.Waiting)
	quiet("a retry")
	snooze := t.claimOne(0).ack(driver.AckSnooze)
	snooze.Delay = 1000
	t.settle(0, snooze, driver.Delayed)
	quiet("a snooze")
	t.promote(0, "c")
	quiet("a promotion")
	t.settle(0, t.claimOne(0).ack(driver.AckRelease), driver.Waiting)
	quiet("a release")
	t.claimOne(0)
	t.recover(driver.Time(lockFor), 3)
	quiet("a stall")
	first := t.claimOne(0)
	t.stage(first, "x")
	t.fanOut(0, first, false, 1, driver.WaitingChildren)
	quiet("parking")
	t.applies(0, report(first, "x", driver.ChildFailed), settled)
	quiet("resuming")
	last := t.claimOne(0)
	t.cancel(0, "c")
	quiet("a cancel request")
	t.complete(0, last, "1")
	t.equal("the outbox at the end", reportedIDs(t.outbox()), []string{"c"})

	empty := t.start(0, fosterChild("d"))
	t.fanOut(0, empty, false, 0, driver.Waiting)
	t.equal("the outbox after an empty fan-out", reportedIDs(t.outbox()), []string{"c"})
}

func notByRefusals(t *T) {
	t.finished(0, fosterChild("done"), driver.Completed)
	entries := t.outbox()
	t.operate(t.Store.Cancel, 1000, "done", "unknown")
	t.enqueue(1000, fosterChild("done"))
	t.remove(1000, "done", "unknown")
	active := t.start(1000, fosterChild("active"))
	t.remove(1000, "active")
	stale := active.ack(driver.AckComplete)
	stale.Token = "x"
	t.ackAll(1000, stale)
	t.equal("the outbox", t.outbox(), entries)
}

func notWithoutEnvelope(t *T) {
	for i, state := range []driver.State{driver.Completed, driver.Failed, driver.Cancelled} {
		t.finished(0, request(string(rune('a'+i))), state)
	}
	t.insert(0, request("removed"))
	t.remove(0, "removed")
	t.park(0, request("p"), false, "x")
	t.cancel(0, "p")
	t.equal("the length of the outbox", len(t.outbox()), 0)
	backlog, err := t.Store.OutboxBacklog(t.ctx)
	t.must("OutboxBacklog", err)
	t.equal("OutboxBacklog", backlog, driver.OutboxBacklog{})
}

func retriedReportsAgain(t *T) {
	t.finished(0, fosterChild("c"), driver.Failed)
	t.retry(1000, "c")
	t.complete(2000, t.claimOne(1000), "2")
	entries := t.outbox()
	for i := range entries {
		entries[i].ID = ""
	}
	t.equal("the outbox", entries, []driver.OutboxEntry{
		fosterEntry("c", 0, driver.ChildReport{Outcome: driver.ChildFailed, Exit: []byte(`"broken"`)}),
		fosterEntry("c", 2000, driver.ChildReport{Outcome: driver.ChildCompleted, Exit: []byte("2")}),
	})
}

package drivertest

import (
	"fmt"
	"slices"

	"github.com/braidmq/braid/driver"
)

// How a generator draws the calls that need more than a line.

func (g *historian) enqueue() historyCall {
	batch := make([]driver.EnqueueRequest, 1+g.IntN(3))
	for i := range batch {
		r := driver.EnqueueRequest{Spec: g.spec()}
		if !g.chance(3) {
			r.ID = pick(g, historyIDs)
			if r.ID == nestedParent && !g.chance(6) {
				r.ID = "" // leave it to be a child, mostly
			}
		}
		if g.chance(3) {
			r.Delay = driver.Millis(pick(g, []int{1, 100, 700}))
		}
		if g.chance(3) {
			r.Dedupe = &driver.Dedupe{Key: pick(g, historyKeys), Extend: g.chance(2), Replace: g.chance(2)}
			if g.chance(2) {
				r.Dedupe.TTL = driver.Some(driver.Millis(pick(g, []int{50, 400, 3000})))
			}
			if g.chance(2) {
				r.ID = "" // an id that exists would come first
			}
		}
		batch[i] = r
	}
	return enqueueCall{Tag: g.calls, Batch: batch}
}

// enqueueChildren does what a worker does behind a fan-out, and the sweep again:
// it enqueues the children of a flow, mostly of one that is parked.
func (g *historian) enqueueChildren() historyCall {
	if len(g.landed) == 0 {
		return g.enqueue()
	}
	parent := pick(g, g.landed).Request.Parent
	for _, n := range g.Perm(len(g.landed)) {
		p := g.landed[n].Request.Parent
		if j := g.job(p.FlowID); j != nil && j.State == driver.WaitingChildren && !g.chance(4) {
			parent = p
			break
		}
	}
	var batch []driver.EnqueueRequest
	for _, child := range g.landed {
		if child.Request.Parent.Run == parent.Run && child.Request.Parent.FlowID == parent.FlowID && !g.chance(5) {
			batch = append(batch, child.Request)
		}
	}
	return enqueueCall{Tag: g.calls, Batch: batch}
}

func (g *historian) claim() historyCall {
	c := driver.ClaimRequest{
		Queue: pick(g, historyQueues), Names: historyNames, Worker: pick(g, []string{"w1", "w2"}),
		Token: g.token(), Limit: 1 + g.IntN(3), LockDuration: pick(g, []driver.Millis{20, 200, 2000}),
	}
	if g.chance(4) {
		c.Names = historyNames[:g.IntN(3)]
	}
	if len(g.held) > 0 && g.chance(10) {
		c.Token, c.Resume, c.Limit = pick(g, g.held).Token, true, 50
		c.Queue = g.queues[c.Token]
	}
	return claimCall{c}
}

// lock returns a lock, mostly one that is still held.
func (g *historian) lock() driver.Lock {
	if len(g.held) == 0 || g.chance(12) {
		return driver.Lock{ID: g.id(), Token: "no token"}
	}
	for range 4 {
		l := pick(g, g.held)
		if j := g.job(l.ID); j != nil && j.State == driver.Active {
			return l
		}
	}
	return pick(g, g.held)
}

func (g *historian) ack() historyCall {
	kinds := []driver.AckKind{
		driver.AckComplete, driver.AckComplete, driver.AckFail, driver.AckCancelled, driver.AckRetry, driver.AckSnooze, driver.AckRelease,
	}
	var batch []driver.Ack
	for range 1 + g.IntN(3) {
		l := g.lock()
		if slices.ContainsFunc(batch, func(a driver.Ack) bool { return a.ID == l.ID }) {
			continue
		}
		if len(g.staged[l]) > 0 && !g.chance(5) {
			continue // it is about to fan out
		}
		if j := g.job(l.ID); len(batch) > 0 && j != nil && j.State.Terminal() {
			continue
		}
		a := driver.Ack{ID: l.ID, Token: l.Token, Kind: pick(g, kinds)}
		switch a.Kind {
		case driver.AckComplete, driver.AckFail:
			a.Exit = g.value()
		case driver.AckRetry:
			a.Exit, a.Delay = g.value(), pick(g, historySteps)
		case driver.AckSnooze:
			a.Delay = pick(g, historySteps)
		}
		batch = append(batch, a)
	}
	return ackCall{batch}
}

// lockOf returns a lock of an active job that suits, if there is one among the
// newest.
func (g *historian) lockOf(suits func(l driver.Lock, j *driver.Job) bool) (driver.Lock, bool) {
	for _, n := range g.Perm(len(g.held)) {
		l := g.held[n]
		if j := g.job(l.ID); j != nil && j.State == driver.Active && suits(l, j) {
			return l, true
		}
	}
	return driver.Lock{}, false
}

// stage draws the children of a run. Only jobs with an id of the history's own
// become parents.
func (g *historian) stage() historyCall {
	suits := func(l driver.Lock, j *driver.Job) bool {
		return slices.Contains(historyIDs, l.ID) && (j.Flow == nil || g.chance(8))
	}
	l, ok := g.lockOf(func(l driver.Lock, j *driver.Job) bool { return j.Parent != nil && suits(l, j) })
	if !ok {
		l, ok = g.lockOf(suits)
	}
	if g.chance(10) {
		l, ok = driver.Lock{ID: pick(g, historyIDs), Token: "no token"}, true
	}
	if !ok {
		return g.claim()
	}
	c := stageCall{ID: l.ID, Token: l.Token}
	for range 1 + g.IntN(3) {
		key := pick(g, historyChildren)
		if slices.ContainsFunc(c.Page, func(s driver.StagedChild) bool { return s.ChildKey == key }) {
			continue
		}
		child := stagedUnder(l.ID, l.Token, key, func(r *driver.EnqueueRequest) {
			envelope := r.Parent
			r.Spec = g.spec()
			r.Parent = envelope
			if key == "z" && l.ID != nestedParent {
				r.ID = nestedParent
			}
		})
		c.Page = append(c.Page, child)
	}
	if g.chance(15) {
		c.Page[len(c.Page)-1].Request.ID = ""
	}
	return c
}

// fanOut acks a run that has staged children, and at times one that has not.
func (g *historian) fanOut() historyCall {
	l, ok := g.lockOf(func(l driver.Lock, _ *driver.Job) bool {
		return len(g.staged[l]) > 0 || slices.Contains(historyIDs, l.ID) && g.chance(15)
	})
	if !ok {
		return g.stage()
	}
	a := driver.Ack{ID: l.ID, Token: l.Token, Kind: driver.AckFanOut, FailFast: g.chance(2), Children: int64(len(g.staged[l]))}
	if j := g.job(l.ID); j.Flow == nil && !j.CancelRequested && g.chance(10) {
		a.Children++
	}
	return ackCall{[]driver.Ack{a}}
}

func (g *historian) operate() historyCall {
	if g.chance(4) {
		// The races of a cancel with what a run is about to say.
		l, ok := g.lockOf(func(l driver.Lock, _ *driver.Job) bool { return g.chance(2) || len(g.staged[l]) > 0 })
		if ok {
			return operateCall{"cancel", []string{l.ID}}
		}
	}
	op := pick(g, []string{"cancel", "promote", "retry"})
	wanted := map[string]driver.State{"cancel": driver.WaitingChildren, "promote": driver.Delayed, "retry": driver.Failed}[op]
	if id, ok := g.idIn(wanted); ok && g.chance(2) {
		return operateCall{op, []string{id}}
	}
	return operateCall{op, g.distinctIDs()}
}

// remove makes room for a job of the same id, mostly.
func (g *historian) remove() historyCall {
	if id, ok := g.idIn(driver.Completed, driver.Failed, driver.Cancelled); ok && !g.chance(4) {
		return removeCall{[]string{id}}
	}
	return removeCall{g.distinctIDs()}
}

// idIn returns an id of the history's own whose job is in one of the states, if
// there is one.
func (g *historian) idIn(states ...driver.State) (string, bool) {
	for _, n := range g.Perm(len(historyIDs)) {
		if j := g.job(historyIDs[n]); j != nil && slices.Contains(states, j.State) {
			return j.ID, true
		}
	}
	return "", false
}

func (g *historian) heartbeat() historyCall {
	c := heartbeatCall{Duration: pick(g, []driver.Millis{20, 500})}
	for range 1 + g.IntN(3) {
		if l := g.lock(); !slices.Contains(c.Locks, l) {
			c.Locks = append(c.Locks, l)
		}
	}
	return c
}

// list draws a list that every store serves.
func (g *historian) list() historyCall {
	r := driver.ListRequest{Ascending: g.chance(2), Limit: 1 + g.IntN(5)}
	if g.chance(2) && !g.harness.QueueIndexOff {
		r.Queue = pick(g, historyQueues)
	}
	if g.chance(3) && !g.harness.NameIndexOff {
		r.Name = pick(g, historyNames)
	}
	if g.chance(4) {
		r.Metadata = map[string]string{"tenant": pick(g, []string{"t1", ""})}
	}
	states := driver.States[:]
	switch g.IntN(4) {
	case 0:
		r.OrderBy, r.Metadata = driver.ByFinishedAt, nil
		states = []driver.State{driver.Completed, driver.Failed, driver.Cancelled}
	case 1:
		if g.harness.QueueIndexOff {
			return listCall{r}
		}
		return listCall{driver.ListRequest{Queue: pick(g, historyQueues), States: []driver.State{driver.Delayed},
			OrderBy: driver.ByRunAt, Ascending: r.Ascending, Limit: r.Limit}}
	}
	if r.OrderBy == driver.ByFinishedAt || g.chance(2) {
		r.States = make([]driver.State, 0, len(states))
		none := g.chance(6)
		for _, s := range states {
			if !none && g.chance(2) {
				r.States = append(r.States, s)
			}
		}
		if r.OrderBy == driver.ByFinishedAt && len(r.States) == 0 {
			r.States = states
		}
	}
	return listCall{r}
}

// report draws reports of children that are there, late, unknown, or of another
// run.
func (g *historian) report() historyCall {
	var c reportCall
	for range 1 + g.IntN(4) {
		r := driver.ChildReport{
			FlowID: pick(g, historyIDs), ChildKey: pick(g, historyChildren),
			Outcome: pick(g, []driver.ChildStatus{driver.ChildCompleted, driver.ChildCompleted, driver.ChildFailed, driver.ChildCancelled}),
			Exit:    g.value(),
		}
		if len(g.landed) > 0 && !g.chance(6) {
			of := pick(g, g.landed)
			r.FlowID, r.ChildKey, r.ChildJobID = of.Request.Parent.FlowID, of.ChildKey, of.Request.ID
		}
		if g.chance(8) {
			r.ChildJobID = pick(g, []string{"", "another"})
		}
		if r.Outcome == driver.ChildFailed && g.chance(2) {
			r.Exit, r.FailedReason = nil, driver.StalledReason
		}
		c.Reports = append(c.Reports, r)
	}
	return c
}

func (g *historian) relay() historyCall {
	c := relayCall{PeekRequest: driver.PeekRequest{Limit: 1 + g.IntN(6)}, Record: !g.chance(4), Deletes: g.chance(3)}
	if g.chance(2) {
		c.Hold = pick(g, []driver.Millis{50, 500, 5000})
	}
	if g.chance(4) {
		c.StoreKeys = pick(g, [][]string{{flowStore}, {"elsewhere"}, {"elsewhere", flowStore}})
	}
	if len(g.ref.entries) > 0 && g.chance(4) {
		c.Behind = 1 + g.IntN(len(g.ref.entries))
	}
	return c
}

func (g *historian) schedule() historyCall {
	key := pick(g, historySchedules)
	known, err := g.ref.store.Schedule(g.ref.ctx, key)
	slot := known.NextRunAt
	if err != nil || g.chance(6) {
		slot = g.now
	}
	switch g.IntN(10) {
	case 0, 1, 2:
		spec := g.spec()
		s := driver.Schedule{
			Key: key, JobName: spec.Name, Queue: spec.Queue, Payload: spec.Payload, Metadata: spec.Metadata, Priority: spec.Priority,
			AttemptsMax: spec.AttemptsMax, Backoff: spec.Backoff, Keep: spec.Keep, Timeout: spec.Timeout,
			Overlap: driver.Overlap(g.IntN(2)), Group: pick(g, []string{"", "g1"}), NextRunAt: g.now.Add(pick(g, historySteps)),
		}
		if g.chance(2) {
			s.Every = pick(g, []driver.Millis{100, 200})
		} else {
			s.Cron, s.TZ = "0 9 * * *", pick(g, []string{"", "Europe/Dublin"})
		}
		return upsertCall{s}
	case 3, 4, 5, 6:
		spec := g.spec()
		return tickCall{driver.TickRequest{Key: key, Expected: slot, Next: slot + 100,
			Job: driver.EnqueueRequest{ID: fmt.Sprintf("%s%s/%d", driver.ScheduleIDPrefix, key, slot), Spec: spec}}}
	case 7:
		c := dueCall{Limit: 1 + g.IntN(3)}
		if g.chance(2) {
			c.After = driver.Some(driver.ScheduleCursor{NextRunAt: slot, Key: key})
		}
		return c
	case 8:
		c := schedulesCall{Key: key}
		switch g.IntN(4) {
		case 0:
			c.JobName = pick(g, historyNames)
		case 1:
			c.Queue = pick(g, historyQueues)
		case 2:
			c.Group = driver.Some(pick(g, []string{"", "g1"}))
		case 3:
			c.Cursor, c.Limit = key, 1
		}
		return c
	}
	if g.chance(3) {
		return removeScheduleCall{key}
	}
	return advanceCall{key, slot, slot + 100}
}

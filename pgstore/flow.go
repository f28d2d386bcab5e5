package pgstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
	"github.com/braidmq/braid/internal/storekit"
)

// What a sweep has to do for a flow, as the column standing says.
const (
	standingNone      = 0
	standingArmed     = 1
	standingDue       = 2
	standingOwed      = 3
	standingAbandoned = 4
)

// Where a sweep finds a child, as the column place says.
const (
	placeReturned = 2
	placeAsked    = 3
)

// flowState is a flow. It is locked until the transaction ends.
type flowState struct {
	flow         int64
	jobID        string
	children     int64
	manifest     driver.Manifest
	landedAt     driver.Opt[driver.Time]
	settledEarly bool
	owed         int64
	standing     int16
	armedAt      driver.Opt[driver.Time]
	turn         int64
	askedTurn    *int64

	fresh   bool // to be inserted
	changed bool
	deleted bool
}

// loadFlows loads and locks flows, in the order of their numbers.
func (t *tx) loadFlows(numbers []int64) error {
	if t.flows == nil {
		t.flows = map[int64]*flowState{}
	}
	t.query("flows_load", func(rows pgx.Rows) error {
		f := &flowState{}
		var landedAt, armedAt *int64
		m := &f.manifest
		err := rows.Scan(&f.flow, &f.jobID, &f.children, &m.FailFast, &m.Pending, &m.Completed, &m.Failed, &m.Cancelled,
			&landedAt, &f.settledEarly, &f.owed, &f.standing, &armedAt, &f.turn, &f.askedTurn)
		f.landedAt, f.armedAt = timeOf(landedAt), timeOf(armedAt)
		t.flows[f.flow] = f
		return err
	}, numbers)
	return t.send()
}

// newFlow returns a flow without children.
func (t *tx) newFlow(jobID string) (*flowState, error) {
	number, err := t.number()
	if err != nil {
		return nil, err
	}
	f := &flowState{flow: number, jobID: jobID, fresh: true}
	if t.flows == nil {
		t.flows = map[int64]*flowState{}
	}
	t.flows[number] = f
	return f, nil
}

// abandon makes a flow's rows invisible for good; SweepFlows deletes them.
func (t *tx) abandon(flow int64) error {
	turn, err := t.number()
	if err != nil {
		return err
	}
	f := t.flows[flow]
	f.standing, f.turn, f.askedTurn, f.changed = standingAbandoned, turn, nil, true
	f.deleted = f.children == 0
	return nil
}

// settleEarly cancels the pending rows of a flow, by a mark. Its parent becomes
// terminal in the same step.
func (t *tx) settleEarly(flow int64) error {
	turn, err := t.number()
	if err != nil {
		return err
	}
	f := t.flows[flow]
	f.settledEarly, f.changed = true, true
	f.owed = f.manifest.Pending
	f.manifest.Cancelled += f.manifest.Pending
	f.manifest.Pending = 0
	f.standing, f.turn, f.askedTurn = standingNone, turn, nil
	if f.owed > 0 {
		f.standing = standingOwed
	}
	return nil
}

// flushFlows queues what became of the flows.
func (t *tx) flushFlows() {
	var all []*flowState
	var deleted []int64
	for _, f := range t.flows {
		switch {
		case f.deleted && !f.fresh:
			deleted = append(deleted, f.flow)
		case !f.deleted && (f.changed || f.fresh):
			all = append(all, f)
		}
	}
	if len(deleted) > 0 {
		t.exec("flows_delete", deleted)
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b *flowState) int { return int(a.flow - b.flow) })
	n := len(all)
	flows, jobIDs, children := make([]int64, n), make([]string, n), make([]int64, n)
	failFast, settledEarly := make([]bool, n), make([]bool, n)
	pending, completed, failed, cancelled := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	landed, owed, standing := make([]*int64, n), make([]int64, n), make([]int16, n)
	armed, turns, asked := make([]*int64, n), make([]int64, n), make([]*int64, n)
	for i, f := range all {
		flows[i], jobIDs[i], children[i] = f.flow, f.jobID, f.children
		failFast[i], settledEarly[i] = f.manifest.FailFast, f.settledEarly
		pending[i], completed[i], failed[i], cancelled[i] = f.manifest.Pending, f.manifest.Completed, f.manifest.Failed, f.manifest.Cancelled
		landed[i], owed[i], standing[i] = optionalTime(f.landedAt), f.owed, f.standing
		armed[i], turns[i], asked[i] = optionalTime(f.armedAt), f.turn, f.askedTurn
	}
	t.exec("flows_save", flows, jobIDs, children, failFast, pending, completed, failed, cancelled, landed, settledEarly,
		owed, standing, armed, turns, asked)
}

// StageChildren implements [driver.FlowStore].
func (s *Store) StageChildren(ctx context.Context, flowID, token string, page []driver.StagedChild) error {
	for i := range page {
		if page[i].Request.ID == "" {
			return &driver.InvalidError{Field: "id", Reason: "is empty for the child " + strconv.Quote(page[i].ChildKey) +
				"; compute it from the flow, the run and the child key"}
		}
	}
	for from := 0; from == 0 || from < len(page); {
		to := storekit.ChunkEnd(from, len(page), driver.ChunkJobs, func(i int) int { return requestSize(&page[i].Request) })
		err := s.transact(ctx, "StageChildren", 0, func(t *tx) error { return t.stage(flowID, token, page[from:to]) })
		if err != nil || to == len(page) {
			return err
		}
		from = to
	}
	return nil
}

// stage writes rows under the token of the parent's run.
func (t *tx) stage(flowID, token string, page []driver.StagedChild) error {
	recs, err := t.load([]string{flowID})
	if err != nil {
		return err
	}
	rec := recs[flowID]
	switch {
	case rec == nil:
		return driver.ErrNotFound
	case rec.state != driver.Active || rec.token != token:
		return driver.ErrLockLost
	case len(page) == 0:
		return nil
	}
	if rec.staged == 0 {
		f, err := t.newFlow(flowID)
		if err != nil {
			return err
		}
		rec.staged = f.flow
		t.flushFlows()
		t.exec("job_stage", flowID, f.flow)
	}
	var keys, storeKeys, names, jobIDs, requests []string
	var payloads []*string
	last := make(map[string]int, len(page)) // a key that is given twice counts once
	for i := range page {
		last[page[i].ChildKey] = i
	}
	for i := range page {
		c := &page[i]
		if last[c.ChildKey] != i {
			continue
		}
		keys, storeKeys, names = append(keys, c.ChildKey), append(storeKeys, c.StoreKey), append(names, c.Request.Name)
		jobIDs, requests = append(jobIDs, c.Request.ID), append(requests, rowcodec.EncodeRequest(&c.Request))
		payloads = append(payloads, optionalBytes(c.Request.Payload))
	}
	t.exec("children_stage", rec.staged, keys, storeKeys, names, jobIDs, requests, payloads)
	return nil
}

// fanOut ends the first phase of a flow parent.
func (t *tx) fanOut(rec *record, a *driver.Ack) (driver.State, error) {
	cancel := rec.cancelRequested
	if rec.flow == 0 {
		if err := t.land(rec, a); err != nil {
			return 0, err
		}
		if cancel {
			if err := t.settleEarly(rec.flow); err != nil {
				return 0, err
			}
		}
	}
	if cancel {
		return driver.Cancelled, t.finish(rec, cancelledEnding)
	}
	t.log(rec, driver.OutcomeFannedOut, nil)
	if t.flows[rec.flow].manifest.Pending == 0 {
		return driver.Waiting, t.sendBack(rec, t.now, driver.Waiting, false)
	}
	return driver.WaitingChildren, t.sendBack(rec, rec.runAt, driver.WaitingChildren, false)
}

// land makes the rows that are staged under the run the flow's.
func (t *tx) land(rec *record, a *driver.Ack) error {
	f := t.flows[rec.staged]
	var staged int64
	if f != nil {
		staged = f.children
	}
	if staged != a.Children {
		return &driver.InvalidError{Field: "children", Value: strconv.FormatInt(a.Children, 10),
			Reason: "is not the number of children staged by this run, " + strconv.FormatInt(staged, 10)}
	}
	if f == nil {
		var err error
		if f, err = t.newFlow(rec.id); err != nil {
			return err
		}
	}
	turn, err := t.number()
	if err != nil {
		return err
	}
	f.manifest = driver.Manifest{FailFast: a.FailFast, Pending: staged}
	f.landedAt, f.armedAt, f.turn, f.changed = driver.Some(t.now), driver.Some(t.now), turn, true
	if staged > 0 {
		f.standing = standingArmed
	}
	rec.flow, rec.staged = f.flow, 0
	return nil
}

// SweepFlows implements [driver.Sweeper]. Early settles need no work: their rows
// are read through the flow's mark for good.
func (s *Store) SweepFlows(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepFlows", now, limit, func(t *tx, most int) (deleted int, more bool, err error) {
		t.scan("children_sweep", nil, []any{&deleted, &more}, most)
		t.exec("flows_sweep", max(most, 1))
		err = t.send()
		return deleted, more, err
	})
}

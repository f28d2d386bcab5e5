package sqlitestore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
	"github.com/braidmq/braid/internal/storekit"
)

// What a sweep has to do for a flow, as braid_flows.standing says.
const (
	standingArmed     = 1
	standingDue       = 2
	standingOwed      = 3
	standingAbandoned = 4
)

// Where a sweep finds a child, as braid_children.place says.
const (
	placeNone     = 0
	placeFresh    = 1
	placeReturned = 2
	placeAsked    = 3
)

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
		err := s.write(ctx, "StageChildren", to-from, func(t *tx) error {
			return step{tx: t}.stage(flowID, token, page[from:to])
		})
		if err != nil || to == len(page) {
			return err
		}
		from = to
	}
	return nil
}

// stage writes rows under the token of the parent's run.
func (st step) stage(flowID, token string, page []driver.StagedChild) error {
	rec, err := st.record(flowID)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return driver.ErrNotFound
	case rec.state != driver.Active || rec.token != token:
		return driver.ErrLockLost
	case len(page) == 0:
		return nil
	}
	if rec.staged == 0 {
		if rec.staged, err = st.insert("flow_insert", flowID); err != nil {
			return err
		}
		if _, err := st.exec("job_stage", rec.job, rec.staged); err != nil {
			return err
		}
	}
	added := 0
	for i := range page {
		inserted, err := st.stageChild(rec.staged, &page[i])
		if err != nil {
			return err
		}
		added += inserted
	}
	_, err = st.exec("flow_add_children", rec.staged, added)
	return err
}

// stageChild writes one row, over one of the same key, and returns how many rows
// there are more.
func (st step) stageChild(flow int64, c *driver.StagedChild) (added int, err error) {
	result, err := st.exec("child_insert", flow, c.ChildKey, c.StoreKey, c.Request.Name, c.Request.ID)
	if err != nil {
		return 0, err
	}
	inserted, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	var child int64
	if inserted > 0 {
		added = 1
		child, err = result.LastInsertId()
	} else {
		_, err = first(st, "child_overwrite", func(r row) { child = r.integer(0) },
			flow, c.ChildKey, c.StoreKey, c.Request.Name, c.Request.ID)
	}
	if err != nil {
		return 0, err
	}
	_, err = st.exec("child_request_put", child, rowcodec.EncodeRequest(&c.Request), c.Request.Payload)
	return added, err
}

// flowState is what a step knows of a flow.
type flowState struct {
	flow         int64
	children     int64
	manifest     driver.Manifest
	landedAt     driver.Time
	settledEarly bool
	owed         int64
}

func (t *tx) flowState(flow int64) (f flowState, err error) {
	f.flow = flow
	_, err = first(t, "flow_load", func(r row) {
		f.children = r.integer(0)
		f.manifest = driver.Manifest{FailFast: r.flag(1), Pending: r.integer(2), Completed: r.integer(3),
			Failed: r.integer(4), Cancelled: r.integer(5)}
		f.landedAt, f.settledEarly, f.owed = r.time(6), r.flag(7), r.integer(8)
	}, flow)
	return f, err
}

// owes reports whether the job is a flow parent with children still to be cancelled
// after an early settle.
func (t *tx) owes(rec *record) (bool, error) {
	if rec.flow == 0 {
		return false, nil
	}
	f, err := t.flowState(rec.flow)
	return f.owed > 0, err
}

// fanOut ends the first phase of a flow parent.
func (st step) fanOut(rec *record, a *driver.Ack) (driver.State, error) {
	cancel := rec.cancelRequested
	if rec.flow == 0 {
		if err := st.land(rec, a); err != nil {
			return 0, err
		}
		if cancel {
			if err := st.settleEarly(rec.flow); err != nil {
				return 0, err
			}
		}
	}
	if cancel {
		return driver.Cancelled, st.finish(rec, cancelledEnding)
	}
	f, err := st.flowState(rec.flow)
	if err != nil {
		return 0, err
	}
	if err := st.log(rec, driver.OutcomeFannedOut, nil); err != nil {
		return 0, err
	}
	if f.manifest.Pending == 0 {
		return driver.Waiting, st.sendBack(rec, st.now, driver.Waiting, false)
	}
	return driver.WaitingChildren, st.park(rec)
}

// park makes a parent wait for its children.
func (st step) park(rec *record) error {
	if err := st.unlock(rec); err != nil {
		return err
	}
	st.move(rec.queue, rec.name, rec.state, driver.WaitingChildren)
	rec.state = driver.WaitingChildren
	_, err := st.exec("job_send_back", rec.job, rec.state, rec.runAt, nil, rec.attemptsMade, rec.stalledCount, rec.ledger)
	return err
}

// land makes the rows that are staged under the run the flow's.
func (st step) land(rec *record, a *driver.Ack) error {
	var staged int64
	if rec.staged != 0 {
		f, err := st.flowState(rec.staged)
		if err != nil {
			return err
		}
		staged = f.children
	}
	if staged != a.Children {
		return &driver.InvalidError{Field: "children", Value: strconv.FormatInt(a.Children, 10),
			Reason: "is not the number of children staged by this run, " + strconv.FormatInt(staged, 10)}
	}
	flow := rec.staged
	if flow == 0 {
		var err error
		if flow, err = st.insert("flow_insert", rec.id); err != nil {
			return err
		}
	}
	standing := 0
	if a.Children > 0 {
		standing = standingArmed
	}
	if _, err := st.exec("flow_land", flow, a.FailFast, st.now, standing, draw(&st.counters.turns)); err != nil {
		return err
	}
	rec.flow, rec.staged = flow, 0
	_, err := st.exec("job_land", rec.job, flow)
	return err
}

// settleEarly cancels the pending rows of a flow, by a mark. Its parent becomes
// terminal in the same step.
func (st step) settleEarly(flow int64) error {
	_, err := st.exec("flow_settle_early", flow, draw(&st.counters.turns))
	return err
}

// abandon makes a flow's rows invisible for good; SweepFlows deletes them.
func (t *tx) abandon(flow int64) error {
	if _, err := t.exec("flow_abandon", flow, draw(&t.counters.turns)); err != nil {
		return err
	}
	_, err := t.exec("flow_delete_empty", flow)
	return err
}

// SweepFlows implements [driver.Sweeper]. Early settles need no work: their rows
// are read through the flow's mark for good.
func (s *Store) SweepFlows(ctx context.Context, _ driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepFlows", limit, func(t *tx, most int) (deleted int, more bool, err error) {
		for {
			var flow int64
			found, err := first(t, "flow_first_abandoned", func(r row) { flow = r.integer(0) })
			if err != nil || !found {
				return deleted, false, err
			}
			if deleted >= most {
				return deleted, true, nil
			}
			if _, err := t.exec("child_requests_sweep", flow, most-deleted); err != nil {
				return deleted, false, err
			}
			swept, err := t.affect("children_sweep", flow, most-deleted)
			if err != nil {
				return deleted, false, err
			}
			deleted += int(swept)
			if _, err := t.exec("flow_add_children", flow, -swept); err != nil {
				return deleted, false, err
			}
			if _, err := t.exec("flow_delete_empty", flow); err != nil {
				return deleted, false, err
			}
			if swept == 0 {
				// The number of its rows is wrong: there are none.
				if _, err := t.exec("flow_delete", flow); err != nil {
					return deleted, false, err
				}
			}
		}
	})
}

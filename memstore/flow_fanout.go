package memstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// StageChildren implements [driver.FlowStore].
func (s *Store) StageChildren(ctx context.Context, flowID, token string, page []driver.StagedChild) error {
	for i := range page {
		if page[i].Request.ID == "" {
			return &driver.InvalidError{Field: "id", Reason: "is empty for the child " + strconv.Quote(page[i].ChildKey) +
				"; compute it from the flow, the run and the child key"}
		}
	}
	var refused error
	_, err := s.inChunks(ctx, len(page), driver.ChunkJobs, func(from, to int) {
		if refused == nil {
			refused = s.stage(flowID, token, page[from:to])
		}
	})
	if refused != nil {
		return refused
	}
	return err
}

// stage writes rows under the token of the parent's run.
func (s *Store) stage(flowID, token string, page []driver.StagedChild) error {
	rec := s.jobs[flowID]
	switch {
	case rec == nil:
		return driver.ErrNotFound
	case rec.job.State != driver.Active || rec.token != token:
		return driver.ErrLockLost
	}
	if rec.staged == nil {
		rec.staged = newFlow(flowID)
	}
	for i := range page {
		row := &child{
			key: page[i].ChildKey, storeKey: page[i].StoreKey, request: &page[i].Request,
			status: driver.ChildPending, place: inFresh,
		}
		rec.staged.rows.Set(row)
		rec.staged.fresh.Set(row)
	}
	return nil
}

// fanOut ends the first phase of a flow parent.
func (s *Store) fanOut(c *call, rec *record, a *driver.Ack) (driver.State, error) {
	cancel := rec.job.CancelRequested
	if rec.flow == nil {
		if staged := rec.stagedRows(); staged != a.Children {
			return 0, &driver.InvalidError{Field: "children", Value: strconv.FormatInt(a.Children, 10),
				Reason: "is not the number of children staged by this run, " + strconv.FormatInt(staged, 10)}
		}
		s.land(c.now, rec, a)
		if cancel {
			s.settleEarly(rec.flow)
		}
	}
	if cancel {
		s.finish(c, rec, cancelledEnding)
		return driver.Cancelled, nil
	}
	rec.log(c.now, driver.OutcomeFannedOut, nil)
	if rec.flow.manifest.Pending == 0 {
		s.sendBack(rec, driver.Some(c.now), driver.Waiting, false)
		return driver.Waiting, nil
	}
	s.detach(rec)
	s.unlock(rec)
	rec.job.State = driver.WaitingChildren
	s.attach(rec)
	return driver.WaitingChildren, nil
}

// stagedRows returns how many children the current run has staged.
func (r *record) stagedRows() int64 {
	if r.staged == nil {
		return 0
	}
	return int64(r.staged.rows.Len())
}

// land makes the staged rows the flow's.
func (s *Store) land(now driver.Time, rec *record, a *driver.Ack) {
	f := rec.staged
	rec.staged = nil
	if f == nil {
		f = newFlow(rec.job.ID)
	}
	f.manifest = driver.Manifest{FailFast: a.FailFast, Pending: a.Children}
	f.landedAt = now
	rec.flow = f
	if a.Children > 0 {
		f.armedAt = now
		f.turn = s.flows.nextTurn()
		s.flows.enter(f, byArmed)
	}
}

// settleEarly cancels the pending rows of a flow, by a mark. Its parent becomes
// terminal in the same step.
func (s *Store) settleEarly(f *flow) {
	s.flows.leaveAll(f)
	f.settledEarly = true
	f.owed = f.manifest.Pending
	f.manifest.Cancelled += f.manifest.Pending
	f.manifest.Pending = 0
	if f.owed > 0 {
		f.turn = s.flows.nextTurn()
		s.flows.enter(f, owedTurns)
	}
}

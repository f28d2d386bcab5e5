package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// RecordChildResults implements [driver.FlowStore].
func (s *Store) RecordChildResults(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
	results := make([]driver.RecordResult, len(reports))
	c := newCall(now, len(reports))
	done, err := s.inChunks(ctx, len(reports), driver.ChunkReports, func(from, to int) {
		s.recordStep(c, reports[from:to], results[from:to])
	})
	return results[:done], err
}

// recordedFlow is a flow to which reports of one step applied.
type recordedFlow struct {
	parent *record
	failed string // the child key of the first applied failure
	fails  bool   // whether there was one
	last   int    // the flow's last applied report
}

// recordStep records one step's reports, and then settles what they settle.
func (s *Store) recordStep(c *call, reports []driver.ChildReport, results []driver.RecordResult) {
	var touched []*recordedFlow
	byID := map[string]*recordedFlow{}
	for i := range reports {
		parent := s.jobs[reports[i].FlowID]
		if !s.record(parent, &reports[i]) {
			continue
		}
		results[i].Applied = true
		t := byID[parent.job.ID]
		if t == nil {
			t = &recordedFlow{parent: parent}
			byID[parent.job.ID] = t
			touched = append(touched, t)
		}
		t.last = i
		if reports[i].Outcome == driver.ChildFailed && !t.fails {
			t.fails, t.failed = true, reports[i].ChildKey
		}
	}
	for _, t := range touched {
		results[t.last].ParentSettled = s.settle(c, t)
	}
}

// record applies one report to its row, and reports whether it applies.
func (s *Store) record(parent *record, r *driver.ChildReport) bool {
	if parent == nil || parent.job.State != driver.WaitingChildren {
		return false
	}
	f := parent.flow
	row := f.row(r.ChildKey)
	if row == nil || row.status != driver.ChildPending || r.ChildJobID != "" && r.ChildJobID != row.request.ID {
		return false
	}
	switch r.Outcome {
	case driver.ChildCompleted:
		f.manifest.Completed++
	case driver.ChildFailed:
		f.manifest.Failed++
	case driver.ChildCancelled:
		f.manifest.Cancelled++
	default:
		return false
	}
	f.manifest.Pending--
	row.status, row.exit, row.reason, row.cascaded = r.Outcome, r.Exit, r.FailedReason, true
	f.takeOut(row)
	return true
}

// settle settles a parent if the recorded reports do.
func (s *Store) settle(c *call, t *recordedFlow) bool {
	f := t.parent.flow
	switch {
	case f.manifest.FailFast && t.fails:
		s.settleEarly(f)
		s.finish(c, t.parent, ending{
			state: driver.Failed, outcome: driver.OutcomeFailed, reason: driver.FailFastReason(t.failed),
		})
	case f.manifest.Pending == 0:
		s.flows.leaveAll(f)
		s.sendBack(t.parent, driver.Some(c.now), driver.Waiting, false)
	default:
		return false
	}
	return true
}

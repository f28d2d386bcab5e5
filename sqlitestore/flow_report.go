package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// RecordChildResults implements [driver.FlowStore].
func (s *Store) RecordChildResults(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
	results := make([]driver.RecordResult, len(reports))
	trims := len(reports) + trimsBeyondBatch
	done, err := s.inChunks(ctx, "RecordChildResults", len(reports), driver.ChunkReports, func(t *tx, from, to int) error {
		st := step{tx: t, now: now, trims: &trims}
		clear(results[from:to])
		return st.recordAll(reports[from:to], results[from:to])
	})
	return results[:done], err
}

// recordedFlow is a flow of a step's reports.
type recordedFlow struct {
	parent  *record // nil: it is not parked
	flow    flowState
	failed  string // the child key of the first applied failure
	fails   bool   // whether there was one
	applied bool
	last    int // the flow's last applied report
}

// recordAll records one step's reports, and then settles what they settle.
func (st step) recordAll(reports []driver.ChildReport, results []driver.RecordResult) error {
	byID := map[string]*recordedFlow{}
	var order []*recordedFlow
	for i := range reports {
		f := byID[reports[i].FlowID]
		if f == nil {
			var err error
			if f, err = st.recordedFlow(reports[i].FlowID); err != nil {
				return err
			}
			byID[reports[i].FlowID] = f
		}
		applied, err := st.recordReport(f, &reports[i])
		if err != nil {
			return err
		}
		if !applied {
			continue
		}
		if !f.applied {
			f.applied = true
			order = append(order, f)
		}
		results[i].Applied = true
		f.last = i
		if reports[i].Outcome == driver.ChildFailed && !f.fails {
			f.fails, f.failed = true, reports[i].ChildKey
		}
	}
	for _, f := range order {
		m := f.flow.manifest
		if _, err := st.exec("flow_count", f.flow.flow, m.Pending, m.Completed, m.Failed, m.Cancelled); err != nil {
			return err
		}
	}
	for _, f := range order {
		settled, err := st.settle(f)
		if err != nil {
			return err
		}
		results[f.last].ParentSettled = settled
	}
	return nil
}

func (st step) recordedFlow(flowID string) (*recordedFlow, error) {
	parent, err := st.record(flowID)
	if err != nil || parent == nil || parent.state != driver.WaitingChildren {
		return &recordedFlow{}, err
	}
	f, err := st.flowState(parent.flow)
	return &recordedFlow{parent: parent, flow: f}, err
}

// recordReport applies one report to its row, and reports whether it applies.
func (st step) recordReport(f *recordedFlow, r *driver.ChildReport) (bool, error) {
	if f.parent == nil {
		return false, nil
	}
	m := f.flow.manifest
	switch r.Outcome {
	case driver.ChildCompleted:
		m.Completed++
	case driver.ChildFailed:
		m.Failed++
	case driver.ChildCancelled:
		m.Cancelled++
	default:
		return false, nil
	}
	m.Pending--
	n, err := st.affect("child_report", f.flow.flow, r.ChildKey, r.ChildJobID, r.Outcome, optional(r.FailedReason), r.Exit)
	if err != nil || n == 0 {
		return false, err
	}
	f.flow.manifest = m
	return true, nil
}

// settle settles a parent if the recorded reports do.
func (st step) settle(f *recordedFlow) (bool, error) {
	m := f.flow.manifest
	switch {
	case m.FailFast && f.fails:
		if err := st.settleEarly(f.flow.flow); err != nil {
			return false, err
		}
		return true, st.finish(f.parent, ending{
			state: driver.Failed, outcome: driver.OutcomeFailed, reason: driver.FailFastReason(f.failed),
		})
	case m.Pending == 0:
		if _, err := st.exec("flow_rest", f.flow.flow); err != nil {
			return false, err
		}
		return true, st.sendBack(f.parent, st.now, driver.Waiting, false)
	}
	return false, nil
}

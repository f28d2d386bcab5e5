package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// RecordChildResults implements [driver.FlowStore].
func (s *Store) RecordChildResults(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
	results := make([]driver.RecordResult, len(reports))
	trims := len(reports) + trimsBeyondBatch
	done, err := s.inChunks(ctx, "RecordChildResults", now, len(reports), driver.ChunkReports, func(t *tx, from, to int) error {
		budget := trims
		t.trims = &budget
		clear(results[from:to])
		if err := t.record(reports[from:to], results[from:to]); err != nil {
			return err
		}
		t.settled = func() { trims = budget }
		return nil
	})
	return results[:done], err
}

// childPlace names a dependency row.
type childPlace struct {
	flow int64
	key  string
}

// childRow is what a step knows of a dependency row. Its flow is locked.
type childRow struct {
	status   driver.ChildStatus
	jobID    string
	cascaded bool
}

// childRows reads rows of loaded flows.
func (t *tx) childRows(places []childPlace) (map[childPlace]*childRow, error) {
	found := make(map[childPlace]*childRow, len(places))
	if len(places) == 0 {
		return found, nil
	}
	flows, keys := make([]int64, len(places)), make([]string, len(places))
	for i, p := range places {
		flows[i], keys[i] = p.flow, p.key
	}
	t.query("children_look", func(rows pgx.Rows) error {
		var p childPlace
		var row childRow
		var status int16
		err := rows.Scan(&p.flow, &p.key, &status, &row.jobID, &row.cascaded)
		row.status = driver.ChildStatus(status) //nolint:gosec // a status
		found[p] = &row
		return err
	}, flows, keys)
	return found, t.send()
}

// recordedFlow is a flow to which reports of one step applied.
type recordedFlow struct {
	parent *record
	failed string // the child key of the first applied failure
	fails  bool   // whether there was one
	last   int    // the flow's last applied report
}

// record records one step's reports, and then settles what they settle. Parents are
// locked first, in the order of their ids.
func (t *tx) record(reports []driver.ChildReport, results []driver.RecordResult) error {
	ids := make([]string, 0, len(reports))
	for i := range reports {
		ids = append(ids, reports[i].FlowID)
	}
	parents, err := t.load(unique(ids))
	if err != nil {
		return err
	}
	var places []childPlace
	for i := range reports {
		if parent := parents[reports[i].FlowID]; parent != nil && parent.state == driver.WaitingChildren {
			places = append(places, childPlace{parent.flow, reports[i].ChildKey})
		}
	}
	rows, err := t.childRows(places)
	if err != nil {
		return err
	}
	var order []*recordedFlow
	byID := map[string]*recordedFlow{}
	var applied []*driver.ChildReport
	for i := range reports {
		r := &reports[i]
		parent := parents[r.FlowID]
		if parent == nil || parent.state != driver.WaitingChildren || !t.applyReport(t.flows[parent.flow], rows[childPlace{parent.flow, r.ChildKey}], r) {
			continue
		}
		applied = append(applied, r)
		results[i].Applied = true
		f := byID[r.FlowID]
		if f == nil {
			f = &recordedFlow{parent: parent}
			byID[r.FlowID] = f
			order = append(order, f)
		}
		f.last = i
		if r.Outcome == driver.ChildFailed && !f.fails {
			f.fails, f.failed = true, r.ChildKey
		}
	}
	t.saveReports(parents, applied)
	for _, f := range order {
		if results[f.last].ParentSettled, err = t.settle(f); err != nil {
			return err
		}
	}
	t.flush()
	return nil
}

// applyReport applies one report to its row, and reports whether it applies.
func (t *tx) applyReport(f *flowState, row *childRow, r *driver.ChildReport) bool {
	if row == nil || row.status != driver.ChildPending || r.ChildJobID != "" && r.ChildJobID != row.jobID {
		return false
	}
	m := &f.manifest
	switch r.Outcome {
	case driver.ChildCompleted:
		m.Completed++
	case driver.ChildFailed:
		m.Failed++
	case driver.ChildCancelled:
		m.Cancelled++
	default:
		return false
	}
	m.Pending--
	f.changed = true
	row.status = r.Outcome
	return true
}

// saveReports queues the rows of reports that applied.
func (t *tx) saveReports(parents records, applied []*driver.ChildReport) {
	n := len(applied)
	if n == 0 {
		return
	}
	flows, keys, outcomes := make([]int64, n), make([]string, n), make([]int16, n)
	reasons, exits := make([]*string, n), make([]*string, n)
	for i, r := range applied {
		flows[i], keys[i], outcomes[i] = parents[r.FlowID].flow, r.ChildKey, int16(r.Outcome)
		reasons[i], exits[i] = optional(r.FailedReason), optionalBytes(r.Exit)
	}
	t.exec("children_report", flows, keys, outcomes, reasons, exits)
}

// settle settles a parent if the recorded reports do.
func (t *tx) settle(f *recordedFlow) (bool, error) {
	state := t.flows[f.parent.flow]
	m := state.manifest
	switch {
	case m.FailFast && f.fails:
		if err := t.settleEarly(f.parent.flow); err != nil {
			return false, err
		}
		return true, t.finish(f.parent, ending{
			state: driver.Failed, outcome: driver.OutcomeFailed, reason: driver.FailFastReason(f.failed),
		})
	case m.Pending == 0:
		state.standing, state.askedTurn = standingNone, nil
		return true, t.sendBack(f.parent, t.now, driver.Waiting, false)
	}
	return false, nil
}

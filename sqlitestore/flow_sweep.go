package sqlitestore

import (
	"context"
	"slices"
	"strings"

	"github.com/braidmq/braid/driver"
)

// FlowSweepWork implements [driver.FlowStore].
func (s *Store) FlowSweepWork(ctx context.Context, now driver.Time, pendingAge driver.Millis, limit int) (driver.FlowWork, error) {
	var work driver.FlowWork
	err := s.write(ctx, "FlowSweepWork", min(limit, driver.ChunkJobs), func(t *tx) (err error) {
		st := step{tx: t, now: now}
		if work.Reconcile, err = st.takeReconcile(pendingAge, limit); err != nil {
			return err
		}
		work.Cascade, err = st.takeCascades(limit)
		return err
	})
	if err != nil {
		return driver.FlowWork{}, err
	}
	return work, nil
}

// openRow is a row that a sweep takes.
type openRow struct {
	child int64
	flow  int64
	row   driver.Child
}

// takeReconcile returns rows that have been pending for long. Flows whose time has
// come stand in a rotation; each gives what the page has room for and goes to the
// back.
func (st step) takeReconcile(age driver.Millis, limit int) ([]driver.Child, error) {
	armed, err := st.flows("flows_armed", st.now.Add(-age), limit)
	if err != nil {
		return nil, err
	}
	for _, flow := range armed {
		if _, err := st.exec("flow_stand", flow, standingDue, draw(&st.counters.turns), nil); err != nil {
			return nil, err
		}
	}
	due, err := st.flows("flows_due", limit)
	if err != nil {
		return nil, err
	}
	var page []driver.Child
	size := 0
	for _, flow := range due {
		if len(page) >= limit || size >= driver.ChunkBytes {
			break
		}
		f, err := st.flowState(flow)
		if err != nil {
			return nil, err
		}
		rows, more, err := st.takeDue(f, age, limit-len(page), &size, len(page) == 0)
		if err != nil {
			return nil, err
		}
		for _, open := range rows {
			page = append(page, open.row)
			if _, err := st.exec("child_place", open.child, placeReturned, st.now, draw(&st.counters.turns)); err != nil {
				return nil, err
			}
		}
		if err := st.standAgain(f, more); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// standAgain gives a due flow its next turn, or arms it if it has nothing due left.
func (st step) standAgain(f flowState, more bool) error {
	turn := draw(&st.counters.turns)
	if more {
		_, err := st.exec("flow_stand", f.flow, standingDue, turn, nil)
		return err
	}
	armedAt := f.landedAt
	var returned driver.Opt[driver.Time]
	if _, err := first(st, "children_returned_first", func(r row) { returned = r.optionalTime(0) }, f.flow); err != nil {
		return err
	}
	if returned.Set {
		fresh, err := first(st, "children_fresh_any", func(row) {}, f.flow)
		if err != nil {
			return err
		}
		if !fresh || returned.Value <= f.landedAt {
			armedAt = returned.Value
		}
	}
	_, err := st.exec("flow_stand", f.flow, standingArmed, turn, armedAt)
	return err
}

// takeDue returns rows that are due, in the order of their keys, and whether it
// leaves some. The rows' requests add to size, up to the bound of a page, which the
// first row of a page may pass.
func (st step) takeDue(f flowState, age driver.Millis, limit int, size *int, isFirst bool) (rows []openRow, more bool, err error) {
	each := func(r row) error {
		payload := r.bytes(11)
		if len(rows) == limit || *size+len(payload) > driver.ChunkBytes && !(isFirst && len(rows) == 0) {
			more = true
			return errEnough
		}
		open := openRow{child: r.integer(0), flow: f.flow, row: readChild(r)}
		var err error
		if open.row.Request, err = st.store.plans.Request(r.text(10), payload); err != nil {
			return err
		}
		*size += len(payload)
		rows = append(rows, open)
		return nil
	}
	if f.landedAt.Add(age) <= st.now {
		if err := st.query("children_fresh_requests", each, f.flow, limit+1); err != nil {
			return nil, false, err
		}
	}
	if !more {
		if err := st.query("children_returned_requests", each, f.flow, st.now.Add(-age), limit+1); err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(rows, func(a, b openRow) int { return strings.Compare(a.row.ChildKey, b.row.ChildKey) })
	return rows, more, nil
}

// flows returns the numbers of some flows, in their order.
func (t *tx) flows(query statement, args ...any) ([]int64, error) {
	var flows []int64
	err := t.query(query, func(r row) error {
		flows = append(flows, r.integer(0))
		return nil
	}, args...)
	return flows, err
}

// openRows returns some rows of a flow.
func (t *tx) openRows(query statement, flow int64, limit int) ([]openRow, error) {
	var rows []openRow
	err := t.query(query, func(r row) error {
		rows = append(rows, openRow{child: r.integer(0), flow: flow, row: readChild(r)})
		return nil
	}, flow, limit)
	return rows, err
}

// takeCascades returns owed rows: first those that no sweep has returned as owed,
// their flows in rotation; then those that were returned longest ago.
func (st step) takeCascades(limit int) ([]driver.Child, error) {
	var taken []openRow
	for len(taken) < limit {
		owed, err := st.flows("flows_owed", 1)
		if err != nil {
			return nil, err
		}
		if len(owed) == 0 {
			break
		}
		rows, err := st.takeUnasked(owed[0], limit-len(taken))
		if err != nil {
			return nil, err
		}
		taken = append(taken, rows...)
	}
	for len(taken) < limit {
		asked, err := st.flows("flows_asked", 1)
		if err != nil {
			return nil, err
		}
		if len(asked) == 0 {
			break
		}
		rows, err := st.openRows("children_asked", asked[0], 1)
		if err != nil {
			return nil, err
		}
		if err := st.takeOut(rows); err != nil {
			return nil, err
		}
		if _, err := st.exec("flow_place_asked", asked[0]); err != nil {
			return nil, err
		}
		taken = append(taken, rows...)
	}
	return st.putAsked(taken)
}

// takeUnasked takes rows of an owed flow that no sweep has returned as owed, and
// gives the flow its next turn if there are more.
func (st step) takeUnasked(flow int64, limit int) ([]openRow, error) {
	rows, err := st.openRows("children_fresh", flow, limit+1)
	if err != nil {
		return nil, err
	}
	if len(rows) <= limit {
		returned, err := st.openRows("children_returned", flow, limit+1-len(rows))
		if err != nil {
			return nil, err
		}
		rows = append(rows, returned...)
	}
	standing := 0
	if len(rows) > limit {
		rows, standing = rows[:limit], standingOwed
	}
	if err := st.takeOut(rows); err != nil {
		return nil, err
	}
	_, err = st.exec("flow_stand", flow, standing, draw(&st.counters.turns), nil)
	return rows, err
}

// takeOut takes rows out of their places.
func (st step) takeOut(rows []openRow) error {
	for _, open := range rows {
		if _, err := st.exec("child_place", open.child, placeNone, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// putAsked puts owed rows behind all others that were returned as owed, and returns
// them flow by flow, each in the order of its child keys.
func (st step) putAsked(taken []openRow) ([]driver.Child, error) {
	var order []int64
	byFlow := map[int64][]driver.Child{}
	for _, open := range taken {
		if byFlow[open.flow] == nil {
			order = append(order, open.flow)
		}
		byFlow[open.flow] = append(byFlow[open.flow], open.row)
		if _, err := st.exec("child_place", open.child, placeAsked, nil, draw(&st.counters.turns)); err != nil {
			return nil, err
		}
	}
	var page []driver.Child
	for _, flow := range order {
		if _, err := st.exec("flow_place_asked", flow); err != nil {
			return nil, err
		}
		rows := byFlow[flow]
		slices.SortFunc(rows, func(a, b driver.Child) int { return strings.Compare(a.ChildKey, b.ChildKey) })
		page = append(page, rows...)
	}
	return page, nil
}

// MarkChildrenCascaded implements [driver.FlowStore].
func (s *Store) MarkChildrenCascaded(ctx context.Context, now driver.Time, refs []driver.ChildRef) error {
	trims := len(refs) + trimsBeyondBatch
	_, err := s.inChunks(ctx, "MarkChildrenCascaded", len(refs), driver.ChunkJobs, func(t *tx, from, to int) error {
		st := step{tx: t, now: now, trims: &trims}
		for _, ref := range refs[from:to] {
			if err := st.markCascaded(ref); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// markCascaded pays one debt of a flow. The last one hands a terminal parent to
// retention.
func (st step) markCascaded(ref driver.ChildRef) error {
	flow, err := landedFlow(st, ref.FlowID)
	if err != nil || flow == 0 {
		return err
	}
	marked, err := st.affect("child_cascaded", flow, ref.ChildKey)
	if err != nil || marked == 0 {
		return err
	}
	var owed int64
	if _, err := first(st, "flow_pay", func(r row) { owed = r.integer(0) }, flow); err != nil {
		return err
	}
	if _, err := st.exec("flow_place_asked", flow); err != nil {
		return err
	}
	if _, err := st.exec("flow_rest_if_asked", flow); err != nil {
		return err
	}
	if owed > 0 {
		return nil
	}
	rec, err := st.record(ref.FlowID)
	if err != nil || rec == nil || !rec.state.Terminal() || !rec.owing {
		return err
	}
	return st.retain(rec)
}

// retain hands a terminal parent that owes nothing any more to retention.
func (st step) retain(rec *record) error {
	p, err := st.store.plans.Plan(rec.settings)
	if err != nil {
		return err
	}
	keep := p.Keep.For(rec.state)
	expiresAt := driver.Opt[driver.Time]{}
	if age, ok := keep.Age.Get(); ok {
		expiresAt = driver.Some(rec.finishedAt.Value.Add(age))
	}
	rec.owing = false
	st.count(rec.queue, rec.name, owingState+int64(rec.state), -1)
	if _, err := st.exec("job_retain", rec.job, expiresAt); err != nil {
		return err
	}
	return st.trim(rec, keep)
}

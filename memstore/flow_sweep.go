package memstore

import (
	"context"
	"slices"
	"strings"

	"github.com/braidmq/braid/driver"
)

// FlowSweepWork implements [driver.FlowStore].
func (s *Store) FlowSweepWork(ctx context.Context, now driver.Time, pendingAge driver.Millis, limit int) (driver.FlowWork, error) {
	if err := s.lock(ctx); err != nil {
		return driver.FlowWork{}, err
	}
	defer s.mu.Unlock()
	return driver.FlowWork{
		Reconcile: s.takeReconcile(now, pendingAge, limit),
		Cascade:   s.takeCascades(limit),
	}, nil
}

// takeReconcile returns rows that have been pending for long. Flows whose time has
// come stand in a rotation; each gives what the page has room for and goes to the
// back.
func (s *Store) takeReconcile(now driver.Time, age driver.Millis, limit int) []driver.Child {
	b := &s.flows
	for range limit {
		f := b.first(byArmed)
		if f == nil || f.armedAt.Add(age) > now {
			break
		}
		b.leave(f, byArmed)
		f.turn = b.nextTurn()
		b.enter(f, dueTurns)
	}
	var page []driver.Child
	size := 0
	for range b.orders[dueTurns].Len() {
		if len(page) >= limit || size >= driver.ChunkBytes {
			break
		}
		f := b.first(dueTurns)
		b.leave(f, dueTurns)
		rows, more := f.takeDue(now, age, limit-len(page), &size, len(page) == 0)
		for _, row := range rows {
			page = append(page, f.public(row, true))
			row.armedAt, row.turn, row.place = now, b.nextTurn(), inReturned
			f.returned.Set(row)
		}
		f.turn = b.nextTurn()
		if more {
			b.enter(f, dueTurns)
		} else {
			f.armedAt = f.earliestArmed()
			b.enter(f, byArmed)
		}
	}
	return page
}

// takeDue takes rows that are due out of their places, in the order of their keys,
// and reports whether it leaves some. The rows' requests add to size, up to the
// bound of a page, which the first row of a page may pass.
func (f *flow) takeDue(now driver.Time, age driver.Millis, limit int, size *int, first bool) (rows []*child, more bool) {
	for {
		var next *child
		if row, ok := f.fresh.Min(); ok && f.landedAt.Add(age) <= now {
			next = row
		} else if row, ok := f.returned.Min(); ok && row.armedAt.Add(age) <= now {
			next = row
		}
		if next == nil {
			break
		}
		bytes := len(next.request.Payload)
		if len(rows) == limit || *size+bytes > driver.ChunkBytes && !(first && len(rows) == 0) {
			more = true
			break
		}
		*size += bytes
		f.takeOut(next)
		rows = append(rows, next)
	}
	sortByKey(rows)
	return rows, more
}

// earliestArmed returns since when the flow's longest waiting row waits.
func (f *flow) earliestArmed() driver.Time {
	row, ok := f.returned.Min()
	if !ok || f.fresh.Len() > 0 && f.landedAt < row.armedAt {
		return f.landedAt
	}
	return row.armedAt
}

func sortByKey(rows []*child) {
	slices.SortFunc(rows, func(a, b *child) int { return strings.Compare(a.key, b.key) })
}

// owedRow is a row whose child is to be cancelled.
type owedRow struct {
	flow *flow
	row  *child
}

// takeCascades returns owed rows: first those that no sweep has returned as owed,
// their flows in rotation; then those that were returned longest ago.
func (s *Store) takeCascades(limit int) []driver.Child {
	b := &s.flows
	var taken []owedRow
	for len(taken) < limit {
		f := b.first(owedTurns)
		if f == nil {
			break
		}
		b.leave(f, owedTurns)
		for len(taken) < limit && f.hasUnasked() {
			row, ok := f.fresh.Min()
			if !ok {
				row, _ = f.returned.Min()
			}
			f.takeOut(row)
			taken = append(taken, owedRow{f, row})
		}
		if f.hasUnasked() {
			f.turn = b.nextTurn()
			b.enter(f, owedTurns)
		}
	}
	for len(taken) < limit {
		f := b.first(byAsked)
		if f == nil {
			break
		}
		row, _ := f.asked.Min()
		f.takeOut(row)
		b.placeAsked(f)
		taken = append(taken, owedRow{f, row})
	}
	for _, t := range taken {
		t.row.turn, t.row.place = b.nextTurn(), inAsked
		t.flow.asked.Set(t.row)
		b.placeAsked(t.flow)
	}
	return groupByFlow(taken)
}

// placeAsked gives the flow its place among those with asked rows.
func (b *flowBook) placeAsked(f *flow) {
	b.leave(f, byAsked)
	if row, ok := f.asked.Min(); ok {
		f.askedTurn = row.turn
		b.enter(f, byAsked)
	}
}

// groupByFlow returns the rows flow by flow, each in the order of its child keys.
func groupByFlow(taken []owedRow) []driver.Child {
	var order []*flow
	rows := map[*flow][]*child{}
	for _, t := range taken {
		if rows[t.flow] == nil {
			order = append(order, t.flow)
		}
		rows[t.flow] = append(rows[t.flow], t.row)
	}
	var page []driver.Child
	for _, f := range order {
		sortByKey(rows[f])
		for _, row := range rows[f] {
			page = append(page, f.public(row, false))
		}
	}
	return page
}

// MarkChildrenCascaded implements [driver.FlowStore].
func (s *Store) MarkChildrenCascaded(ctx context.Context, now driver.Time, refs []driver.ChildRef) error {
	c := newCall(now, len(refs))
	_, err := s.inChunks(ctx, len(refs), driver.ChunkJobs, func(from, to int) {
		for _, ref := range refs[from:to] {
			s.markCascaded(c, ref)
		}
	})
	return err
}

// markCascaded pays one debt of a flow. The last one hands a terminal parent to
// retention.
func (s *Store) markCascaded(c *call, ref driver.ChildRef) {
	rec := s.jobs[ref.FlowID]
	if rec == nil || rec.flow == nil {
		return
	}
	f := rec.flow
	row := f.row(ref.ChildKey)
	if row == nil || !f.owes(row) {
		return
	}
	row.status, row.cascaded = driver.ChildCancelled, true
	f.takeOut(row)
	s.flows.placeAsked(f)
	if !f.hasUnasked() {
		s.flows.leave(f, owedTurns)
	}
	f.owed--
	if f.owed == 0 && rec.job.State.Terminal() {
		s.retain(rec)
		s.trim(c, rec)
	}
}

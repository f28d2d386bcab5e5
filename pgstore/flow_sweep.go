package pgstore

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// FlowSweepWork implements [driver.FlowStore]. Flows that another sweep is at are left
// to it.
func (s *Store) FlowSweepWork(ctx context.Context, now driver.Time, pendingAge driver.Millis, limit int) (driver.FlowWork, error) {
	var work driver.FlowWork
	err := s.transact(ctx, "FlowSweepWork", now, func(t *tx) (err error) {
		work = driver.FlowWork{}
		if work.Reconcile, err = t.takeReconcile(pendingAge, limit); err != nil {
			return err
		}
		work.Cascade, err = t.takeCascades(limit)
		return err
	})
	if err != nil {
		return driver.FlowWork{}, err
	}
	return work, nil
}

// openRow is a row that a sweep takes.
type openRow struct {
	childPlace
	row  driver.Child
	size int64 // of the request's payload
}

// sweptFlow is a flow that a sweep takes rows of.
type sweptFlow struct {
	flow int64
	rows []openRow
	more bool // it has further rows
}

// takeReconcile returns rows that have been pending for long. Flows whose time has
// come stand in a rotation; each gives what the page has room for and goes to the
// back.
func (t *tx) takeReconcile(age driver.Millis, limit int) ([]driver.Child, error) {
	due, err := t.dueFlows(age, limit)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	if err := t.readDue(due, age, limit); err != nil {
		return nil, err
	}
	var taken []openRow
	var flows []int64
	var more []bool
	size := int64(0)
	for _, f := range due {
		if len(taken) >= limit || size >= driver.ChunkBytes {
			break
		}
		before := len(taken)
		for i, row := range f.rows {
			if len(taken) == limit || size+row.size > driver.ChunkBytes && len(taken) > 0 {
				f.more = f.more || i < len(f.rows)
				break
			}
			size += row.size
			taken = append(taken, row)
		}
		slices.SortFunc(taken[before:], func(a, b openRow) int { return strings.Compare(a.key, b.key) })
		flows, more = append(flows, f.flow), append(more, f.more)
	}
	page, err := t.requests(taken)
	if err != nil {
		return nil, err
	}
	if err := t.putInPlace(taken, placeReturned); err != nil {
		return nil, err
	}
	turns, err := t.turnsFor(len(flows))
	if err != nil {
		return nil, err
	}
	t.exec("flows_stand_again", flows, more, turns)
	return page, t.send()
}

// dueFlows makes armed flows due whose time has come, and returns those that are due,
// in turn.
func (t *tx) dueFlows(age driver.Millis, limit int) ([]*sweptFlow, error) {
	t.exec("flows_come_due", t.now.Add(-age), limit)
	var due []*sweptFlow
	t.query("flows_due", func(rows pgx.Rows) error {
		f := &sweptFlow{}
		err := rows.Scan(&f.flow)
		due = append(due, f)
		return err
	}, limit)
	return due, t.send()
}

// readDue reads the due rows of flows, in their order, one more than the limit in all.
func (t *tx) readDue(due []*sweptFlow, age driver.Millis, limit int) error {
	flows := make([]int64, len(due))
	byFlow := make(map[int64]*sweptFlow, len(due))
	for i, f := range due {
		flows[i], byFlow[f.flow] = f.flow, f
	}
	t.query("children_due", func(rows pgx.Rows) error {
		var row openRow
		err := rows.Scan(&row.flow, &row.key, &row.size)
		f := byFlow[row.flow]
		f.rows = append(f.rows, row)
		return err
	}, flows, t.now.Add(-age), limit+1)
	return t.send()
}

// requests returns rows with their requests, in order.
func (t *tx) requests(taken []openRow) ([]driver.Child, error) {
	page := make([]driver.Child, len(taken))
	if len(taken) == 0 {
		return nil, nil
	}
	flows, keys := splitPlaces(taken)
	t.query("children_requests", func(rows pgx.Rows) error {
		var request string
		var payload *string
		var at int
		c, err := readChild(rows, &request, &payload, &at)
		if err != nil {
			return err
		}
		c.Request, err = t.store.plans.Request(request, bytesOf(payload))
		page[at-1] = c
		return err
	}, flows, keys)
	return page, t.send()
}

func splitPlaces(rows []openRow) (flows []int64, keys []string) {
	for _, row := range rows {
		flows, keys = append(flows, row.flow), append(keys, row.key)
	}
	return flows, keys
}

// putInPlace queues that rows stand behind all others of a place.
func (t *tx) putInPlace(rows []openRow, place int16) error {
	if len(rows) == 0 {
		return nil
	}
	turns, err := t.turnsFor(len(rows))
	if err != nil {
		return err
	}
	flows, keys := splitPlaces(rows)
	var armedAt *int64
	if place == placeReturned {
		armedAt = pointer(int64(t.now))
	}
	t.exec("children_place", flows, keys, turns, place, armedAt)
	return nil
}

// turnsFor draws so many numbers.
func (t *tx) turnsFor(n int) ([]int64, error) {
	if missing := n - len(t.numbers); missing > 0 {
		t.draw(missing)
		if err := t.send(); err != nil {
			return nil, err
		}
	}
	turns := t.numbers[:n:n]
	t.numbers = t.numbers[n:]
	return turns, nil
}

// takeCascades returns owed rows: first those that no sweep has returned as owed,
// their flows in rotation; then those that were returned longest ago.
func (t *tx) takeCascades(limit int) ([]driver.Child, error) {
	var taken []openRow
	var order []int64
	unasked := map[int64]int{}
	t.query("children_owed", func(rows pgx.Rows) error {
		var row openRow
		var err error
		row.row, err = readChild(rows, &row.flow)
		row.key = row.row.ChildKey
		if unasked[row.flow] == 0 {
			order = append(order, row.flow)
		}
		unasked[row.flow]++
		taken = append(taken, row)
		return err
	}, limit+1)
	if err := t.send(); err != nil {
		return nil, err
	}
	more := make([]bool, len(order))
	if len(taken) > limit {
		last := taken[limit]
		taken = taken[:limit]
		if at := slices.Index(order, last.flow); unasked[last.flow] == 1 {
			order, more = slices.Delete(order, at, at+1), more[:len(more)-1] // it has its turn still
		} else {
			more[at] = true
		}
	}
	if room := limit - len(taken); room > 0 {
		t.query("children_asked", func(rows pgx.Rows) error {
			var row openRow
			var err error
			row.row, err = readChild(rows, &row.flow)
			row.key = row.row.ChildKey
			taken = append(taken, row)
			return err
		}, room)
		if err := t.send(); err != nil {
			return nil, err
		}
	}
	if len(taken) == 0 {
		return nil, nil
	}
	turns, err := t.turnsFor(len(order))
	if err != nil {
		return nil, err
	}
	if err := t.putInPlace(taken, placeAsked); err != nil {
		return nil, err
	}
	if len(order) > 0 {
		t.exec("flows_owed_again", order, more, turns)
	}
	t.placeAskedFlows(taken)
	return groupByFlow(taken), nil
}

// placeAskedFlows queues the places of flows among those with rows that were returned as
// owed.
func (t *tx) placeAskedFlows(rows []openRow) {
	flows, _ := splitPlaces(rows)
	slices.Sort(flows)
	t.exec("flows_place_asked", slices.Compact(flows))
}

// groupByFlow returns the rows flow by flow, each in the order of its child keys.
func groupByFlow(taken []openRow) []driver.Child {
	var order []int64
	rows := map[int64][]driver.Child{}
	for _, open := range taken {
		if rows[open.flow] == nil {
			order = append(order, open.flow)
		}
		rows[open.flow] = append(rows[open.flow], open.row)
	}
	var page []driver.Child
	for _, flow := range order {
		slices.SortFunc(rows[flow], func(a, b driver.Child) int { return strings.Compare(a.ChildKey, b.ChildKey) })
		page = append(page, rows[flow]...)
	}
	return page
}

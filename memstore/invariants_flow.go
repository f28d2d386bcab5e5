package memstore

import "github.com/braidmq/braid/driver"

// flows checks every landed flow's counters against its rows, and that a sweep
// finds the open ones.
func (a *audit) flows(s *Store) {
	var listed [4]int
	for id, rec := range s.jobs {
		f := rec.flow
		if f == nil {
			a.check(rec.job.State != driver.WaitingChildren, "job %q is parked without a flow", id)
			continue
		}
		a.check(f.id == id, "job %q has the flow of %q", id, f.id)
		a.flow(s, rec)
		for order := range flowOrder(len(f.in)) {
			if f.in[order] {
				listed[order]++
				a.check(has(s.flows.orders[order], f), "flow %q is not where it says", id)
			}
		}
	}
	for order, n := range listed {
		a.check(s.flows.orders[order].Len() == n, "%d flows, %d are listed in order %d", n, s.flows.orders[order].Len(), order)
	}
	for _, f := range s.flows.abandoned {
		a.check(f.rows.Len() > 0, "an abandoned flow of %q has no rows, and is kept", f.id)
		a.check(s.jobs[f.id] == nil || s.jobs[f.id].flow != f, "the flow of job %q is abandoned", f.id)
	}
}

// flow checks one landed flow.
func (a *audit) flow(s *Store, rec *record) {
	f := rec.flow
	var counted driver.Manifest
	owed := int64(0)
	counted.FailFast = f.manifest.FailFast
	var places [inAsked + 1]int
	f.rows.Scan(func(row *child) bool {
		places[row.place]++
		switch f.statusOf(row) {
		case driver.ChildPending:
			counted.Pending++
		case driver.ChildCompleted:
			counted.Completed++
		case driver.ChildFailed:
			counted.Failed++
		case driver.ChildCancelled:
			counted.Cancelled++
		}
		if f.owes(row) {
			owed++
		}
		open := f.statusOf(row) == driver.ChildPending || f.owes(row)
		a.check(open == (row.place != inNone), "flow %q: row %q is open: %t, and lies in place %d", f.id, row.key, open, row.place)
		a.check(row.place != inFresh || has(f.fresh, row), "flow %q: row %q is not among the fresh", f.id, row.key)
		a.check(row.place != inReturned || has(f.returned, row), "flow %q: row %q is not among the returned", f.id, row.key)
		a.check(row.place != inAsked || has(f.asked, row), "flow %q: row %q is not among the asked", f.id, row.key)
		return true
	})
	a.check(counted == f.manifest, "flow %q has rows for %+v, and counts %+v", f.id, counted, f.manifest)
	a.check(owed == f.owed, "flow %q owes %d, and counts %d", f.id, owed, f.owed)
	a.check(f.fresh.Len() == places[inFresh] && f.returned.Len() == places[inReturned] && f.asked.Len() == places[inAsked],
		"flow %q: its open rows lie in more than one place", f.id)
	parked := rec.job.State == driver.WaitingChildren
	a.check(parked == (f.manifest.Pending > 0), "flow %q has %d pending children, and its parent is %v",
		f.id, f.manifest.Pending, rec.job.State)
	a.check((f.in[byArmed] != f.in[dueTurns]) == parked, "flow %q, whose parent is %v, stands in the wrong rotation", f.id, rec.job.State)
	a.check(f.in[owedTurns] == (!parked && f.hasUnasked()), "flow %q: whether rows were not asked for, and its rotation, differ", f.id)
	a.check(f.in[byAsked] == (f.asked.Len() > 0), "flow %q: whether rows were asked for, and its rotation, differ", f.id)
	if f.in[byArmed] {
		a.check(f.armedAt <= f.earliestArmed(), "flow %q has a row that waits longer than it says", f.id)
	}
}

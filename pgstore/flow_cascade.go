package pgstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// MarkChildrenCascaded implements [driver.FlowStore].
func (s *Store) MarkChildrenCascaded(ctx context.Context, now driver.Time, refs []driver.ChildRef) error {
	trims := len(refs) + trimsBeyondBatch
	_, err := s.inChunks(ctx, "MarkChildrenCascaded", now, len(refs), driver.ChunkJobs, func(t *tx, from, to int) error {
		budget := trims
		t.trims = &budget
		if err := t.markCascaded(refs[from:to]); err != nil {
			return err
		}
		t.settled = func() { trims = budget }
		return nil
	})
	return err
}

// markCascaded pays debts of flows. The last one of a flow hands its terminal parent to
// retention.
func (t *tx) markCascaded(refs []driver.ChildRef) error {
	var ids []string
	for _, ref := range refs {
		ids = append(ids, ref.FlowID)
	}
	parents, err := t.load(unique(ids))
	if err != nil {
		return err
	}
	var places []childPlace
	for _, ref := range refs {
		if parent := parents[ref.FlowID]; parent != nil && parent.flow != 0 {
			places = append(places, childPlace{parent.flow, ref.ChildKey})
		}
	}
	rows, err := t.childRows(places)
	if err != nil {
		return err
	}
	var paid []openRow
	for _, ref := range refs {
		parent := parents[ref.FlowID]
		if parent == nil || parent.flow == 0 {
			continue
		}
		f, at := t.flows[parent.flow], childPlace{parent.flow, ref.ChildKey}
		row := rows[at]
		if row == nil || row.status != driver.ChildPending || !f.settledEarly {
			continue
		}
		row.status = driver.ChildCancelled
		f.owed--
		f.changed = true
		paid = append(paid, openRow{childPlace: at})
		if f.owed == 0 && parent.state.Terminal() && parent.owing {
			if err := t.retain(parent); err != nil {
				return err
			}
		}
	}
	if len(paid) == 0 {
		return nil
	}
	flows, keys := splitPlaces(paid)
	t.exec("children_cascaded", flows, keys)
	t.flush()
	t.placeAskedFlows(paid)
	return nil
}

// retain hands a terminal parent that owes nothing any more to retention.
func (t *tx) retain(rec *record) error {
	p, err := t.store.plans.Plan(rec.settings)
	if err != nil {
		return err
	}
	rec.owing = false
	t.count(rec.queue, rec.name, owingState+int64(rec.state), -1)
	if t.store.deleteFinished {
		return t.delete(rec)
	}
	keep := p.Keep.For(rec.state)
	expiresAt := driver.Opt[driver.Time]{}
	if age, ok := keep.Age.Get(); ok {
		expiresAt = driver.Some(rec.finishedAt.Value.Add(age))
	}
	t.exec("job_retain", rec.id, optionalTime(expiresAt))
	t.trim(rec, keep, false)
	return nil
}

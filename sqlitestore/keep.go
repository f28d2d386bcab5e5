package sqlitestore

import (
	"math"

	"github.com/braidmq/braid/driver"
)

// The finished jobs of one name and state that retention has are a group, ordered by
// FinishedAt, then by the order in which they finished.

// place is a place in a group's order.
type place struct {
	at   int64
	turn int64
}

func (p place) before(q place) bool { return p.at < q.at || p.at == q.at && p.turn < q.turn }

// groupSize returns how many jobs a group has.
func (t *tx) groupSize(name string, state driver.State) (int64, error) {
	all, err := t.size(name, int64(state))
	if err != nil || all == 0 {
		return 0, err
	}
	owing, err := t.size(name, owingState+int64(state))
	return all - owing, err
}

// goesAtOnce reports whether a job that is finishing is to be deleted in the same
// step, and nothing else of its group with it.
func (st step) goesAtOnce(rec *record, keep driver.Retention, state driver.State, owing bool) (bool, error) {
	if count, ok := keep.Count.Get(); !ok || count > 0 || owing || *st.trims <= 0 {
		return false, nil
	}
	size, err := st.groupSize(rec.name, state)
	if err != nil || size > 0 {
		return false, err
	}
	surplus, err := st.hasTrims()
	return !surplus, err
}

// hasTrims reports whether any trim is left over.
func (t *tx) hasTrims() (bool, error) {
	if !t.trims.Set {
		found, err := first(t, "trims_any", func(row) {})
		if err != nil {
			return false, err
		}
		t.trims = driver.Some(found)
	}
	return t.trims.Value, nil
}

// trim applies a job's Keep to its group after the job was handed to retention.
// What the call may not delete any more is left to the sweep.
func (st step) trim(rec *record, keep driver.Retention) error {
	bound, err := st.boundFor(rec.name, rec.state, keep)
	if err != nil {
		return err
	}
	leftOver, err := st.hasTrims()
	if err != nil {
		return err
	}
	if leftOver {
		_, err := first(st, "trim_load", func(r row) {
			if left := (place{r.integer(0), r.integer(1)}); bound.before(left) {
				bound = left
			}
		}, rec.name, rec.state)
		if err != nil {
			return err
		}
	}
	if bound.at == math.MinInt64 {
		return nil
	}
	oldest, err := st.oldest(rec.name, rec.state, bound, *st.trims+1)
	if err != nil {
		return err
	}
	for _, old := range oldest {
		if *st.trims <= 0 {
			st.tx.trims = driver.Some(true)
			_, err := st.exec("trim_save", rec.name, rec.state, bound.at, bound.turn)
			return err
		}
		*st.trims--
		if err := st.delete(old); err != nil {
			return err
		}
	}
	if leftOver {
		_, err = st.exec("trim_delete", rec.name, rec.state)
	}
	return err
}

// boundFor returns the place before which jobs are to go under the policy.
func (st step) boundFor(name string, state driver.State, keep driver.Retention) (place, error) {
	bound := place{at: math.MinInt64, turn: math.MinInt64}
	if count, ok := keep.Count.Get(); ok {
		size, err := st.groupSize(name, state)
		if err != nil {
			return bound, err
		}
		set := func(r row) { bound = place{r.integer(0), r.integer(1)} }
		switch surplus := size - count; {
		case surplus <= 0:
		case count == 0:
			_, err = first(st, "finished_from_newest", set, name, state, 0)
			bound.turn++
		case surplus < count:
			_, err = first(st, "finished_from_oldest", set, name, state, surplus)
		default:
			_, err = first(st, "finished_from_newest", set, name, state, count-1)
		}
		if err != nil {
			return bound, err
		}
	}
	if age, ok := keep.Age.Get(); ok {
		// All that finished at or before now − age.
		if old := (place{int64(st.now.Add(-age)), math.MaxInt64}); bound.before(old) {
			bound = old
		}
	}
	return bound, nil
}

// oldest returns up to limit jobs of a group before the bound, oldest first.
func (t *tx) oldest(name string, state driver.State, bound place, limit int) ([]*record, error) {
	var found []*record
	var rows []int64
	err := t.query("finished_before", func(r row) error {
		rows = append(rows, r.integer(0))
		return nil
	}, name, state, bound.at, bound.turn, limit)
	if err != nil {
		return nil, err
	}
	for _, job := range rows {
		rec, err := t.recordOf(job)
		if err != nil {
			return nil, err
		}
		if rec != nil {
			found = append(found, rec)
		}
	}
	return found, nil
}

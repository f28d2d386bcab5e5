package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// SweepHistory implements [driver.Sweeper].
func (s *Store) SweepHistory(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepHistory", limit, func(t *tx, most int) (deleted int, more bool, err error) {
		st := step{tx: t, now: now}
		deleted, more, err = st.sweepTrims(most)
		if err != nil || more {
			return deleted, more, err
		}
		expired, more, err := st.sweepExpired(most - deleted)
		return deleted + expired, more, err
	})
}

// leftTrim is a trim that a call has left over.
type leftTrim struct {
	name  string
	state driver.State
	bound place
}

// sweepTrims deletes what bounded trims have left over.
func (st step) sweepTrims(most int) (deleted int, more bool, err error) {
	for {
		var left *leftTrim
		_, err := first(st, "trims_first", func(r row) {
			left = &leftTrim{name: r.text(0), state: r.state(1), bound: place{r.integer(2), r.integer(3)}}
		})
		if err != nil || left == nil {
			return deleted, false, err
		}
		oldest, err := st.oldest(left.name, left.state, left.bound, most-deleted+1)
		if err != nil {
			return deleted, false, err
		}
		for _, rec := range oldest {
			if deleted == most {
				return deleted, true, nil
			}
			if err := st.delete(rec); err != nil {
				return deleted, false, err
			}
			deleted++
		}
		if _, err := st.exec("trim_delete", left.name, left.state); err != nil {
			return deleted, false, err
		}
	}
}

// expiring is a finished job and when it is to go.
type expiring struct {
	at  driver.Time
	id  string
	job int64
}

// sweepExpired deletes the jobs that are older than their own Keep or the store's
// ceiling allows. It merges the order of the jobs with an age of their own with
// those of each name and state that has a ceiling.
func (st step) sweepExpired(most int) (deleted int, more bool, err error) {
	merged := merge[expiring]{less: func(a, b expiring) bool {
		return a.at < b.at || a.at == b.at && a.id < b.id
	}}
	pageSize := min(most+1, 64)
	err = merged.enter(st.expiringSource("expiring_own", 0, pageSize, st.now), pageSize)
	if err != nil {
		return 0, false, err
	}
	for state := driver.Completed; state <= driver.Cancelled; state++ {
		age, ok := st.store.ceiling.For(state).Get()
		if !ok {
			continue
		}
		names, err := st.namesIn(state)
		if err != nil {
			return 0, false, err
		}
		for _, name := range names {
			err := merged.enter(st.expiringSource("expiring_group", age, pageSize, st.now.Add(-age), name, state), pageSize)
			if err != nil {
				return 0, false, err
			}
		}
	}
	// A job may stand in two of the orders.
	gone := map[int64]bool{}
	for {
		next, ok, err := merged.next()
		if err != nil || !ok {
			return deleted, false, err
		}
		if gone[next.job] {
			continue
		}
		if deleted == most {
			return deleted, true, nil
		}
		rec, err := st.recordOf(next.job)
		if err != nil {
			return deleted, false, err
		}
		if rec != nil {
			if err := st.delete(rec); err != nil {
				return deleted, false, err
			}
		}
		gone[next.job] = true
		deleted++
	}
}

// expiringSource reads the jobs up to a time in pages; age is what lies between that
// time of a job and its end.
func (st step) expiringSource(query statement, age driver.Millis, pageSize int, until driver.Time, group ...any) func(after *expiring) ([]expiring, error) {
	return func(after *expiring) ([]expiring, error) {
		from, id := any(int64(minTime)), ""
		if after != nil {
			from, id = int64(after.at)-int64(age), after.id
		}
		var page []expiring
		err := st.query(query, func(r row) error {
			page = append(page, expiring{at: r.time(2).Add(age), id: r.text(1), job: r.integer(0)})
			return nil
		}, append([]any{until, from, id, pageSize}, group...)...)
		return page, err
	}
}

// namesIn returns the names of the jobs in a state.
func (t *tx) namesIn(state driver.State) ([]string, error) {
	var names []string
	err := t.query("counts_names", func(r row) error {
		names = append(names, r.text(0))
		return nil
	}, state)
	return names, err
}

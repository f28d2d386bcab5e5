package sqlitestore

import "github.com/braidmq/braid/driver"

// ten is how many jobs one statement inserts where it can: what SQLite and its driver
// do for each statement is as much as a quarter of the work of inserting a job.
const ten = 10

// plain reports whether a batch begins with ten requests that are nothing but rows of
// braid_jobs.
func (st step) plain(batch []driver.EnqueueRequest) bool {
	if len(batch) < ten {
		return false
	}
	for i := range batch[:ten] {
		req := &batch[i]
		if req.Dedupe != nil || isLarge(req) || req.ID == "" && st.store.generateID != nil {
			return false
		}
	}
	return true
}

// insertTen makes plain requests jobs. If an id is taken, it does nothing and returns
// false.
func (st step) insertTen(batch []driver.EnqueueRequest, results []driver.EnqueueResult) (bool, error) {
	ids := st.counters.ids
	args := make([]any, 0, 17*ten)
	for i := range batch {
		results[i] = driver.EnqueueResult{ID: batch[i].ID}
		if results[i].ID == "" {
			results[i].ID = st.nextID()
		}
		args = st.columns(args, results[i].ID, &batch[i], st.counters.seq+1+int64(i))
	}
	result, err := st.session.exec("job_insert_ten", args...)
	if err != nil {
		return false, err
	}
	inserted, err := result.RowsAffected()
	if err != nil {
		return false, err
	}
	if inserted < ten {
		st.counters.ids = ids
		if inserted == 0 {
			return false, nil
		}
		last, err := result.LastInsertId()
		if err == nil {
			_, err = st.session.exec("job_insert_undo", last-inserted)
		}
		return false, err
	}
	st.changed = true
	st.counters.seq += ten
	for i := range batch {
		st.tell(&batch[i])
	}
	return true, nil
}

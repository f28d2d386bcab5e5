package flow

import (
	"context"
	"errors"
	"time"

	"github.com/braidmq/braid/driver"
)

// Sweep repairs the flows whose parents are in one store: it finds out what became
// of children that have not reported for long, enqueues those that are missing, and
// cancels the children of flows that settled early.
type Sweep struct {
	Parents Store
	Stores  Stores // where children may be
	// PendingAge is how long a child may not report before it is looked up.
	PendingAge driver.Millis
	// Budget is how long one Run goes on.
	Budget time.Duration
	// Recorded is told of reports as that of [Relay] is, Cascaded of cancelled children.
	// Nil: nobody.
	Recorded func(reports int, settledEarly bool)
	Cascaded func(children int)
	// CascadeTo is told of a store in which children were cancelled: parents among
	// them have children of their own to cancel. Nil: nobody.
	CascadeTo func(storeKey string)
}

// sweepPage is how many rows of a kind are worked on at once.
const sweepPage = driver.ChunkJobs

// Run works until nothing is left that it can do, or the budget is used up. Each
// row is on its own: one that fails is left for the next sweep.
func (s *Sweep) Run(ctx context.Context) error {
	began := time.Now()
	round := sweepRound{Sweep: s, down: make(map[string]bool)}
	for {
		var work driver.FlowWork
		err := call(ctx, func(ctx context.Context) (err error) {
			work, err = s.Parents.Driver.FlowSweepWork(ctx, s.Parents.Now(), s.PendingAge, sweepPage)
			return err
		})
		if err != nil {
			return errors.Join(round.err, err)
		}
		roundTrip := round.seenBefore(work)
		if roundTrip {
			work.Cascade = nil
		}
		for key, rows := range groupByStore(work.Reconcile, func(c driver.Child) string { return c.StoreKey }) {
			round.try(key, func(store Store) error {
				return apart(rows, func(rows []driver.Child) error { return round.reconcile(ctx, store, rows) })
			})
		}
		for key, rows := range groupByStore(work.Cascade, func(c driver.Child) string { return c.StoreKey }) {
			round.try(key, func(store Store) error {
				return apart(rows, func(rows []driver.Child) error { return round.cascade(ctx, store, rows) })
			})
		}
		short := len(work.Reconcile) < sweepPage && len(work.Cascade) < sweepPage
		if short || roundTrip || ctx.Err() != nil || time.Since(began) > s.Budget {
			return round.err
		}
	}
}

// sweepRound is one Run.
type sweepRound struct {
	*Sweep
	down  map[string]bool // stores that failed in this round: not tried again
	first *driver.ChildRef
	err   error
}

// seenBefore reports whether the cascades have come round: rows that cannot be paid
// are returned again, behind all others.
func (r *sweepRound) seenBefore(work driver.FlowWork) bool {
	if len(work.Cascade) == 0 {
		return false
	}
	for _, row := range work.Cascade {
		if r.first != nil && row.FlowID == r.first.FlowID && row.ChildKey == r.first.ChildKey {
			return true
		}
	}
	if r.first == nil {
		r.first = &driver.ChildRef{FlowID: work.Cascade[0].FlowID, ChildKey: work.Cascade[0].ChildKey}
	}
	return false
}

func (r *sweepRound) try(storeKey string, do func(Store) error) {
	if r.down[storeKey] {
		return
	}
	store, unknown := r.Stores.find(storeKey)
	err := unknown
	if err == nil {
		err = do(store)
	}
	if err != nil {
		r.down[storeKey] = unknown != nil || !refused(err)
		r.err = errors.Join(r.err, err)
	}
}

// reconcile finds out what became of children in one store.
func (r *sweepRound) reconcile(ctx context.Context, store Store, rows []driver.Child) error {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ChildJobID
	}
	var jobs []*driver.Job
	err := call(ctx, func(ctx context.Context) (err error) {
		jobs, err = store.Driver.Jobs(ctx, ids)
		return err
	})
	if err != nil {
		return err
	}
	var reports []driver.ChildReport
	var missing []driver.Child
	for i, job := range jobs {
		switch {
		case job == nil:
			missing = append(missing, rows[i])
		case job.State.Terminal():
			reports = append(reports, reportOf(rows[i], job))
		}
	}
	if len(reports) > 0 {
		results, err := r.Parents.record(ctx, reports)
		if err != nil {
			return err
		}
		if r.Recorded != nil {
			r.Recorded(len(reports), settledEarly(reports, results))
		}
	}
	if len(missing) > 0 {
		return r.recreate(ctx, store, missing)
	}
	return nil
}

// recreate enqueues children whose job is not there, unless their outcome is on its
// way: a job that is not kept leaves nothing but its entry in the outbox.
func (r *sweepRound) recreate(ctx context.Context, store Store, missing []driver.Child) error {
	relay := Relay{From: store, To: r.Parents, Recorded: r.Recorded}
	if err := relay.DrainAll(ctx); err != nil {
		return err
	}
	var errs []error
	for flowID, rows := range groupByStore(missing, func(c driver.Child) string { return c.FlowID }) {
		keys := make([]string, len(rows))
		for i, row := range rows {
			keys[i] = row.ChildKey
		}
		var now []*driver.Child
		err := call(ctx, func(ctx context.Context) (err error) {
			now, err = r.Parents.Driver.Children(ctx, flowID, keys)
			return err
		})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var pending []driver.StagedChild
		for i, row := range rows {
			if now[i] != nil && now[i].Status == driver.ChildPending && now[i].ChildJobID == row.ChildJobID && row.Request != nil {
				pending = append(pending, driver.StagedChild{ChildKey: row.ChildKey, StoreKey: row.StoreKey, Request: *row.Request})
			}
		}
		if len(pending) > 0 {
			errs = append(errs, r.Stores.Dispatch(ctx, r.Parents, flowID, pending, 0))
		}
	}
	return errors.Join(errs...)
}

// cascade cancels children in one store, and marks what is settled by that.
func (r *sweepRound) cascade(ctx context.Context, store Store, rows []driver.Child) error {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ChildJobID
	}
	var results []driver.OperateResult
	err := call(ctx, func(ctx context.Context) (err error) {
		results, err = store.Driver.Cancel(ctx, store.Now(), ids)
		return err
	})
	if err != nil {
		return err
	}
	var paid []driver.ChildRef
	var errs []error
	for i, result := range results {
		// A child that is gone, or has ended, needs no cancel.
		if result.Err == nil || errors.Is(result.Err, driver.ErrNotFound) || errors.Is(result.Err, driver.ErrNotCancellable) {
			paid = append(paid, driver.ChildRef{FlowID: rows[i].FlowID, ChildKey: rows[i].ChildKey})
		} else {
			errs = append(errs, result.Err)
		}
	}
	if len(paid) > 0 {
		err := call(ctx, func(ctx context.Context) error {
			return r.Parents.Driver.MarkChildrenCascaded(ctx, r.Parents.Now(), paid)
		})
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if r.Cascaded != nil {
			r.Cascaded(len(paid))
		}
		if r.CascadeTo != nil {
			r.CascadeTo(store.Key)
		}
	}
	return errors.Join(errs...)
}

// reportOf is the report that a finished child's store would have sent.
func reportOf(row driver.Child, job *driver.Job) driver.ChildReport {
	report := driver.ChildReport{
		FlowID: row.FlowID, ChildKey: row.ChildKey, ChildJobID: row.ChildJobID,
		Exit: job.Exit, FailedReason: job.FailedReason,
	}
	switch job.State {
	case driver.Completed:
		report.Outcome = driver.ChildCompleted
	case driver.Failed:
		report.Outcome = driver.ChildFailed
	default:
		report.Outcome = driver.ChildCancelled
	}
	return report
}

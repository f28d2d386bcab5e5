package drivertest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/braidmq/braid/driver"
)

// Stores that break a rule about flows or the outbox, each one rule.

// settlesOnEveryReport says of every applied report that it settled the parent.
func settlesOnEveryReport(b *broken) {
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		results, err := b.Store.RecordChildResults(ctx, now, reports)
		results = slices.Clone(results)
		for i := range results {
			j := b.real(reports[i].FlowID)
			results[i].ParentSettled = results[i].Applied && j != nil && j.State != driver.WaitingChildren
		}
		return results, err
	}
}

// appliesTwice says of a repeated report that it was applied.
func appliesTwice(b *broken) {
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		results, err := b.Store.RecordChildResults(ctx, now, reports)
		results = slices.Clone(results)
		for i, r := range reports {
			if j := b.real(r.FlowID); j != nil && j.State == driver.WaitingChildren {
				rows, _ := b.Store.Children(ctx, r.FlowID, []string{r.ChildKey})
				results[i].Applied = len(rows) == 1 && rows[0] != nil
			}
		}
		return results, err
	}
}

func childIDsAreNotChecked(b *broken) {
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		reports = slices.Clone(reports)
		for i := range reports {
			reports[i].ChildJobID = ""
		}
		return b.Store.RecordChildResults(ctx, now, reports)
	}
}

// reportReasonsGetLost keeps no failedReason on rows.
func reportReasonsGetLost(b *broken) {
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		reports = slices.Clone(reports)
		for i := range reports {
			reports[i].FailedReason = ""
		}
		return b.Store.RecordChildResults(ctx, now, reports)
	}
}

// countersGoNegative lets reports behind an early settle count.
func countersGoNegative(b *broken) {
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		results, err := b.Store.RecordChildResults(ctx, now, reports)
		for i, r := range results {
			if j := b.real(reports[i].FlowID); !r.Applied && j != nil && j.Flow != nil && j.State.Terminal() {
				b.remember(j.ID, 1)
			}
		}
		return results, err
	}
	b.view = func(j *driver.Job) {
		if n := b.remembered(j.ID); j.Flow != nil && n > 0 {
			m := *j.Flow
			m.Pending -= n
			m.Completed += n
			j.Flow = &m
		}
	}
}

// recordsFirstOfABatch applies the first report of a batch only.
func recordsFirstOfABatch(b *broken) {
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		results, err := b.Store.RecordChildResults(ctx, now, reports[:min(1, len(reports))])
		return append(slices.Clone(results), make([]driver.RecordResult, len(reports)-len(results))...), err
	}
}

func failFastIsForgotten(b *broken) {
	b.ack = func(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
		batch = slices.Clone(batch)
		for i := range batch {
			batch[i].FailFast = false
		}
		return b.Store.Ack(ctx, now, batch)
	}
}

// cascadesAreForgotten marks what it returns.
func cascadesAreForgotten(b *broken) {
	b.flowWork = func(ctx context.Context, now driver.Time, age driver.Millis, limit int) (driver.FlowWork, error) {
		work, err := b.Store.FlowSweepWork(ctx, now, age, limit)
		if err != nil {
			return work, err
		}
		var marks []driver.ChildRef
		for _, c := range work.Cascade {
			marks = append(marks, driver.ChildRef{FlowID: c.FlowID, ChildKey: c.ChildKey})
		}
		return work, b.Store.MarkChildrenCascaded(ctx, now, marks)
	}
}

// sweepDoesNotRearm returns pending rows on every call.
func sweepDoesNotRearm(b *broken) {
	b.flowWork = func(ctx context.Context, now driver.Time, age driver.Millis, limit int) (driver.FlowWork, error) {
		b.remember("", int64(age))
		return b.Store.FlowSweepWork(ctx, now+driver.Time(b.remembered("")), age, limit)
	}
}

// sweepForgetsRequests returns the rows to reconcile without their requests.
func sweepForgetsRequests(b *broken) {
	b.flowWork = func(ctx context.Context, now driver.Time, age driver.Millis, limit int) (driver.FlowWork, error) {
		work, err := b.Store.FlowSweepWork(ctx, now, age, limit)
		work.Reconcile = slices.Clone(work.Reconcile)
		for i := range work.Reconcile {
			work.Reconcile[i].Request = nil
		}
		return work, err
	}
}

// rowsIgnoreCase orders the rows of a page as people would.
func rowsIgnoreCase(b *broken) {
	b.rows = func(ctx context.Context, flowID, cursor string, limit int) (driver.ChildPage, error) {
		page, err := b.Store.ListChildResults(ctx, flowID, cursor, limit)
		page.Children = slices.SortedFunc(slices.Values(page.Children), func(x, y driver.Child) int {
			return cmp.Compare(strings.ToLower(x.ChildKey), strings.ToLower(y.ChildKey))
		})
		return page, err
	}
}

// stagesUnderAnyToken lets a run stage that has lost its lock.
func stagesUnderAnyToken(b *broken) {
	b.stage = func(ctx context.Context, flowID, _ string, page []driver.StagedChild) error {
		return b.Store.StageChildren(ctx, flowID, b.tokenOf(flowID), page)
	}
}

// retentionIgnoresDebts removes a parent by its keep though it owes cascades.
func retentionIgnoresDebts(b *broken) {
	b.cancel = func(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
		results, err := b.Store.Cancel(ctx, now, ids)
		b.forgetDebts(ctx, now, ids)
		return results, err
	}
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		results, err := b.Store.RecordChildResults(ctx, now, reports)
		for _, r := range reports {
			b.forgetDebts(ctx, now, []string{r.FlowID})
		}
		return results, err
	}
}

func (b *broken) forgetDebts(ctx context.Context, now driver.Time, ids []string) {
	for _, id := range ids {
		j := b.real(id)
		if j != nil && j.Flow != nil && j.State.Terminal() && j.Keep.For(j.State).Count == driver.Some(int64(0)) {
			_, _ = b.Store.Remove(ctx, now, ids)
		}
	}
}

// missesInOutbox loses the entries that an operation appended, if lost says so.
func (b *broken) missesInOutbox(ctx context.Context, lost func(e driver.OutboxEntry) bool) {
	entries, _ := b.Store.PeekOutbox(ctx, 0, driver.PeekRequest{Limit: 10_000})
	for _, e := range entries {
		if lost(e) {
			_ = b.Store.DeleteOutbox(ctx, []string{e.ID})
		}
	}
}

func outboxMissesStalls(b *broken) {
	b.recover = func(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
		result, err := b.Store.RecoverStalled(ctx, now, req)
		b.missesInOutbox(ctx, func(e driver.OutboxEntry) bool { return e.Report.FailedReason == driver.StalledReason })
		return result, err
	}
}

func outboxMissesRemovals(b *broken) {
	b.remove = func(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
		var open []string
		for _, id := range ids {
			if j := b.real(id); j != nil && !j.State.Terminal() {
				open = append(open, id)
			}
		}
		removed, err := b.Store.Remove(ctx, now, ids)
		b.missesInOutbox(ctx, func(e driver.OutboxEntry) bool { return slices.Contains(open, e.Report.ChildJobID) })
		return removed, err
	}
}

// outboxMissesNestedParents reports no parent that failed fast to its own parent.
func outboxMissesNestedParents(b *broken) {
	b.record = func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
		results, err := b.Store.RecordChildResults(ctx, now, reports)
		b.missesInOutbox(ctx, func(e driver.OutboxEntry) bool { return strings.HasPrefix(e.Report.FailedReason, "flow child") })
		return results, err
	}
}

// peeking returns a breakage that changes every peek.
func peeking(edit func(b *broken, r *driver.PeekRequest)) func(b *broken) {
	return func(b *broken) {
		b.peek = func(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
			edit(b, &req)
			return b.Store.PeekOutbox(ctx, now, req)
		}
	}
}

// pagesFromPresentOnly starts again where the entry to go on behind is gone.
func pagesFromPresentOnly(b *broken, r *driver.PeekRequest) {
	entries, _ := b.Store.PeekOutbox(context.Background(), 0, driver.PeekRequest{Limit: 10_000})
	if !slices.ContainsFunc(entries, func(e driver.OutboxEntry) bool { return e.ID == r.After }) {
		r.After = ""
	}
}

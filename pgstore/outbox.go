package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
	"github.com/braidmq/braid/internal/storekit"
)

// outboxRow is an entry that is to be written.
type outboxRow struct {
	entry  int64
	parent *driver.Envelope
	jobID  string
	end    ending
}

// report puts the end of a flow's child into the outbox.
func (t *tx) report(rec *record, end ending) error {
	parent, err := rowcodec.DecodeEnvelope(rec.parent)
	if err != nil {
		return err
	}
	entry, err := t.number()
	if err != nil {
		return err
	}
	t.changes.outbox = append(t.changes.outbox, outboxRow{entry: entry, parent: parent, jobID: rec.id, end: end})
	t.count(outboxKey.queue, outboxKey.name, outboxKey.state, 1)
	return nil
}

func (t *tx) flushOutbox() {
	n := len(t.outbox)
	if n == 0 {
		return
	}
	entries, outcomes := make([]int64, n), make([]int16, n)
	flowNames, storeKeys, flowIDs, childKeys, jobIDs := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	reasons, exits := make([]*string, n), make([]*string, n)
	for i, row := range t.outbox {
		entries[i], outcomes[i], jobIDs[i] = row.entry, int16(row.end.state.ChildStatus()), row.jobID
		flowNames[i], storeKeys[i] = row.parent.FlowName, row.parent.ParentStoreKey
		flowIDs[i], childKeys[i] = row.parent.FlowID, row.parent.ChildKey
		reasons[i], exits[i] = optional(row.end.reason), optionalBytes(row.end.exit)
	}
	t.exec("outbox_insert", entries, t.now, outcomes, flowNames, storeKeys, flowIDs, childKeys, jobIDs, reasons, exits)
}

// PeekOutbox implements [driver.FlowStore].
func (s *Store) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	var entries []driver.OutboxEntry
	keys, all := unique(req.StoreKeys), req.StoreKeys == nil
	if keys == nil {
		keys = []string{}
	}
	peek := func(rows pgx.Rows) error {
		var e driver.OutboxEntry
		var number int64
		var outcome int16
		var reason, exit *string
		err := rows.Scan(&number, (*int64)(&e.At), &e.FlowName, &e.ParentStoreKey, &e.Report.FlowID, &e.Report.ChildKey,
			&outcome, &e.Report.ChildJobID, &reason, &exit)
		e.ID, e.Report.Outcome = rowcodec.EntryID(number), driver.ChildStatus(outcome) //nolint:gosec // a status
		e.Report.FailedReason, e.Report.Exit = orZero(reason), bytesOf(exit)
		entries = append(entries, e)
		return err
	}
	err := s.pipeline(ctx, "PeekOutbox", now, func(t *tx) {
		entries = nil
		if req.Hold <= 0 {
			t.query("outbox_peek", peek, keys, all, rowcodec.EntryNumber(req.After), req.Limit, driver.ChunkBytes)
			return
		}
		t.exec("outbox_unhold", keys, all, now)
		t.query("outbox_hold", peek, keys, all, rowcodec.EntryNumber(req.After), req.Limit, driver.ChunkBytes, now.Add(req.Hold))
	})
	return entries, err
}

// DeleteOutbox implements [driver.FlowStore].
func (s *Store) DeleteOutbox(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return s.serves(ctx)
	}
	for from := 0; from < len(ids); from += driver.ChunkReports {
		part := ids[from:min(from+driver.ChunkReports, len(ids))]
		numbers := make([]int64, len(part))
		for i, id := range part {
			numbers[i] = rowcodec.EntryNumber(id)
		}
		err := s.pipeline(ctx, "DeleteOutbox", 0, func(t *tx) {
			t.counted = true
			t.exec("outbox_delete", numbers)
		})
		if err != nil {
			return storekit.Partial(from, err)
		}
	}
	return nil
}

// OutboxBacklog implements [driver.FlowStore].
func (s *Store) OutboxBacklog(ctx context.Context) (driver.OutboxBacklog, error) {
	var backlog driver.OutboxBacklog
	err := s.pipeline(ctx, "OutboxBacklog", 0, func(t *tx) {
		var oldest *int64
		t.query("outbox_backlog", func(rows pgx.Rows) error {
			err := rows.Scan(&backlog.Entries, &oldest)
			backlog.Oldest = timeOf(oldest)
			return err
		})
	})
	return backlog, err
}

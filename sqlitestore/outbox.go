package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

// report puts the end of a flow's child into the outbox.
func (st step) report(rec *record, end ending) error {
	parent, err := rowcodec.DecodeEnvelope(rec.parent)
	if err != nil {
		return err
	}
	st.tx.call.outbox++
	_, err = st.exec("outbox_insert", draw(&st.counters.entries), st.now, parent.FlowName, parent.ParentStoreKey, parent.FlowID,
		parent.ChildKey, end.state.ChildStatus(), rec.id, optional(end.reason), end.exit)
	return err
}

// PeekOutbox implements [driver.FlowStore].
func (s *Store) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	var entries []driver.OutboxEntry
	if req.Hold <= 0 {
		err := s.read(ctx, "PeekOutbox", func(on session) (err error) {
			entries, err = peek(on, "outbox_after", &req)
			return err
		})
		return entries, err
	}
	err := s.write(ctx, "PeekOutbox", min(req.Limit, driver.ChunkJobs), func(t *tx) (err error) {
		keys, err := peekKeys(t, &req)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if _, err := t.affect("outbox_unhold", key, now); err != nil {
				return err
			}
		}
		if entries, err = peek(t, "outbox_ready_after", &req); err != nil {
			return err
		}
		for _, entry := range entries {
			if _, err := t.exec("outbox_hold", rowcodec.EntryNumber(entry.ID), now.Add(req.Hold)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// peekKeys returns the parents' store keys that a request asks for, each once.
func peekKeys(on session, req *driver.PeekRequest) ([]string, error) {
	if req.StoreKeys != nil {
		return unique(req.StoreKeys), nil
	}
	var keys []string
	next, found := "", true
	for query := statement("outbox_first_key"); found; query = "outbox_next_key" {
		var args []any
		if query == "outbox_next_key" {
			args = []any{next}
		}
		var err error
		if found, err = first(on, query, func(r row) { next = r.text(0) }, args...); err != nil {
			return nil, err
		}
		if found {
			keys = append(keys, next)
		}
	}
	return keys, nil
}

// peek merges the entries for the asked stores.
func peek(on session, query statement, req *driver.PeekRequest) ([]driver.OutboxEntry, error) {
	keys, err := peekKeys(on, req)
	if err != nil {
		return nil, err
	}
	merged := merge[int64]{less: func(a, b int64) bool { return a < b }}
	pageSize := max(1, min(req.Limit, 256))
	for _, key := range keys {
		err := merged.enter(func(after *int64) ([]int64, error) {
			from := rowcodec.EntryNumber(req.After)
			if after != nil {
				from = *after
			}
			var page []int64
			err := on.query(query, func(r row) error {
				page = append(page, r.integer(0))
				return nil
			}, key, from, pageSize)
			return page, err
		}, pageSize)
		if err != nil {
			return nil, err
		}
	}
	var entries []driver.OutboxEntry
	size := 0
	for len(entries) < req.Limit {
		number, ok, err := merged.next()
		if err != nil || !ok {
			return entries, err
		}
		var entry driver.OutboxEntry
		_, err = first(on, "outbox_entry", func(r row) {
			entry = driver.OutboxEntry{
				ID: rowcodec.EntryID(number), At: r.time(0), FlowName: r.text(1), ParentStoreKey: r.text(2),
				Report: driver.ChildReport{FlowID: r.text(3), ChildKey: r.text(4),
					Outcome:    driver.ChildStatus(r.integer(5)),
					ChildJobID: r.text(6), FailedReason: r.text(7), Exit: r.bytes(8)},
			}
		}, number)
		if err != nil {
			return nil, err
		}
		size += len(entry.Report.Exit) + len(entry.Report.FailedReason)
		if size > driver.ChunkBytes && len(entries) > 0 {
			break
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// DeleteOutbox implements [driver.FlowStore].
func (s *Store) DeleteOutbox(ctx context.Context, ids []string) error {
	_, err := s.inChunks(ctx, "DeleteOutbox", len(ids), driver.ChunkReports, func(t *tx, from, to int) error {
		for _, id := range ids[from:to] {
			deleted, err := t.affect("outbox_delete", rowcodec.EntryNumber(id))
			if err != nil {
				return err
			}
			t.call.outbox -= deleted
		}
		return nil
	})
	return err
}

// OutboxBacklog implements [driver.FlowStore].
func (s *Store) OutboxBacklog(ctx context.Context) (driver.OutboxBacklog, error) {
	var backlog driver.OutboxBacklog
	err := s.read(ctx, "OutboxBacklog", func(on session) error {
		if _, err := first(on, "store_load", func(r row) { backlog.Entries = r.integer(6) }); err != nil {
			return err
		}
		_, err := first(on, "outbox_oldest", func(r row) { backlog.Oldest = driver.Some(r.time(0)) })
		return err
	})
	return backlog, err
}

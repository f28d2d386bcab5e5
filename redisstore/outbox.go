package redisstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var (
	outboxPeekScript    = loadScript("outbox_peek")
	outboxDeleteScript  = loadScript("outbox_delete")
	outboxBacklogScript = loadScript("outbox_backlog")
)

// PeekOutbox implements [driver.FlowStore].
func (s *Store) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	const op = "PeekOutbox"
	begin, bytes := "-", driver.ChunkBytes
	if req.After != "" {
		begin = "(" + req.After
	}
	only := "0"
	if req.StoreKeys != nil {
		only = "1"
	}
	var page []driver.OutboxEntry
	for len(page) < req.Limit {
		most := min(req.Limit-len(page), mostRows)
		args := []any{most, begin, int64(max(req.Hold, 0)), bytes, only}
		for _, key := range req.StoreKeys {
			args = append(args, key)
		}
		reply, err := s.runTexts(ctx, op, call{script: outboxPeekScript, now: packTime(now), args: args}, 1)
		if err != nil {
			return nil, err
		}
		entries := reply[1:]
		for ; len(entries) >= 2; entries = entries[2:] {
			entry, err := unpackEntry(entries[0], entries[1])
			if err != nil {
				return nil, storeError(op, err)
			}
			page = append(page, entry)
			bytes -= len(entries[1])
			begin = "(" + entry.ID
		}
		if reply[0] == "1" || bytes <= 0 || len(reply) < 1+2*most {
			break
		}
	}
	return page, nil
}

// unpackEntry reads an entry as lib/outbox.lua packs it.
func unpackEntry(id, packed string) (driver.OutboxEntry, error) {
	u := unpacker{rest: packed}
	entry := driver.OutboxEntry{ID: id, At: u.time()}
	outcome := driver.ChildStatus(u.byte())
	envelope, err := unpackEnvelope(u.text(2))
	if err != nil || envelope == nil {
		return entry, errCorrupt
	}
	entry.FlowName, entry.ParentStoreKey = envelope.FlowName, envelope.ParentStoreKey
	entry.Report = driver.ChildReport{FlowID: envelope.FlowID, ChildKey: envelope.ChildKey, Outcome: outcome,
		ChildJobID: u.text(2), FailedReason: u.text(4)}
	if u.rest != "" {
		entry.Report.Exit = []byte(u.rest)
	}
	if u.bad {
		return entry, errCorrupt
	}
	return entry, nil
}

// DeleteOutbox implements [driver.FlowStore].
func (s *Store) DeleteOutbox(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var calls []call
	for from := 0; from < len(ids); from += driver.ChunkReports {
		c := call{script: outboxDeleteScript}
		for _, id := range ids[from:min(from+driver.ChunkReports, len(ids))] {
			c.args = append(c.args, id)
		}
		calls = append(calls, c)
	}
	return s.runInTurn(ctx, "DeleteOutbox", calls, func(any) error { return nil })
}

// OutboxBacklog implements [driver.FlowStore].
func (s *Store) OutboxBacklog(ctx context.Context) (driver.OutboxBacklog, error) {
	reply, err := s.runTexts(ctx, "OutboxBacklog", call{script: outboxBacklogScript}, 2)
	if err != nil {
		return driver.OutboxBacklog{}, err
	}
	entries, err := strconv.ParseInt(reply[0], 10, 64)
	if err != nil {
		return driver.OutboxBacklog{}, storeError("OutboxBacklog", errCorrupt)
	}
	backlog := driver.OutboxBacklog{Entries: entries}
	if reply[1] != "" {
		first, err := unpackEntry("", reply[1])
		if err != nil {
			return driver.OutboxBacklog{}, storeError("OutboxBacklog", err)
		}
		backlog.Oldest = driver.Some(first.At)
	}
	return backlog, nil
}

package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var (
	outboxPeekScript    = loadScript("outbox_peek")
	outboxDeleteScript  = loadScript("outbox_delete")
	outboxBacklogScript = loadScript("outbox_backlog")
)

// The outbox holds blocks: what one call reports to one store lies together, since it is
// mostly fetched and deleted together. A block is the number of its entries (4 bytes),
// their ids (8 each), and the entries (behind 4 bytes of length each). An entry is the
// time, the outcome (1 byte), the envelope and the child's id (behind 2 bytes of length
// each), the reason (behind 4), and the exit. lua/lib/outbox.lua and block.lua know the
// same layout.

// entryIDDigits is how many digits an entry's id has, so that ids are in order as texts.
const entryIDDigits = 16

// formatEntryID returns the id by which callers know an entry.
func formatEntryID(id uint64) string { return fmt.Sprintf("%0*d", entryIDDigits, id) }

// parseEntryID reads an id that formatEntryID wrote.
func parseEntryID(text string) (id uint64, ok bool) {
	id, err := strconv.ParseUint(text, 10, 63)
	return id, err == nil && len(text) == entryIDDigits && text[0] != '+'
}

// PeekOutbox implements [driver.FlowStore].
func (s *Store) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	const op = "PeekOutbox"
	begin, bytes := "", driver.ChunkBytes
	if req.After != "" {
		after, ok := parseEntryID(req.After)
		if !ok {
			return nil, &driver.InvalidError{Field: "after", Value: req.After, Reason: "is not the id of an outbox entry; use one that a peek returned"}
		}
		begin = packTime(driver.Time(after))
	}
	only, stores := "0", slices.Clone(req.StoreKeys)
	if stores != nil {
		only = "1"
		slices.Sort(stores)
		stores = slices.Compact(stores)
	}
	var page []driver.OutboxEntry
	for len(page) < req.Limit {
		most := min(req.Limit-len(page), mostRows)
		args := []any{most, begin, int64(max(req.Hold, 0)), bytes, only}
		for _, key := range stores {
			args = append(args, key)
		}
		reply, err := s.runTexts(ctx, op, call{script: outboxPeekScript, now: packTime(now), args: args}, 1)
		if err != nil {
			return nil, err
		}
		before := len(page)
		for _, block := range reply[1:] {
			if page, err = appendBlock(page, block); err != nil {
				return nil, storeError(op, err)
			}
			bytes -= len(block)
		}
		slices.SortFunc(page[before:], func(a, b driver.OutboxEntry) int { return cmp.Compare(a.ID, b.ID) })
		if reply[0] == "1" || bytes <= 0 || len(page)-before < most {
			break
		}
		last, _ := parseEntryID(page[len(page)-1].ID)
		begin = packTime(driver.Time(last))
	}
	return page, nil
}

// appendBlock reads the entries of a block.
func appendBlock(page []driver.OutboxEntry, block string) ([]driver.OutboxEntry, error) {
	u := unpacker{rest: block}
	n := int(u.uint(4))
	ids := unpacker{rest: u.take(8 * n)}
	if u.bad {
		return page, errCorrupt
	}
	page = slices.Grow(page, n)
	for range n {
		entry, err := unpackEntry(u.text(4))
		if err != nil {
			return page, err
		}
		entry.ID = formatEntryID(ids.uint(8))
		page = append(page, entry)
	}
	return page, u.err()
}

// unpackEntry reads an entry, but for its id.
func unpackEntry(packed string) (driver.OutboxEntry, error) {
	u := unpacker{rest: packed}
	entry := driver.OutboxEntry{At: u.time()}
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

// DeleteOutbox implements [driver.FlowStore]. No entry has an id of another form than
// peeks return.
func (s *Store) DeleteOutbox(ctx context.Context, ids []string) error {
	known := make([]uint64, 0, len(ids))
	for _, text := range ids {
		if id, ok := parseEntryID(text); ok {
			known = append(known, id)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return s.usable(ctx)
	}
	var calls []call
	for chunk := range slices.Chunk(known, driver.ChunkReports) {
		packed := make([]byte, 0, 8*len(chunk))
		for _, id := range chunk {
			packed = binary.BigEndian.AppendUint64(packed, id)
		}
		calls = append(calls, call{script: outboxDeleteScript, args: []any{packed}})
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
		u := unpacker{rest: reply[1]}
		backlog.Oldest = driver.Some(u.time())
	}
	return backlog, nil
}

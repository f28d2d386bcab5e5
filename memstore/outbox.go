package memstore

import (
	"context"
	"fmt"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// outbox holds the outcomes of flows' children on their way to the parents'
// stores.
type outbox struct {
	latest  int64 // the number in the latest entry's id
	entries map[string]*outboxItem
	boxes   map[string]*storeBox // by the parents' store key
}

// storeBox is the part of the outbox that goes to one store.
type storeBox struct {
	all   *btree.BTreeG[*outboxItem] // by id
	ready *btree.BTreeG[*outboxItem] // by id: those that no peek holds
	held  *btree.BTreeG[*outboxItem] // by the end of the hold, then id
}

// outboxItem is one entry. It lies in all, and in ready or held.
type outboxItem struct {
	driver.OutboxEntry
	heldUntil driver.Opt[driver.Time] // set while in held
}

func newOutbox() outbox {
	return outbox{entries: map[string]*outboxItem{}, boxes: map[string]*storeBox{}}
}

func newStoreBox() *storeBox {
	byID := func(a, b *outboxItem) bool { return a.ID < b.ID }
	return &storeBox{
		all:   newTree(byID),
		ready: newTree(byID),
		held: newTree(func(a, b *outboxItem) bool {
			if a.heldUntil.Value != b.heldUntil.Value {
				return a.heldUntil.Value < b.heldUntil.Value
			}
			return a.ID < b.ID
		}),
	}
}

// report puts the end of a flow's child into the outbox.
func (s *Store) report(now driver.Time, rec *record, end ending) {
	parent := rec.job.Parent
	s.outbox.latest++
	item := &outboxItem{OutboxEntry: driver.OutboxEntry{
		ID: fmt.Sprintf("%020d", s.outbox.latest), At: now,
		FlowName: parent.FlowName, ParentStoreKey: parent.ParentStoreKey,
		Report: driver.ChildReport{
			FlowID: parent.FlowID, ChildKey: parent.ChildKey, Outcome: end.state.ChildStatus(),
			Exit: end.exit, FailedReason: end.reason, ChildJobID: rec.job.ID,
		},
	}}
	s.outbox.entries[item.ID] = item
	box := s.outbox.boxes[parent.ParentStoreKey]
	if box == nil {
		box = newStoreBox()
		s.outbox.boxes[parent.ParentStoreKey] = box
	}
	box.all.Set(item)
	box.ready.Set(item)
}

// hold hides a ready item until then.
func (b *storeBox) hold(item *outboxItem, until driver.Time) {
	b.unhold(item)
	b.ready.Delete(item)
	item.heldUntil = driver.Some(until)
	b.held.Set(item)
}

// unhold makes a held item ready.
func (b *storeBox) unhold(item *outboxItem) {
	if !item.heldUntil.Set {
		return
	}
	b.held.Delete(item)
	item.heldUntil = driver.Opt[driver.Time]{}
	b.ready.Set(item)
}

// unholdExpired makes ready whatever is not held at now any more.
func (b *storeBox) unholdExpired(now driver.Time) {
	for {
		item, ok := b.held.Min()
		if !ok || item.heldUntil.Value > now {
			return
		}
		b.unhold(item)
	}
}

// outboxSource walks one box.
type outboxSource struct {
	iter btree.IterG[*outboxItem]
	head *outboxItem
}

// PeekOutbox implements [driver.FlowStore].
func (s *Store) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	sources := s.outbox.sources(now, &req)
	var items []*outboxItem
	var page []driver.OutboxEntry
	size := 0
	for !sources.empty() && len(items) < req.Limit {
		next := sources.top()
		size += len(next.head.Report.Exit) + len(next.head.Report.FailedReason)
		if size > driver.ChunkBytes && len(items) > 0 {
			break
		}
		items = append(items, next.head)
		page = append(page, next.head.OutboxEntry)
		if next.iter.Next() {
			next.head = next.iter.Item()
			sources.fixTop()
		} else {
			sources.dropTop()
		}
	}
	if req.Hold > 0 {
		for _, item := range items {
			s.outbox.boxes[item.ParentStoreKey].hold(item, now.Add(req.Hold))
		}
	}
	return page, nil
}

// sources merges the boxes that the request asks for.
func (o *outbox) sources(now driver.Time, req *driver.PeekRequest) *minHeap[outboxSource] {
	merged := &minHeap[outboxSource]{less: func(a, b outboxSource) bool { return a.head.ID < b.head.ID }}
	seen := make(map[*storeBox]bool, len(req.StoreKeys))
	enter := func(box *storeBox) {
		if box == nil || seen[box] {
			return
		}
		seen[box] = true
		tree := box.all
		if req.Hold > 0 {
			box.unholdExpired(now)
			tree = box.ready
		}
		source := outboxSource{iter: tree.Iter()}
		ok := source.iter.Seek(&outboxItem{OutboxEntry: driver.OutboxEntry{ID: req.After}})
		if ok && source.iter.Item().ID == req.After {
			ok = source.iter.Next()
		}
		if ok {
			source.head = source.iter.Item()
			merged.items = append(merged.items, source)
		}
	}
	if req.StoreKeys == nil {
		for _, box := range o.boxes {
			enter(box)
		}
	}
	for _, key := range req.StoreKeys {
		enter(o.boxes[key])
	}
	merged.init()
	return merged
}

// DeleteOutbox implements [driver.FlowStore].
func (s *Store) DeleteOutbox(ctx context.Context, ids []string) error {
	_, err := s.inChunks(ctx, len(ids), driver.ChunkReports, func(from, to int) {
		for _, id := range ids[from:to] {
			s.outbox.remove(id)
		}
	})
	return err
}

func (o *outbox) remove(id string) {
	item := o.entries[id]
	if item == nil {
		return
	}
	delete(o.entries, id)
	box := o.boxes[item.ParentStoreKey]
	box.unhold(item)
	box.ready.Delete(item)
	box.all.Delete(item)
	if box.all.Len() == 0 {
		delete(o.boxes, item.ParentStoreKey)
	}
}

// OutboxBacklog implements [driver.FlowStore].
func (s *Store) OutboxBacklog(ctx context.Context) (driver.OutboxBacklog, error) {
	if err := s.lock(ctx); err != nil {
		return driver.OutboxBacklog{}, err
	}
	defer s.mu.Unlock()
	backlog := driver.OutboxBacklog{Entries: int64(len(s.outbox.entries))}
	var first *outboxItem
	for _, box := range s.outbox.boxes {
		if item, ok := box.all.Min(); ok && (first == nil || item.ID < first.ID) {
			first = item
		}
	}
	if first != nil {
		backlog.Oldest = driver.Some(first.At)
	}
	return backlog, nil
}

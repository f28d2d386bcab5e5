package drivertest

import (
	"fmt"
	"slices"

	"github.com/braidmq/braid/driver"
)

// Reading and emptying the outbox.

func init() {
	register("Outbox/InOrder",
		"Peek answers in order: entries as their children ended, ids growing in byte order.",
		outboxInOrder)
	register("Outbox/PeekRemovesNothing",
		"PeekOutbox returns a page of the outbox, in order, and removes nothing.",
		peekRemovesNothing)
	register("Outbox/PagesPastDeletedEntries",
		"`after` pages past an id whether it still exists or not.",
		pagesPastDeleted)
	register("Outbox/StoreKeys",
		"Peek returns the entries for the asked stores; those of others neither block nor fill the page.",
		outboxStoreKeys)
	register("Outbox/Hold",
		"`hold` hides what it returns from other holding peeks until now + hold; a peek that does not hold does not mind.",
		outboxHold)
	register("Outbox/HoldSkipsWhatIsHeld",
		"N relays do not do N times the work: a holding peek goes on behind what others hold.",
		outboxHoldSkips)
	register("Outbox/DeleteIsIdempotent",
		"Delete by ids is idempotent; unknown ids are ignored.",
		outboxDelete)
	register("Outbox/Backlog",
		"OutboxBacklog tells the outbox's length and the age of its first entry.",
		outboxBacklog)
}

// ended cancels n foster children, one millisecond after the other, and returns
// their ids.
func (t *T) endFosters(n int, edits ...edit) []string {
	t.Helper()
	batch := make([]driver.EnqueueRequest, n)
	for i := range batch {
		batch[i] = fosterChild(fmt.Sprintf("c%03d", i), edits...)
	}
	ids := t.insert(0, batch...)
	for i, id := range ids {
		t.cancel(driver.Time(i), id)
	}
	return ids
}

func outboxInOrder(t *T) {
	var want []string
	for range 13 {
		batch := make([]driver.EnqueueRequest, 9)
		for i := range batch {
			batch[i] = fosterChild(fmt.Sprintf("c%d", 1000-len(want)-i))
		}
		ids := t.insert(0, batch...)
		want = append(want, ids...)
		t.operate(t.Store.Cancel, 0, ids[:8]...)
		t.remove(0, ids[8])
	}
	entries := t.outbox()
	t.equal("the children in the outbox", reportedIDs(entries), want)
	for i := 1; i < len(entries); i++ {
		if entries[i-1].ID >= entries[i].ID {
			t.Errorf("entry %d has the id %q, the one behind it %q; want them to grow in byte order", i-1, entries[i-1].ID, entries[i].ID)
		}
	}
	var paged []string
	after := ""
	for page := []driver.OutboxEntry{{}}; len(page) > 0; {
		page = t.peek(0, driver.PeekRequest{Limit: 10, After: after})
		paged = append(paged, reportedIDs(page)...)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
	}
	t.equal("the children in pages of 10", paged, want)
}

func peekRemovesNothing(t *T) {
	want := t.endFosters(3)
	first := t.outbox()
	t.equal("the children", reportedIDs(first), want)
	t.equal("the second peek", t.outbox(), first)
	t.equal("a short page", t.peek(0, driver.PeekRequest{Limit: 2}), first[:2])
}

func pagesPastDeleted(t *T) {
	t.endFosters(6)
	entries := t.outbox()
	t.must("DeleteOutbox", t.Store.DeleteOutbox(t.ctx, []string{entries[1].ID, entries[2].ID, entries[5].ID}))
	next := func(after string) []driver.OutboxEntry { return t.peek(0, driver.PeekRequest{Limit: 2, After: after}) }
	t.equal("behind a present entry", next(entries[0].ID), entries[3:5])
	t.equal("behind a deleted entry", next(entries[1].ID), entries[3:5])
	t.equal("behind the next deleted entry", next(entries[2].ID), entries[3:5])
	t.equal("behind the last present entry", len(next(entries[4].ID)), 0)
	t.equal("behind the deleted last entry", len(next(entries[5].ID)), 0)
	t.equal("from the beginning", next(""), []driver.OutboxEntry{entries[0], entries[3]})
}

func outboxStoreKeys(t *T) {
	var ids []string
	for i := range 9 {
		c := fosterChild(fmt.Sprintf("c%d", i))
		envelope := *c.Parent
		envelope.ParentStoreKey = []string{"one", "two", "three"}[i%3]
		c.Parent = &envelope
		ids = append(ids, t.finished(driver.Time(i), c, driver.Cancelled))
	}
	for _, want := range []struct {
		keys []string
		ids  []string
	}{
		{nil, ids},
		{[]string{"two"}, []string{"c1", "c4", "c7"}},
		{[]string{"three", "one"}, []string{"c0", "c2", "c3", "c5", "c6", "c8"}},
		{[]string{"none"}, nil},
		{[]string{"none", "two"}, []string{"c1", "c4", "c7"}},
	} {
		var paged []string
		after := ""
		for range 10 {
			page := t.peek(0, driver.PeekRequest{StoreKeys: want.keys, Limit: 2, After: after})
			if len(page) == 0 {
				break
			}
			paged = append(paged, reportedIDs(page)...)
			after = page[len(page)-1].ID
		}
		t.equal(fmt.Sprintf("the children for the stores %q", want.keys), paged, want.ids)
	}
}

func outboxHold(t *T) {
	want := t.endFosters(3)
	holding := driver.PeekRequest{Limit: 10, Hold: 1000}
	t.equal("the first holding peek", reportedIDs(t.peek(100, holding)), want)
	t.equal("another holding peek", len(t.peek(100, holding)), 0)
	t.equal("a holding peek just before the hold ends", len(t.peek(1099, holding)), 0)
	t.equal("a peek that does not hold", reportedIDs(t.peek(100, driver.PeekRequest{Limit: 10})), want)
	t.equal("a holding peek when the hold ends", reportedIDs(t.peek(1100, holding)), want)
	t.equal("a holding peek after that", len(t.peek(1101, holding)), 0)

	held := t.outbox()
	if t.equal("the children in the outbox", reportedIDs(held), want); t.Failed() {
		return
	}
	t.must("DeleteOutbox of held entries", t.Store.DeleteOutbox(t.ctx, []string{held[0].ID, held[1].ID}))
	t.equal("the rest, once its hold ends", reportedIDs(t.peek(2100, holding)), want[2:])
}

func outboxHoldSkips(t *T) {
	want := t.endFosters(5)
	holding := driver.PeekRequest{Limit: 2, Hold: 1000}
	for _, page := range [][]string{want[:2], want[2:4], want[4:], nil} {
		t.equal("the next holding peek", reportedIDs(t.peek(0, holding)), slices.Clone(page))
	}
	t.equal("a holding peek when the holds end", reportedIDs(t.peek(1000, holding)), want[:2])
}

func outboxDelete(t *T) {
	want := t.endFosters(3)
	entries := t.outbox()
	for range 2 {
		t.must("DeleteOutbox", t.Store.DeleteOutbox(t.ctx, []string{entries[1].ID, "no entry", entries[1].ID}))
		t.equal("the children left", reportedIDs(t.outbox()), []string{want[0], want[2]})
	}
	t.must("DeleteOutbox of nothing", t.Store.DeleteOutbox(t.ctx, nil))
	t.must("DeleteOutbox of the rest", t.Store.DeleteOutbox(t.ctx, []string{entries[0].ID, entries[2].ID}))
	t.equal("the length of the outbox", len(t.outbox()), 0)
	more := t.finished(0, fosterChild("more"), driver.Cancelled)
	behind := t.peek(0, driver.PeekRequest{Limit: 10, After: entries[2].ID})
	t.equal("an entry behind the deleted ones", reportedIDs(behind), []string{more})
}

func outboxBacklog(t *T) {
	backlog := func(want driver.OutboxBacklog) {
		t.Helper()
		got, err := t.Store.OutboxBacklog(t.ctx)
		t.must("OutboxBacklog", err)
		t.equal("OutboxBacklog", got, want)
	}
	backlog(driver.OutboxBacklog{})
	t.endFosters(3)
	entries := t.outbox()
	backlog(driver.OutboxBacklog{Entries: 3, Oldest: driver.Some(driver.Time(0))})
	t.must("DeleteOutbox", t.Store.DeleteOutbox(t.ctx, []string{entries[0].ID, entries[0].ID, "no entry"}))
	backlog(driver.OutboxBacklog{Entries: 2, Oldest: driver.Some(driver.Time(1))})
	t.peek(0, driver.PeekRequest{Limit: 10, Hold: 1000})
	backlog(driver.OutboxBacklog{Entries: 2, Oldest: driver.Some(driver.Time(1))})
	t.must("DeleteOutbox", t.Store.DeleteOutbox(t.ctx, []string{entries[1].ID, entries[2].ID}))
	backlog(driver.OutboxBacklog{})
}

package drivertest

import (
	"strings"

	"github.com/braidmq/braid/driver"
)

// Pages of flows and of the outbox that hold much.

const bytesRule = "Pages end early at 8 MiB, one larger item goes alone, and going on behind them loses nothing."

func init() {
	register("Flow/PagesOfManyBytes", bytesRule, flowPagesOfManyBytes)
	register("Outbox/PagesOfManyBytes", bytesRule, outboxPagesOfManyBytes)
}

// manyBytes are sizes of exits: two fit into a page, then one that is larger than
// a page, then two again.
var manyBytes = []int{3 << 20, 3 << 20, driver.ChunkBytes + 1, 3 << 20, 3 << 20}

func exitOf(bytes int) []byte { return []byte(`"` + strings.Repeat("x", bytes-2) + `"`) }

// fits fails if a page moves more than it may.
func (t *T) fits(what string, items int, bytes int) {
	t.Helper()
	if items > 1 && bytes > driver.ChunkBytes {
		t.Errorf("%s holds %d items of %d bytes together; want it to end before %d", what, items, bytes, driver.ChunkBytes)
	}
}

func flowPagesOfManyBytes(t *T) {
	keys := []string{"a", "b", "c", "d", "e", "f"}
	r := t.park(0, request("p"), false, keys...)
	for i, size := range manyBytes {
		done := report(r, keys[i], driver.ChildCompleted)
		done.Exit = exitOf(size)
		t.applies(0, done, applied)
	}
	var seen []string
	cursor := ""
	for range 10 {
		page, err := t.Store.ListChildResults(t.ctx, "p", cursor, 1000)
		t.must("ListChildResults", err)
		bytes := 0
		for _, c := range page.Children {
			seen = append(seen, c.ChildKey)
			bytes += len(c.Exit)
		}
		t.fits("a page of rows", len(page.Children), bytes)
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	t.equal("the rows of all pages", seen, keys)
}

func outboxPagesOfManyBytes(t *T) {
	ids := []string{"a", "b", "c", "d", "e"}
	for i, size := range manyBytes {
		t.complete(0, t.start(0, fosterChild(ids[i])), string(exitOf(size)))
	}
	var seen []string
	after := ""
	for range 10 {
		page := t.peek(0, driver.PeekRequest{Limit: 1000, After: after})
		if len(page) == 0 {
			break
		}
		bytes := 0
		for _, e := range page {
			bytes += len(e.Report.Exit)
		}
		t.fits("a page of the outbox", len(page), bytes)
		seen = append(seen, reportedIDs(page)...)
		after = page[len(page)-1].ID
	}
	t.equal("the entries of all pages", seen, ids)
}

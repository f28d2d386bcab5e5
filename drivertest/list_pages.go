package drivertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braidmq/braid/driver"
)

func init() {
	register("List/EmptyStatesMatchNothing",
		"States that are given but empty match nothing.",
		func(t *T) {
			t.insert(0, request("a"))
			for _, order := range []driver.OrderBy{driver.ByEnqueuedAt, driver.ByRunAt, driver.ByFinishedAt} {
				r := driver.ListRequest{States: []driver.State{}, OrderBy: order}
				if !t.served(r) {
					continue
				}
				page := t.list(r)
				if len(page.Jobs) != 0 || page.Cursor != "" {
					t.Errorf("by %v: %d jobs, cursor %q; want none", order, len(page.Jobs), page.Cursor)
				}
			}
		})

	register("List/OfNothing",
		"A list of an empty store is empty and has no cursor.",
		func(t *T) {
			page := t.list(driver.ListRequest{})
			if len(page.Jobs) != 0 || page.Cursor != "" {
				t.Errorf("%d jobs, cursor %q; want none", len(page.Jobs), page.Cursor)
			}
		})

	register("List/DefaultLimit",
		"A list without limit has pages of 50, and a cursor while more is left.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range driver.DefaultListLimit + 3 {
				batch = append(batch, request(fmt.Sprintf("job-%02d", i)))
			}
			t.insert(0, batch...)
			first := t.list(driver.ListRequest{})
			if len(first.Jobs) != driver.DefaultListLimit || first.Cursor == "" {
				t.Fatalf("the first page has %d jobs, cursor %q; want 50 and a cursor", len(first.Jobs), first.Cursor)
			}
			rest := t.list(driver.ListRequest{Cursor: first.Cursor})
			t.equal("rest", idsOf(rest.Jobs), []string{"job-02", "job-01", "job-00"})
			t.equal("cursor of the last page", rest.Cursor, "")
		})

	register("List/NoCursorOnAFullLastPage",
		"A cursor comes back only when more is left, or may be left; without filters that is known.",
		func(t *T) {
			t.insert(0, request("a"), request("b"))
			page := t.list(driver.ListRequest{Limit: 2})
			t.equal("page", idsOf(page.Jobs), []string{"b", "a"})
			t.equal("cursor", page.Cursor, "")
		})

	register("List/TiesByBytes",
		"Ties are ordered by the bytes of the id, whatever a locale says.",
		func(t *T) {
			ids := []string{"-", "A", "B", "Z", "_", "a", "b", "z", "ä", "é", "z/1", "a b", "a-b", "ab", "🙂", "1", "10", "2"}
			var batch []driver.EnqueueRequest
			for _, id := range ids {
				batch = append(batch, request(id))
			}
			t.insert(100, batch...)
			slices.Sort(ids)
			t.equal("ascending", t.listAll(driver.ListRequest{Ascending: true, Limit: 5}), ids)
			slices.Reverse(ids)
			t.equal("descending", t.listAll(driver.ListRequest{Limit: 5}), ids)
		})

	register("List/BadCursor",
		"A cursor that is not ours, or of another order or direction, is an invalid request.",
		func(t *T) {
			t.insert(0, request("a", after(1000)), request("b", after(1000)), request("c", after(1000)))
			delayed := driver.ListRequest{Queue: someQueue, States: []driver.State{driver.Delayed}, Limit: 1}
			if t.Harness.QueueIndexOff {
				delayed = driver.ListRequest{Limit: 1}
			}
			ours := t.list(delayed).Cursor
			if ours == "" {
				t.Fatalf("the first of three pages has no cursor")
			}
			check := func(what string, r driver.ListRequest) {
				t.Helper()
				_, err := t.Store.List(t.ctx, r)
				t.invalid(what, err, "cursor")
			}
			for _, cursor := range []string{"nonsense", "!", "AAAA", ours + "!", ours[:4], "0"} {
				r := delayed
				r.Cursor = cursor
				check(fmt.Sprintf("cursor %q", cursor), r)
			}
			r := delayed
			r.Cursor, r.Ascending = ours, true
			check("a cursor of the other direction", r)
			if !t.Harness.QueueIndexOff {
				r = delayed
				r.Cursor, r.OrderBy = ours, driver.ByRunAt
				check("a cursor of another order", r)
			}
		})

	register("List/StableWhileOthersInsertAndDelete",
		"Pages lose nothing and repeat nothing of what stays, while jobs are inserted and deleted between them.",
		func(t *T) {
			for i := range 8 {
				t.insert(driver.Time(100*i), request(fmt.Sprintf("job-%d", i)))
			}
			for _, ascending := range []bool{false, true} {
				r := driver.ListRequest{Limit: 3, Ascending: ascending}
				first := t.list(r)
				tag := fmt.Sprint(ascending)
				t.insert(0, request("before-"+tag))
				t.insert(9000, request("behind-"+tag))
				last := first.Jobs[2].ID
				t.remove(9000, last, first.Jobs[0].ID)
				r.Cursor = first.Cursor
				rest := t.listAll(r)
				var want []string
				jobs := t.list(driver.ListRequest{Ascending: ascending}).Jobs
				at := slices.IndexFunc(jobs, func(j *driver.Job) bool { return j.ID == first.Jobs[1].ID })
				want = idsOf(jobs[at+1:])
				t.equal("the rest after the first page", rest, want)
			}
		})

	register("List/LargeRecords",
		"A page may end early at the bytes that a call moves; it then carries a cursor, and the pages together have every job.",
		func(t *T) {
			text := `"` + strings.Repeat("x", 3<<20) + `"`
			t.insert(0, request("a", payload(text)), request("b", payload(text)), request("c", payload(text)), request("d"))
			t.equal("listed", t.listAll(driver.ListRequest{}), []string{"d", "c", "b", "a"})
		})

	registerIf(func(h Harness) bool { return h.NameIndexOff }, "List/NameIndexOff",
		"A list that needs an index that was switched off is a typed error.",
		func(t *T) { t.indexOff(driver.ListRequest{Name: someName}) })

	registerIf(func(h Harness) bool { return h.QueueIndexOff }, "List/QueueIndexOff",
		"A list that needs an index that was switched off is a typed error.",
		func(t *T) { t.indexOff(driver.ListRequest{Queue: someQueue}) })
}

// indexOff holds a list to be refused, and the list of everything to be served.
func (t *T) indexOff(r driver.ListRequest) {
	t.Helper()
	t.insert(0, request("a"))
	_, err := t.Store.List(t.ctx, r)
	t.failsWith(fmt.Sprintf("List(%+v)", r), err, driver.ErrListIndexDisabled)
	t.equal("listed without filter", t.listAll(driver.ListRequest{}), []string{"a"})
}

package sqlitestore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// readChild returns a dependency row, without its request, from the columns that the
// statements of children begin with.
func readChild(r row) driver.Child {
	return driver.Child{
		FlowID: r.text(1), ChildKey: r.text(2), Name: r.text(3), StoreKey: r.text(4), ChildJobID: r.text(5),
		Status:   driver.ChildStatus(r.integer(6)),
		Cascaded: r.flag(7), FailedReason: r.text(8), Exit: r.bytes(9),
	}
}

// Children implements [driver.FlowStore].
func (s *Store) Children(ctx context.Context, flowID string, childKeys []string) ([]*driver.Child, error) {
	children := make([]*driver.Child, len(childKeys))
	err := s.read(ctx, "Children", func(on session) error {
		flow, err := landedFlow(on, flowID)
		if err != nil || flow == 0 {
			return err
		}
		for i, key := range childKeys {
			_, err := first(on, "child_of_key", func(r row) {
				c := readChild(r)
				children[i] = &c
			}, flow, key)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return children, nil
}

// landedFlow returns the flow of a parent, 0 if there is none.
func landedFlow(on session, id string) (int64, error) {
	var flow int64
	_, err := first(on, "job_flow", func(r row) { flow = r.integer(0) }, id)
	return flow, err
}

// defaultChildPage is the page size of a request without one.
const defaultChildPage = 1000

// ListChildResults implements [driver.FlowStore].
func (s *Store) ListChildResults(ctx context.Context, flowID, cursor string, limit int) (driver.ChildPage, error) {
	if err := ctx.Err(); err != nil {
		return driver.ChildPage{}, err
	}
	after, err := driver.ParseChildCursor(cursor)
	if err != nil {
		return driver.ChildPage{}, err
	}
	if limit <= 0 {
		limit = defaultChildPage
	}
	var page driver.ChildPage
	err = s.read(ctx, "ListChildResults", func(on session) error {
		flow, err := landedFlow(on, flowID)
		if err != nil || flow == 0 {
			return err
		}
		size := 0
		return on.query("children_after", func(r row) error {
			child := readChild(r)
			size += len(child.Exit) + len(child.FailedReason)
			if n := len(page.Children); n == limit || n > 0 && size > driver.ChunkBytes {
				page.Cursor = driver.ChildCursor(page.Children[n-1].ChildKey)
				return errEnough
			}
			page.Children = append(page.Children, child)
			return nil
		}, flow, after, limit+1)
	})
	if err != nil {
		return driver.ChildPage{}, err
	}
	return page, nil
}

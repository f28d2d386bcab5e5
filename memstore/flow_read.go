package memstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

// Children implements [driver.FlowStore].
func (s *Store) Children(ctx context.Context, flowID string, childKeys []string) ([]*driver.Child, error) {
	children := make([]*driver.Child, len(childKeys))
	_, err := s.inChunks(ctx, len(childKeys), driver.ChunkJobs, func(from, to int) {
		rec := s.jobs[flowID]
		if rec == nil || rec.flow == nil {
			return
		}
		for i := from; i < to; i++ {
			if row := rec.flow.row(childKeys[i]); row != nil {
				public := rec.flow.public(row, false)
				children[i] = &public
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return children, nil
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
	if err := s.lock(ctx); err != nil {
		return driver.ChildPage{}, err
	}
	defer s.mu.Unlock()
	if limit <= 0 {
		limit = defaultChildPage
	}
	var page driver.ChildPage
	rec := s.jobs[flowID]
	if rec == nil || rec.flow == nil {
		return page, nil
	}
	size := 0
	rec.flow.rows.Ascend(&child{key: after}, func(row *child) bool {
		if cursor != "" && row.key == after {
			return true
		}
		size += len(row.exit) + len(row.reason)
		if n := len(page.Children); n == limit || n > 0 && size > driver.ChunkBytes {
			page.Cursor = driver.ChildCursor(page.Children[n-1].ChildKey)
			return false
		}
		page.Children = append(page.Children, rec.flow.public(row, false))
		return true
	})
	return page, nil
}

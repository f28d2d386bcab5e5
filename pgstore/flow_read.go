package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// readChild returns a dependency row, without its request. Columns that follow those
// of a child are scanned into more.
func readChild(rows pgx.Rows, more ...any) (driver.Child, error) {
	var c driver.Child
	var status int16
	var reason, exit *string
	targets := append([]any{&c.FlowID, &c.ChildKey, &c.Name, &c.StoreKey, &c.ChildJobID, &status, &c.Cascaded, &reason, &exit}, more...)
	err := rows.Scan(targets...)
	c.Status, c.FailedReason, c.Exit = driver.ChildStatus(status), orZero(reason), bytesOf(exit) //nolint:gosec // a status
	return c, err
}

// Children implements [driver.FlowStore].
func (s *Store) Children(ctx context.Context, flowID string, childKeys []string) ([]*driver.Child, error) {
	children := make([]*driver.Child, len(childKeys))
	if len(childKeys) == 0 {
		return children, s.serves(ctx)
	}
	for from := 0; from < len(childKeys); from += driver.ChunkJobs {
		part := childKeys[from:min(from+driver.ChunkJobs, len(childKeys))]
		err := s.pipeline(ctx, "Children", 0, func(t *tx) {
			t.query("children_of_keys", func(rows pgx.Rows) error {
				var at int
				c, err := readChild(rows, &at)
				children[from+at-1] = &c
				return err
			}, flowID, part)
		})
		if err != nil {
			return nil, err
		}
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
	if limit <= 0 {
		limit = defaultChildPage
	}
	var page driver.ChildPage
	err = s.pipeline(ctx, "ListChildResults", 0, func(t *tx) {
		page = driver.ChildPage{}
		t.query("children_after", func(rows pgx.Rows) error {
			var fits bool
			c, err := readChild(rows, &fits)
			if err != nil {
				return err
			}
			if n := len(page.Children); !fits || n == limit {
				if page.Cursor == "" {
					page.Cursor = driver.ChildCursor(page.Children[n-1].ChildKey)
				}
				return nil
			}
			page.Children = append(page.Children, c)
			return nil
		}, flowID, after, limit, driver.ChunkBytes)
	})
	if err != nil {
		return driver.ChildPage{}, err
	}
	return page, nil
}

package redisstore

import (
	"context"

	"github.com/braidmq/braid/driver"
)

var (
	flowChildrenScript = loadScript("flow_children")
	flowListScript     = loadScript("flow_list")
)

// Children implements [driver.FlowStore].
func (s *Store) Children(ctx context.Context, flowID string, childKeys []string) ([]*driver.Child, error) {
	const op = "Children"
	children := make([]*driver.Child, 0, len(childKeys))
	for len(children) < len(childKeys) {
		rest := childKeys[len(children):]
		args := []any{flowID, driver.ChunkBytes}
		for _, key := range rest[:min(len(rest), driver.ChunkJobs)] {
			args = append(args, key)
		}
		reply, err := s.runTexts(ctx, op, call{script: flowChildrenScript, args: args}, 2)
		if err != nil {
			return nil, err
		}
		for i, packed := range reply[1:min(len(reply), len(rest)+1)] {
			var child *driver.Child
			if packed != "" {
				row, err := unpackRow(flowID, rest[i], packed, reply[0] == "1")
				if err != nil {
					return nil, storeError(op, err)
				}
				child = &row
			}
			children = append(children, child)
		}
	}
	return children, nil
}

const (
	// defaultChildPage is the page size of a request without one.
	defaultChildPage = 1000
	// mostRows is how many rows or entries one script reads.
	mostRows = driver.ChunkReports
)

// ListChildResults implements [driver.FlowStore].
func (s *Store) ListChildResults(ctx context.Context, flowID, cursor string, limit int) (driver.ChildPage, error) {
	const op = "ListChildResults"
	var page driver.ChildPage
	begin, err := childBegin(cursor)
	if err != nil {
		return page, err
	}
	if limit <= 0 {
		limit = defaultChildPage
	}
	bytes := driver.ChunkBytes
	for {
		most := min(limit-len(page.Children), mostRows)
		reply, err := s.runTexts(ctx, op, call{script: flowListScript, args: []any{flowID, begin, most, bytes}}, 3)
		if err != nil {
			return driver.ChildPage{}, err
		}
		early, full, more := reply[0] == "1", reply[1] == "1", reply[2] == "1"
		rows := reply[3:]
		for ; len(rows) >= 2; rows = rows[2:] {
			child, err := unpackRow(flowID, rows[0], rows[1], early)
			if err != nil {
				return driver.ChildPage{}, storeError(op, err)
			}
			bytes -= len(rows[1])
			page.Children = append(page.Children, child)
			begin = "(" + rows[0]
		}
		if !more {
			return page, nil
		}
		if n := len(page.Children); n > 0 && (n >= limit || full || bytes <= 0) {
			page.Cursor = driver.ChildCursor(page.Children[n-1].ChildKey)
			return page, nil
		}
	}
}

// childBegin returns where a page goes on, as ZRANGEBYLEX wants it.
func childBegin(cursor string) (string, error) {
	after, err := driver.ParseChildCursor(cursor)
	if after == "" || err != nil {
		return "-", err
	}
	return "(" + after, nil
}

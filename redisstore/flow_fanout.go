package redisstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var flowStageScript = loadScript("flow_stage")

// StageChildren implements [driver.FlowStore].
func (s *Store) StageChildren(ctx context.Context, flowID, token string, page []driver.StagedChild) error {
	for i := range page {
		if page[i].Request.ID == "" {
			return &driver.InvalidError{Field: "id", Reason: "is empty for the child " + strconv.Quote(page[i].ChildKey) +
				"; compute it from the flow, the run and the child key"}
		}
	}
	var chunk cutter
	calls := []call{{script: flowStageScript, args: []any{flowID, token}}}
	for i := range page {
		child := &page[i]
		row, err := packRow(child)
		if err != nil {
			return err
		}
		request, err := packRequest(&child.Request)
		if err != nil {
			return err
		}
		if chunk.full(driver.ChunkJobs, len(child.ChildKey)+len(row)+len(request)) {
			calls = append(calls, call{script: flowStageScript, args: []any{flowID, token}})
		}
		last := &calls[len(calls)-1]
		last.args = append(last.args, child.ChildKey, row, request)
	}
	return s.runInTurn(ctx, "StageChildren", calls, func(reply any) error {
		switch code, _ := reply.(int64); code {
		case 1:
			return nil
		case 0:
			return driver.ErrLockLost
		default:
			return driver.ErrNotFound
		}
	})
}

package redisstore

import (
	"context"
	"strconv"

	"github.com/braidmq/braid/driver"
)

var (
	flowRecordScript = loadScript("flow_record")
	flowMarkScript   = loadScript("flow_mark")
)

// RecordChildResults implements [driver.FlowStore].
func (s *Store) RecordChildResults(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
	if len(reports) == 0 {
		return []driver.RecordResult{}, nil
	}
	var chunk cutter
	calls := []call{{script: flowRecordScript, now: packTime(now)}}
	for i := range reports {
		r := &reports[i]
		if chunk.full(driver.ChunkReports, len(r.Exit)+len(r.FailedReason)) {
			calls = append(calls, call{script: flowRecordScript, now: packTime(now)})
		}
		last := &calls[len(calls)-1]
		last.args = append(last.args, r.FlowID, r.ChildKey, strconv.Itoa(int(r.Outcome)), r.ChildJobID, r.FailedReason, r.Exit)
	}
	results := make([]driver.RecordResult, 0, len(reports))
	err := s.runInTurn(ctx, "RecordChildResults", calls, func(reply any) error {
		answers, _ := reply.(string)
		for _, answer := range []byte(answers) {
			results = append(results, driver.RecordResult{Applied: answer != '0', ParentSettled: answer == '2'})
		}
		return nil
	})
	if err == nil && len(results) != len(reports) {
		err = storeError("RecordChildResults", errCorrupt)
	}
	return results, err
}

// MarkChildrenCascaded implements [driver.FlowStore].
func (s *Store) MarkChildrenCascaded(ctx context.Context, now driver.Time, refs []driver.ChildRef) error {
	if len(refs) == 0 {
		return nil
	}
	var calls []call
	for from := 0; from < len(refs); from += driver.ChunkJobs {
		c := call{script: flowMarkScript, now: packTime(now)}
		for _, ref := range refs[from:min(from+driver.ChunkJobs, len(refs))] {
			c.args = append(c.args, ref.FlowID, ref.ChildKey)
		}
		calls = append(calls, c)
	}
	return s.runInTurn(ctx, "MarkChildrenCascaded", calls, func(any) error { return nil })
}

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
	var calls []call
	for rest := reports; len(rest) > 0; {
		c, n, err := recordCall(now, rest)
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
		rest = rest[n:]
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

// recordCall composes a call for the first reports, and returns how many it takes.
func recordCall(now driver.Time, reports []driver.ChildReport) (c call, n int, err error) {
	var chunk cutter
	texts := make([]string, 0, 3*min(len(reports), driver.ChunkReports)+2)
	run := 0 // where the number of reports of the latest run stands
	for i := range reports {
		r := &reports[i]
		if chunk.full(driver.ChunkReports, len(r.Exit)+len(r.FailedReason)) {
			break
		}
		if i == 0 || r.FlowID != reports[i-1].FlowID {
			texts = append(texts, r.FlowID, "")
			run = len(texts) - 1
		}
		begins, ends, err := packReport(r)
		if err != nil {
			return call{}, 0, err
		}
		texts = append(texts, r.ChildKey, begins, ends)
		texts[run] = strconv.Itoa((len(texts) - run - 1) / 3)
		n++
	}
	return call{script: flowRecordScript, now: packTime(now), texts: texts}, n, nil
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

package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/braidmq/braid/driver"
)

var (
	flowReconcileScript = loadScript("flow_reconcile")
	flowCascadeScript   = loadScript("flow_cascade")
	flowSweepScript     = loadScript("flow_sweep")
)

// FlowSweepWork implements [driver.FlowStore].
func (s *Store) FlowSweepWork(ctx context.Context, now driver.Time, pendingAge driver.Millis, limit int) (driver.FlowWork, error) {
	reconcile := &flowPage{limit: limit, bytes: driver.ChunkBytes}
	cascade := &flowPage{limit: limit, bytes: driver.ChunkBytes}
	for !reconcile.ended() || !cascade.ended() {
		var calls []call
		var pages []*flowPage
		if !reconcile.ended() {
			calls = append(calls, call{script: flowReconcileScript, now: packTime(now),
				args: []any{int64(pendingAge), reconcile.room(), reconcile.bytes}})
			pages = append(pages, reconcile)
		}
		if !cascade.ended() {
			calls = append(calls, call{script: flowCascadeScript, args: []any{cascade.room(), cascade.turn}})
			pages = append(pages, cascade)
		}
		err := s.runInTurn(ctx, "FlowSweepWork", calls, func(reply any) error {
			page := pages[0]
			pages = pages[1:]
			list, err := texts("FlowSweepWork", reply)
			if err != nil {
				return err
			}
			return page.add(list, page == reconcile)
		})
		if err != nil {
			return driver.FlowWork{}, err
		}
	}
	return driver.FlowWork{Reconcile: reconcile.grouped(), Cascade: cascade.grouped()}, nil
}

// flowPage collects the rows that one kind of work returns, call by call.
type flowPage struct {
	limit int
	bytes int    // how many more may be moved
	turn  string // of cascades: what the first call answered as the latest turn
	done  bool
	rows  []driver.Child
	seen  map[driver.ChildRef]bool
}

// room returns how many rows the next call may return.
func (p *flowPage) room() int { return min(p.limit-len(p.rows), driver.ChunkJobs) }

func (p *flowPage) ended() bool { return p.done || p.room() <= 0 }

// add takes the reply of one call: two words, and the rows. A row that came before ends
// the page: all others have had their turn.
func (p *flowPage) add(reply []string, reconcile bool) error {
	stride := 3
	if reconcile {
		stride = 4
	}
	if len(reply) < 2 || (len(reply)-2)%stride != 0 {
		return storeError("FlowSweepWork", errCorrupt)
	}
	if reconcile {
		p.done = reply[0] == "1"
	} else {
		p.turn = reply[0]
	}
	p.done = p.done || reply[1] == "0"
	if p.seen == nil {
		p.seen = map[driver.ChildRef]bool{}
	}
	for rows := reply[2:]; len(rows) > 0; rows = rows[stride:] {
		child, err := unpackRow(rows[0], rows[1], rows[2], !reconcile)
		if err == nil && reconcile {
			child.Request, err = unpackRequest(child.ChildJobID, rows[3])
			p.bytes -= len(rows[3])
		}
		if err != nil {
			return storeError("FlowSweepWork", err)
		}
		ref := driver.ChildRef{FlowID: child.FlowID, ChildKey: child.ChildKey}
		if p.seen[ref] {
			p.done = true
			continue
		}
		p.seen[ref] = true
		p.rows = append(p.rows, child)
	}
	p.done = p.done || p.bytes <= 0
	return nil
}

// grouped returns the rows flow by flow, in the order of their keys within it.
func (p *flowPage) grouped() []driver.Child {
	first := map[string]int{}
	for i := range p.rows {
		if _, ok := first[p.rows[i].FlowID]; !ok {
			first[p.rows[i].FlowID] = i
		}
	}
	slices.SortStableFunc(p.rows, func(a, b driver.Child) int {
		return cmp.Or(cmp.Compare(first[a.FlowID], first[b.FlowID]), cmp.Compare(a.ChildKey, b.ChildKey))
	})
	return p.rows
}

// SweepFlows implements [driver.Sweeper]. Early settles need no work: their rows are read
// through the flow's mark for good.
func (s *Store) SweepFlows(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, "SweepFlows", flowSweepScript, now, limit)
}

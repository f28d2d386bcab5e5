package flowtest

import (
	"context"
	"math"
	"runtime"
	"testing"

	"github.com/braidmq/braid"
)

// calls returns how often a process called an operation, on all its stores.
func (p *process) calls(op string) int {
	n := 0
	for _, faults := range p.faults {
		n += faults.Calls(op)
	}
	return n
}

// sharedCalls lets 200 slots work on one flow: a child must not cost calls of its own.
func sharedCalls(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	const children, slots = 2000, 200
	p := r.start(nil, func(o *braid.WorkerOptions) { o.Concurrency = slots })
	todo := plan{Steps: steps(children, succeed)}
	r.endsAs(r.enqueue("a", todo), todo)
	r.settled()
	for op, most := range map[string]int{
		"StageChildren": children/250 + 1, "Enqueue": children/1000 + 1,
		"Ack": children / 10, "RecordChildResults": children / 10, "DeleteOutbox": children / 10, "PeekOutbox": children / 5,
	} {
		if n := p.calls(op); n > most {
			t.Errorf("%d calls of %s for %d children; want at most %d", n, op, children, most)
		}
	}
}

// linearCost compares a flow with one of twice as many children: twice the calls, and
// no more memory while it reads the results.
func linearCost(t *testing.T, pair Pair) {
	const children = 2000
	small, smallGrowth := cost(t, pair, children)
	large, largeGrowth := cost(t, pair, 2*children)
	for op, n := range small {
		if large[op] > 2*n+2 {
			t.Errorf("%d calls of %s for %d children, %d for %d", n, op, children, large[op], 2*children)
		}
	}
	const page = 1000 * 1000 // of results in memory, with room for what else goes on
	if smallGrowth > page || largeGrowth > page {
		t.Errorf("reading %d results takes %d bytes, %d results %d bytes", children, smallGrowth, 2*children, largeGrowth)
	}
}

// cost runs a flow and returns its calls by operation, and by how much the heap grew
// while collect read its results.
func cost(t *testing.T, pair Pair, children int) (calls map[string]int, growth int64) {
	r := newRig(t, pair)
	measured := make(chan int64, 1)
	r.kinds.reading = func(ctx context.Context, results *braid.Results) error {
		least, most := uint64(math.MaxUint64), uint64(0)
		read := 0
		for _, err := range r.kinds.step.Results(ctx, results) {
			if err != nil {
				return err
			}
			if read++; read%(children/4) == 1 {
				heap := heapInUse()
				least, most = min(least, heap), max(most, heap)
			}
		}
		measured <- int64(most - least)
		return nil
	}
	p := r.start(nil)
	todo := plan{Steps: steps(children, succeed)}
	r.endsAs(r.enqueue("a", todo), todo)
	calls = map[string]int{}
	for _, op := range []string{"StageChildren", "Enqueue", "ListChildResults"} {
		calls[op] = p.calls(op)
	}
	r.settled()
	return calls, <-measured
}

func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

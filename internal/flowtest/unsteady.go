package flowtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
)

// trouble is what is wrong with some calls of an operation.
type trouble struct {
	op, kind string
	plan     plan
}

func (u trouble) String() string { return u.kind + " " + u.op }

// The kinds of trouble.
const (
	failing = "failing" // twice, and says that trying again helps
	refused = "refused" // once, for good
	lost    = "lost"    // the first reply
	hanging = "hanging" // for a while, and then fails
)

const hangTime = 300 * time.Millisecond

func unsteadyCalls(t *testing.T, pair Pair) {
	var all []trouble
	for _, kind := range []string{failing, refused, lost, hanging} {
		for _, op := range []string{
			"StageChildren", "Ack", "Jobs", "Enqueue", "Claim", "PeekOutbox", "RecordChildResults", "DeleteOutbox",
			"ListChildResults", "FlowSweepWork",
		} {
			all = append(all, trouble{op, kind, crashLenient})
		}
		for _, op := range []string{"Cancel", "MarkChildrenCascaded", "RecordChildResults"} {
			all = append(all, trouble{op, kind, crashStrict})
		}
	}
	scenarios(t, atOnce, all, func(t *testing.T, u trouble) {
		r := newRig(t, pair)
		p := r.prepare(nil)
		var met atomic.Int32
		for _, faults := range p.faults {
			u.inject(faults, &met)
		}
		r.run(p)
		h := r.enqueue("a", u.plan)
		r.endsAs(h, u.plan)
		r.eventually("a call meets the fault", func() (bool, string) { return met.Load() > 0, "none does" })
		r.settled()
		r.oneSettle()
	})
}

// inject makes the first calls of the operation fail.
func (u trouble) inject(faults *faultstore.Store, met *atomic.Int32) {
	var left atomic.Int32
	left.Store(1)
	if u.kind == failing {
		left.Store(2)
	}
	strike := func() bool {
		struck := left.Add(-1) >= 0
		if struck {
			met.Add(1)
		}
		return struck
	}
	problem := func(retryable, unknown bool) error {
		return &driver.StoreError{Op: u.op, Err: fmt.Errorf("it is %s", u.kind), Retryable: retryable, OutcomeUnknown: unknown}
	}
	if u.kind == lost {
		faults.Inject(nil, func(_ context.Context, _ string, err error) error {
			if err == nil && strike() {
				return problem(true, true)
			}
			return err
		}, u.op)
		return
	}
	faults.Inject(func(ctx context.Context, _ string) error {
		if !strike() {
			return nil
		}
		if u.kind == hanging {
			select {
			case <-time.After(hangTime):
			case <-ctx.Done():
			}
		}
		return problem(u.kind != refused, u.kind == hanging)
	}, nil, u.op)
}

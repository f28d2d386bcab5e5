package flowtest

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// poisoned is a store that refuses every batch with a certain child in it.
type poisoned struct {
	driver.Store
	cured atomic.Bool
}

// poison is in the payload of the refused child.
var poison = []byte(`"value":666}`)

func (p *poisoned) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	for _, req := range batch {
		if !p.cured.Load() && req.Parent != nil && bytes.HasSuffix(req.Payload, poison) {
			return nil, &driver.InvalidError{Field: "payload", Reason: "is poison"}
		}
	}
	return p.Store.Enqueue(ctx, now, batch)
}

// oneBadChild lets one child be refused by its store: the others must not wait for it.
func oneBadChild(t *testing.T, pair Pair) {
	bad := &poisoned{}
	wrap := func(open func(testing.TB) driver.Store) func(testing.TB) driver.Store {
		return func(t testing.TB) driver.Store {
			bad.Store = open(t)
			return bad
		}
	}
	if pair.Children != nil {
		pair.Children = wrap(pair.Children)
	} else {
		pair.Parents = wrap(pair.Parents)
	}
	r := newRig(t, pair)
	r.start(nil)
	todo := plan{Steps: append(steps(20, succeed), step{Do: succeed, Value: 666}, step{Do: succeed, Value: 1})}
	h := r.enqueue("a", todo)
	sound := plan{Steps: steps(5, succeed)}
	r.endsAs(r.enqueue("b", sound), sound)
	r.eventually("all but the bad child report", func() (bool, string) {
		job, err := r.client.Get(r.ctx, "a")
		return err == nil && job.Flow != nil && job.Flow.Completed == 21 && job.State == braid.WaitingChildren, "they have not"
	})
	bad.cured.Store(true)
	r.endsAs(h, todo)
	r.settled()
	r.oneSettle()
}

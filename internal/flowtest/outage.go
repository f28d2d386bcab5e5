package flowtest

import (
	"fmt"
	"testing"
	"time"
)

// outage is a store that is down for a while.
type outage struct {
	store string
	time  time.Duration
}

func (o outage) String() string { return "that of " + o.store }

// outages takes the stores down in turn, under load, and parents' and children's
// together.
func outages(t *testing.T, pair Pair, time time.Duration) {
	all := []outage{{parentStore, time}}
	if pair.Children != nil {
		all = append(all, outage{childStore, time})
	}
	scenarios(t, atOnce, all, func(t *testing.T, o outage) { o.survive(t, pair) })
}

func shortOutages(t *testing.T, pair Pair) { outages(t, pair, time.Second) }
func longOutages(t *testing.T, pair Pair)  { outages(t, pair, 10*time.Second) }

func (o outage) survive(t *testing.T, pair Pair) {
	r := newRig(t, pair)
	p := r.start(nil)
	todo := plan{Steps: append(append(steps(30, succeed), steps(2, fail)...), steps(10, putOff)...)}
	const before, during = 20, 10
	for i := range before {
		r.enqueue(fmt.Sprintf("flow %d", i), todo)
	}
	r.eventually("children run", func() (bool, string) {
		counts := r.counts(r.childStoreName())
		return counts.Completed >= 50, fmt.Sprintf("%+v", counts)
	})
	end := p.faults[o.store].Fail(true)
	over := time.Now().Add(o.time)
	finished := r.counts(r.childStoreName()).Completed
	for i := range during {
		r.enqueue(fmt.Sprintf("flow %d", before+i), todo)
	}
	if r.separate && o.store == parentStore {
		r.eventually("children finish although their parents' store is down", func() (bool, string) {
			counts := r.counts(childStore)
			return counts.Completed > finished || counts.Waiting+counts.Delayed+counts.Active == 0, fmt.Sprintf("%+v", counts)
		})
	}
	time.Sleep(time.Until(over)) // the outage has its length
	end()
	for i := range before + during {
		r.endsAs(r.byID(fmt.Sprintf("flow %d", i)), todo)
	}
	r.settled()
	r.oneSettle()
	for name := range r.stores {
		if counts := r.counts(name); counts.Cancelled > 0 {
			t.Errorf("store %s: %+v, and nothing was cancelled", name, counts)
		}
	}
}

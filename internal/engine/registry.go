package engine

import (
	"sync"

	"github.com/braidmq/braid/driver"
)

// registry holds every run whose lock the engine has: claimed, and neither acked
// nor lost. It is kept by claim, so that entering and leaving cost little per job.
type registry struct {
	mu     sync.Mutex
	oldest *claim
	newest *claim
	runs   int
}

// claim is the runs that came with one claim.
type claim struct {
	runs       []*run // nil where one has left
	live       int
	prev, next *claim
}

// add enters the runs of one claim.
func (g *registry) add(runs []*run) {
	c := &claim{runs: runs, live: len(runs)}
	for i, r := range runs {
		r.claim, r.index = c, i
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.runs += len(runs)
	if c.prev = g.newest; c.prev == nil {
		g.oldest = c
	} else {
		c.prev.next = c
	}
	g.newest = c
}

// remove takes runs out.
func (g *registry) remove(runs []*run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range runs {
		c := r.claim
		if c.runs[r.index] != r {
			continue
		}
		c.runs[r.index] = nil
		g.runs--
		if c.live--; c.live > 0 {
			continue
		}
		if c.prev == nil {
			g.oldest = c.next
		} else {
			c.prev.next = c.next
		}
		if c.next == nil {
			g.newest = c.prev
		} else {
			c.next.prev = c.prev
		}
	}
}

// all returns the runs, oldest claims first.
func (g *registry) all() []*run {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := make([]*run, 0, g.runs)
	for c := g.oldest; c != nil; c = c.next {
		for _, r := range c.runs {
			if r != nil {
				found = append(found, r)
			}
		}
	}
	return found
}

// len returns how many runs there are.
func (g *registry) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.runs
}

// with returns the runs of these jobs.
func (g *registry) with(ids map[string]bool) []*run {
	g.mu.Lock()
	defer g.mu.Unlock()
	var found []*run
	for c := g.oldest; c != nil; c = c.next {
		for _, r := range c.runs {
			if r != nil && ids[r.Job.ID] {
				found = append(found, r)
			}
		}
	}
	return found
}

// locks returns the locks to extend, by job id. A job that is in twice was
// recovered from its older run and claimed again: that run's lock is lost, and is
// returned apart.
func (g *registry) locks() (held map[string]*run, order []driver.Lock, replaced []*run) {
	runs := g.all()
	held = make(map[string]*run, len(runs))
	for _, r := range runs {
		if older := held[r.Job.ID]; older != nil {
			replaced = append(replaced, older)
		}
		held[r.Job.ID] = r
	}
	order = make([]driver.Lock, 0, len(held))
	for _, r := range runs {
		if held[r.Job.ID] == r {
			order = append(order, driver.Lock{ID: r.Job.ID, Token: r.Token})
		}
	}
	return held, order, replaced
}

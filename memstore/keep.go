package memstore

import (
	"math"

	"github.com/braidmq/braid/driver"
)

// group holds the finished jobs of one name and state that retention has, oldest
// first.
type group struct {
	order ranking // by FinishedAt, then finishOrder
	// Jobs before bound are to go, of a trim that hit its limit. It means nothing
	// unless the group is in Store.surplus.
	bound rank
}

// groupOf returns the group of a terminal job, which it makes if need be.
func groupOf(rec *record) *group {
	g := &rec.lane.name.groups[rec.job.State-driver.Completed]
	if *g == nil {
		*g = &group{}
	}
	return *g
}

// retain hands a terminal job to retention.
func (s *Store) retain(rec *record) {
	groupOf(rec).order.add(int64(rec.finishedAt.Value), rec.finishOrder, rec)
	rec.retained = true
	if age, ok := s.longestStay(rec); ok {
		rec.expiresAt = driver.Some(rec.finishedAt.Value.Add(age))
		s.expiry.add(rec.expiresAt.Value, rec)
	}
}

// release takes a job back from retention, if that has it.
func (s *Store) release(rec *record) {
	if !rec.retained {
		return
	}
	groupOf(rec).order.remove(int64(rec.finishedAt.Value), rec.finishOrder)
	rec.retained = false
	if at, ok := rec.expiresAt.Get(); ok {
		s.expiry.remove(at, rec)
		rec.expiresAt = driver.Opt[driver.Time]{}
	}
}

// trim applies a job's Keep to its group after the job was handed to retention.
// What the call may not delete any more is left to the sweep.
func (s *Store) trim(c *call, rec *record) {
	g := groupOf(rec)
	bound := g.boundFor(rec.job.Keep.For(rec.job.State), c.now)
	if _, left := s.surplus[g]; left && before(bound, g.bound) {
		bound = g.bound
	}
	for g.holdsBefore(bound) {
		if c.trims <= 0 {
			g.bound = bound
			s.surplus[g] = struct{}{}
			return
		}
		c.trims--
		oldest, _ := g.order.first()
		s.delete(oldest.rec)
	}
	delete(s.surplus, g)
}

// boundFor returns the rank before which jobs are to go under the policy.
func (g *group) boundFor(keep driver.Retention, now driver.Time) rank {
	bound := rank{major: math.MinInt64, minor: math.MinInt64}
	size := int64(g.order.len())
	if count, ok := keep.Count.Get(); ok && count < size {
		if count > 0 {
			bound, _ = g.order.tree.GetAt(int(size - count))
		} else {
			bound, _ = g.order.tree.Max()
			bound.minor++
		}
	}
	if age, ok := keep.Age.Get(); ok {
		// All that finished at or before now − age.
		old := rank{major: int64(now.Add(-age)), minor: math.MaxInt64}
		if before(bound, old) {
			bound = old
		}
	}
	bound.rec = nil
	return bound
}

// holdsBefore reports whether the group holds a job before the bound.
func (g *group) holdsBefore(bound rank) bool {
	oldest, ok := g.order.first()
	return ok && before(oldest, bound)
}

package memstore

import (
	"context"
	"strconv"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// List implements [driver.Inspector]. It serves every order with any filters.
func (s *Store) List(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
	if err := ctx.Err(); err != nil {
		return driver.ListResult{}, err
	}
	if req.OrderBy > driver.ByFinishedAt {
		return driver.ListResult{}, &driver.InvalidError{Field: "orderBy", Value: strconv.Itoa(int(req.OrderBy)),
			Reason: "is no order; use enqueuedAt, runAt or finishedAt"}
	}
	at, err := req.Position()
	if err != nil {
		return driver.ListResult{}, err
	}
	l := listing{req: &req, at: at, limit: req.Limit}
	if l.limit <= 0 {
		l.limit = driver.DefaultListLimit
	}
	for more := true; more; {
		if err := s.lock(ctx); err != nil {
			return driver.ListResult{}, err
		}
		more = l.step(s)
		s.mu.Unlock()
	}
	return l.result, nil
}

// listing is a list call under way.
type listing struct {
	req    *driver.ListRequest
	limit  int
	at     driver.Opt[driver.ListPosition] // behind which to go on
	size   int                             // bytes in the page
	result driver.ListResult
}

// step looks at up to driver.ListLookups jobs. It reports whether the page wants
// more of them.
func (l *listing) step(s *Store) bool {
	sources := l.sources(s)
	for range driver.ListLookups {
		if sources.empty() {
			return false
		}
		if len(l.result.Jobs) == l.limit {
			l.result.Cursor = l.at.Value.Cursor()
			return false
		}
		next := sources.top()
		if l.matches(next.head.rec) {
			l.size += next.head.rec.size()
			if l.size > driver.ChunkBytes && len(l.result.Jobs) > 0 {
				l.result.Cursor = l.at.Value.Cursor()
				return false
			}
			l.result.Jobs = append(l.result.Jobs, next.head.rec.snapshot())
		}
		l.at = driver.Some(driver.ListPosition{
			OrderBy: l.req.OrderBy, Ascending: l.req.Ascending, Time: next.head.at, ID: next.head.rec.job.ID,
		})
		if next.advance() {
			sources.fixTop()
		} else {
			sources.dropTop()
		}
	}
	if sources.empty() {
		return false
	}
	if len(l.req.Metadata) > 0 || len(l.result.Jobs) == l.limit {
		l.result.Cursor = l.at.Value.Cursor()
		return false
	}
	return true
}

// matches applies the filter that no bucket covers.
func (l *listing) matches(rec *record) bool {
	for key, want := range l.req.Metadata {
		if got, ok := rec.job.Metadata[key]; !ok || got != want {
			return false
		}
	}
	return true
}

// sources merges the timelines of all buckets that the filters let in, from the
// listing's position on.
func (l *listing) sources(s *Store) *minHeap[listSource] {
	ascending := l.req.Ascending
	merged := &minHeap[listSource]{less: func(a, b listSource) bool {
		return earlier(a.head, b.head) == ascending
	}}
	enter := func(t *timeline) {
		if t.len() == 0 {
			return
		}
		source := listSource{iter: t.tree.Iter(), ascending: ascending}
		if source.seek(l.at) {
			merged.items = append(merged.items, source)
		}
	}
	states := l.states()
	l.eachLane(s, func(lane *lane) {
		for _, state := range states {
			b := &lane.buckets[state]
			switch l.req.OrderBy {
			case driver.ByEnqueuedAt:
				enter(&b.straight)
				enter(&b.moved)
			case driver.ByRunAt:
				enter(&b.straight)
				enter(&b.movedByRunAt)
			case driver.ByFinishedAt:
				enter(&b.finished)
			}
		}
	})
	merged.init()
	return merged
}

// states returns the states that the filter lets in, each once.
func (l *listing) states() []driver.State {
	if l.req.States == nil {
		return driver.States[:]
	}
	var wanted [driver.Cancelled + 1]bool
	for _, state := range l.req.States {
		if state.Valid() {
			wanted[state] = true
		}
	}
	var states []driver.State
	for _, state := range driver.States {
		if wanted[state] {
			states = append(states, state)
		}
	}
	return states
}

// eachLane visits the lanes that the filters on queue and name let in.
func (l *listing) eachLane(s *Store, visit func(*lane)) {
	queueName, jobName := l.req.Queue, l.req.Name
	switch {
	case queueName != "":
		q := s.queues[queueName]
		if q == nil {
			return
		}
		if jobName != "" {
			if lane := q.lanes[jobName]; lane != nil {
				visit(lane)
			}
			return
		}
		for _, lane := range q.lanes {
			visit(lane)
		}
	case jobName != "":
		if n := s.names[jobName]; n != nil {
			for _, lane := range n.lanes {
				visit(lane)
			}
		}
	default:
		for _, q := range s.queues {
			for _, lane := range q.lanes {
				visit(lane)
			}
		}
	}
}

// listSource walks one timeline in the direction of the list.
type listSource struct {
	iter      btree.IterG[entry]
	head      entry
	ascending bool
}

// seek goes to the first entry behind the position, and reports whether there is
// one.
func (l *listSource) seek(at driver.Opt[driver.ListPosition]) bool {
	position, given := at.Get()
	pivot := entry{at: position.Time, rec: &record{job: pending{ID: position.ID}}}
	var ok bool
	switch {
	case !given && l.ascending:
		ok = l.iter.First()
	case !given:
		ok = l.iter.Last()
	case l.ascending:
		ok = l.iter.Seek(pivot)
		if ok && !earlier(pivot, l.iter.Item()) {
			ok = l.iter.Next()
		}
	default:
		// Seek finds the first entry at or behind the pivot; the one before that is
		// ours.
		if l.iter.Seek(pivot) {
			ok = l.iter.Prev()
		} else {
			ok = l.iter.Last()
		}
	}
	if ok {
		l.head = l.iter.Item()
	}
	return ok
}

// advance goes to the next entry, and reports whether there is one.
func (l *listSource) advance() bool {
	var ok bool
	if l.ascending {
		ok = l.iter.Next()
	} else {
		ok = l.iter.Prev()
	}
	if ok {
		l.head = l.iter.Item()
	}
	return ok
}

package engine

import "time"

const (
	recentCancels   = 10_000      // how many are kept at most
	recentCancelAge = time.Minute // how long they are kept at least, within that number
)

// recentIDs remembers the newest ids for a while, in two halves: when the newer one
// is full or old it becomes the older one, which is forgotten whole. So nothing is
// ever searched through. The zero value is empty.
type recentIDs struct {
	newer, older map[string]struct{}
	since        time.Time // when newer was begun
}

// add remembers an id.
func (r *recentIDs) add(id string, now time.Time) {
	r.age(now)
	if len(r.newer) >= recentCancels/2 {
		r.turn(now)
	}
	if r.newer == nil {
		r.newer, r.since = make(map[string]struct{}), now
	}
	r.newer[id] = struct{}{}
}

// has reports whether an id is remembered.
func (r *recentIDs) has(id string, now time.Time) bool {
	r.age(now)
	_, newer := r.newer[id]
	_, older := r.older[id]
	return newer || older
}

// take forgets an id, and reports whether it was remembered.
func (r *recentIDs) take(id string, now time.Time) bool {
	found := r.has(id, now)
	delete(r.newer, id)
	delete(r.older, id)
	return found
}

func (r *recentIDs) len() int { return len(r.newer) + len(r.older) }

// age turns the halves as time goes by.
func (r *recentIDs) age(now time.Time) {
	for range 2 {
		if r.len() > 0 && now.Sub(r.since) > recentCancelAge {
			r.turn(r.since.Add(recentCancelAge))
		}
	}
}

func (r *recentIDs) turn(now time.Time) {
	r.older, r.newer, r.since = r.newer, nil, now
}

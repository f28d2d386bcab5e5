package sqlitestore

import (
	"slices"

	"github.com/braidmq/braid/driver"
)

// lane says how many jobs of a queue and name are in a state.
type lane struct {
	queue, name string
	state       driver.State
	jobs        int64
}

// lanes returns the lanes that the filters on queue and name let in, in any state.
func (l *listing) lanes() ([]lane, error) {
	var query statement
	var args []any
	switch {
	case l.req.Queue != "" && l.req.Name != "":
		query, args = "lanes_of_queue_and_name", []any{l.req.Queue, l.req.Name}
	case l.req.Queue != "":
		query, args = "lanes_of_queue", []any{l.req.Queue}
	case l.req.Name != "":
		query, args = "lanes_of_name", []any{l.req.Name}
	default:
		query = "lanes_all"
	}
	var lanes []lane
	err := l.on.query(query, func(r row) error {
		lanes = append(lanes, lane{queue: r.text(0), name: r.text(1), state: r.state(2), jobs: r.integer(3)})
		return nil
	}, args...)
	return lanes, err
}

// enterOwnSets enters the jobs of the wanted states as one source, if they and those
// that have to be looked at with them are few, and not most of what the lanes hold.
func (l *listing) enterOwnSets(merged *merge[listed], lanes []lane) (few bool, err error) {
	var all, wanted int64
	sets := map[ownSet]bool{}
	for _, lane := range lanes {
		all += lane.jobs
		if l.states[lane.state] {
			wanted += lane.jobs
			sets[ownSetOf(lane)] = true
		}
	}
	if wanted == 0 {
		return true, nil
	}
	if wanted > driver.ListLookups || 2*wanted > all {
		return false, nil
	}
	var looks int64
	for set := range sets {
		_, err := first(l.on, "counts_of", func(r row) { looks += r.integer(0) }, set.queue, set.name, set.state)
		if err != nil {
			return false, err
		}
		if looks > driver.ListLookups {
			return false, nil
		}
	}
	var entries []listed
	for set := range sets {
		err := set.read(l.on, func(e listed) {
			if l.behind(&e) {
				entries = append(entries, e)
			}
		})
		if err != nil {
			return false, err
		}
	}
	slices.SortFunc(entries, func(a, b listed) int {
		if l.before(a, b) {
			return -1
		}
		return 1
	})
	return true, merged.enter(func(after *listed) ([]listed, error) {
		if after != nil {
			return nil, nil
		}
		return entries, nil
	}, len(entries)+1)
}

// behind reports whether an entry lies behind the list's position.
func (l *listing) behind(e *listed) bool {
	at, given := l.at.Get()
	return !given || l.before(listed{at: at.Time, id: at.ID}, *e)
}

// ownSet is the jobs of a state that one index holds together. What the index does
// not tell apart is empty.
type ownSet struct {
	queue, name string
	state       driver.State
}

func ownSetOf(l lane) ownSet {
	switch {
	case l.state == driver.Waiting:
		return ownSet{queue: l.queue, name: l.name, state: l.state}
	case l.state == driver.Delayed:
		return ownSet{queue: l.queue, state: l.state}
	case l.state.Terminal():
		return ownSet{name: l.name, state: l.state}
	default:
		return ownSet{state: l.state}
	}
}

// read reads the set, in no particular order.
func (s ownSet) read(on session, each func(e listed)) error {
	visit := func(r row) error {
		each(readListed(r))
		return nil
	}
	switch {
	case s.state == driver.Waiting:
		return on.query("own_waiting", visit, s.queue, s.name)
	case s.state == driver.Delayed:
		return on.query("own_delayed", visit, s.queue)
	case s.state == driver.Active:
		return on.query("own_active", visit)
	case s.state == driver.WaitingChildren:
		return on.query("own_parked", visit)
	default:
		return on.query("own_finished", visit, s.name, s.state)
	}
}

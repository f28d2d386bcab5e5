package pgstore

import (
	"slices"

	"github.com/jackc/pgx/v5"

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
	var lanes []lane
	l.query("list_lanes", func(rows pgx.Rows) error {
		var one lane
		var state int16
		err := rows.Scan(&one.queue, &one.name, &state, &one.jobs)
		one.state = driver.State(state) //nolint:gosec // a state
		lanes = append(lanes, one)
		return err
	}, l.req.Queue, l.req.Name)
	return lanes, l.send()
}

// entries returns the entries of the list behind its position, in its order, as many as
// one call looks at, and whether there may be more.
func (l *listing) entries() (entries []listed, more bool, err error) {
	if l.req.OrderBy == driver.ByRunAt {
		return l.page("list_delayed", true, l.req.Queue)
	}
	lanes, err := l.lanes()
	if err != nil {
		return nil, false, err
	}
	wanted := slices.DeleteFunc(slices.Clone(lanes), func(one lane) bool { return !l.states[one.state] })
	if len(wanted) == 0 {
		return nil, false, nil
	}
	if l.req.OrderBy == driver.ByFinishedAt {
		var names []string
		var states []int16
		for _, group := range groupsOf(wanted) {
			names, states = append(names, group.name), append(states, int16(group.state))
		}
		return l.page("list_finished", l.req.Queue == "", names, states)
	}
	if entries, few, err := l.ownSets(lanes, wanted); few || err != nil {
		return entries, false, err
	}
	var queues, names []string
	for _, one := range lanesOf(wanted) {
		queues, names = append(queues, one.queue), append(names, one.name)
	}
	return l.page("list_enqueued", len(wanted) == len(lanes), queues, names)
}

// page reads entries from the list's position on. There are two statements, for the two
// directions. covered tells that the source holds nothing that filters on queue, name
// and state would leave out.
func (l *listing) page(query statement, covered bool, args ...any) (entries []listed, more bool, err error) {
	size := driver.ListLookups
	if covered && len(l.req.Metadata) == 0 && (l.req.OrderBy != driver.ByRunAt || l.req.Name == "") {
		size = min(size, l.limit)
	}
	at, id := maxTime, lastText
	if l.req.Ascending {
		query += "_up"
		at, id = minTime, ""
	} else {
		query += "_down"
	}
	if position, given := l.at.Get(); given {
		at, id = position.Time, position.ID
	}
	l.query(query, func(rows pgx.Rows) error {
		e, err := readListed(rows)
		entries = append(entries, e)
		return err
	}, append([]any{at, id, size + 1}, args...)...)
	if err := l.send(); err != nil {
		return nil, false, err
	}
	if more = len(entries) > size; more {
		entries = entries[:size]
	}
	return entries, more, nil
}

// lastText stands behind every id.
const lastText = "\U0010FFFF\U0010FFFF"

// lanesOf returns the queues and names of lanes, each pair once.
func lanesOf(lanes []lane) []lane {
	seen := map[lane]bool{}
	var pairs []lane
	for _, one := range lanes {
		pair := lane{queue: one.queue, name: one.name}
		if !seen[pair] {
			seen[pair] = true
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// groupsOf returns the names and terminal states of lanes, each pair once.
func groupsOf(lanes []lane) []lane {
	seen := map[lane]bool{}
	var groups []lane
	for _, one := range lanes {
		group := lane{name: one.name, state: one.state}
		if one.state.Terminal() && !seen[group] {
			seen[group] = true
			groups = append(groups, group)
		}
	}
	return groups
}

// ownSets reads the jobs of the wanted states by the indexes of their states, if they
// and those that have to be looked at with them are few, and not most of what the lanes
// hold.
func (l *listing) ownSets(lanes, wanted []lane) (entries []listed, few bool, err error) {
	var all, count int64
	for _, one := range lanes {
		all += one.jobs
	}
	var waitingQueues, waitingNames, delayedQueues []string
	var active, parked bool
	for _, one := range wanted {
		count += one.jobs
		switch one.state {
		case driver.Waiting:
			waitingQueues, waitingNames = append(waitingQueues, one.queue), append(waitingNames, one.name)
		case driver.Delayed:
			delayedQueues = append(delayedQueues, one.queue)
		case driver.Active:
			active = true
		case driver.WaitingChildren:
			parked = true
		}
	}
	if count > driver.ListLookups || 2*count > all {
		return nil, false, nil
	}
	slices.Sort(delayedQueues)
	delayedQueues = slices.Compact(delayedQueues)
	var groupNames []string
	var groupStates []int16
	for _, group := range groupsOf(wanted) {
		groupNames, groupStates = append(groupNames, group.name), append(groupStates, int16(group.state))
	}
	var looks int64
	l.scan("list_looks", nil, []any{&looks}, delayedQueues, active, parked, groupNames, groupStates)
	if err := l.send(); err != nil || looks > driver.ListLookups {
		return nil, false, err
	}
	l.query("list_own", func(rows pgx.Rows) error {
		e, err := readListed(rows)
		if err == nil && l.behind(&e) {
			entries = append(entries, e)
		}
		return err
	}, waitingQueues, waitingNames, delayedQueues, active, parked, groupNames, groupStates)
	if err := l.send(); err != nil {
		return nil, false, err
	}
	slices.SortFunc(entries, func(a, b listed) int {
		if l.before(a, b) {
			return -1
		}
		return 1
	})
	return entries, true, nil
}

// behind reports whether an entry lies behind the list's position.
func (l *listing) behind(e *listed) bool {
	at, given := l.at.Get()
	return !given || l.before(listed{at: at.Time, id: at.ID}, *e)
}

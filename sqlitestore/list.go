package sqlitestore

import (
	"context"
	"math"
	"strconv"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
)

const (
	minTime = driver.Time(math.MinInt64)
	maxTime = driver.Time(math.MaxInt64)
)

// List implements [driver.Inspector]. It serves the orders by EnqueuedAt and by
// FinishedAt with any filters, and that by RunAt for the delayed jobs of a queue.
//
// A job's place among those of its queue and name never changes, so one index serves
// the order by EnqueuedAt; states are a filter on it. Where all jobs of the wanted
// states are few, they are read by their states instead.
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
	l := &listing{store: s, req: &req, at: at}
	l.found = page{store: s, limit: req.Limit}
	if req.Limit <= 0 {
		l.found.limit = driver.DefaultListLimit
	}
	l.states = l.wantedStates()
	if req.OrderBy == driver.ByRunAt && (req.Queue == "" || l.states != only(driver.Delayed)) {
		if l.states == (stateSet{}) && req.Queue != "" {
			return driver.ListResult{}, nil
		}
		return driver.ListResult{}, driver.ErrListOrderUnsupported
	}
	var result driver.ListResult
	err = s.read(ctx, "List", func(on session) (err error) {
		l.on = on
		result, err = l.run()
		return err
	})
	return result, err
}

// stateSet is a set of states.
type stateSet [driver.Cancelled + 1]bool

func only(state driver.State) (set stateSet) {
	set[state] = true
	return set
}

// listing is a list call under way.
type listing struct {
	store  *Store
	on     session
	req    *driver.ListRequest
	states stateSet
	at     driver.Opt[driver.ListPosition] // behind which to go on
	found  page
}

// listed is a job's place in a list, and what filters look at.
type listed struct {
	job      int64
	at       driver.Time
	id       string
	state    driver.State
	queue    string
	name     string
	metadata string
}

func readListed(r row) listed {
	return listed{job: r.integer(0), at: r.time(1), id: r.text(2), state: r.state(3), queue: r.text(4), name: r.text(5), metadata: r.text(6)}
}

// wantedStates returns the states that the filter and the order let in.
func (l *listing) wantedStates() (set stateSet) {
	if l.req.States == nil {
		for _, state := range driver.States {
			set[state] = true
		}
	}
	for _, state := range l.req.States {
		if state.Valid() {
			set[state] = true
		}
	}
	if l.req.OrderBy == driver.ByFinishedAt {
		for _, state := range driver.States {
			set[state] = set[state] && state.Terminal()
		}
	}
	return set
}

// run reads a page.
func (l *listing) run() (driver.ListResult, error) {
	merged := &merge[listed]{less: l.before}
	if err := l.enterSources(merged); err != nil {
		return driver.ListResult{}, err
	}
	var result driver.ListResult
	for lookups := 0; ; lookups++ {
		_, more := merged.peek()
		if !more {
			break
		}
		if lookups == driver.ListLookups || len(l.found.jobs) == l.found.limit {
			result.Cursor = l.at.Value.Cursor()
			break
		}
		next, _, err := merged.next()
		if err != nil {
			return driver.ListResult{}, err
		}
		matches, err := l.matches(&next)
		if err != nil {
			return driver.ListResult{}, err
		}
		if matches {
			room, err := l.add(next.job)
			if err != nil {
				return driver.ListResult{}, err
			}
			if !room {
				result.Cursor = l.at.Value.Cursor()
				break
			}
		}
		l.at = driver.Some(driver.ListPosition{OrderBy: l.req.OrderBy, Ascending: l.req.Ascending, Time: next.at, ID: next.id})
	}
	result.Jobs = l.found.jobs
	return result, l.found.complete(l.on)
}

// before orders entries as the list does.
func (l *listing) before(a, b listed) bool {
	if !l.req.Ascending {
		a, b = b, a
	}
	return a.at < b.at || a.at == b.at && a.id < b.id
}

// add reads a job's record. It reports whether the page had room for it.
func (l *listing) add(job int64) (room bool, err error) {
	err = l.on.query("record_of_row", func(r row) (err error) {
		room, err = l.found.add(r)
		return err
	}, job)
	return room, err
}

// matches applies the filters that the sources may not have covered.
func (l *listing) matches(e *listed) (bool, error) {
	if !l.states[e.state] || l.req.Queue != "" && l.req.Queue != e.queue || l.req.Name != "" && l.req.Name != e.name {
		return false, nil
	}
	if len(l.req.Metadata) == 0 {
		return true, nil
	}
	metadata, err := rowcodec.DecodeMetadata(e.metadata)
	if err != nil {
		return false, err
	}
	for key, want := range l.req.Metadata {
		if got, ok := metadata[key]; !ok || got != want {
			return false, nil
		}
	}
	return true, nil
}

// enterSources finds the indexes that serve the list.
func (l *listing) enterSources(merged *merge[listed]) error {
	lanes, err := l.lanes()
	if err != nil {
		return err
	}
	switch l.req.OrderBy {
	case driver.ByRunAt:
		return l.enter(merged, 1, "list_delayed", l.req.Queue)
	case driver.ByFinishedAt:
		return l.enterGroups(merged, lanes)
	}
	few, err := l.enterOwnSets(merged, lanes)
	if few || err != nil {
		return err
	}
	wanted := map[[2]string]bool{}
	for _, lane := range lanes {
		if l.states[lane.state] {
			wanted[[2]string{lane.queue, lane.name}] = true
		}
	}
	for lane := range wanted {
		if err := l.enter(merged, len(wanted), "list_enqueued", lane[0], lane[1]); err != nil {
			return err
		}
	}
	return nil
}

// enterGroups enters the orders of finished jobs by name and state.
func (l *listing) enterGroups(merged *merge[listed], lanes []lane) error {
	groups := map[lane]bool{}
	for _, lane := range lanes {
		if l.states[lane.state] {
			lane.queue, lane.jobs = "", 0
			groups[lane] = true
		}
	}
	for group := range groups {
		for owing := range 2 {
			if err := l.enter(merged, 2*len(groups), "list_finished", group.name, group.state, owing); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter adds an order that a statement reads from the list's position on. There are
// two statements, for the two directions, which begin with the position and the size
// of a page.
func (l *listing) enter(merged *merge[listed], sources int, query statement, args ...any) error {
	pageSize := min(driver.ListLookups, max(8, 2*(l.found.limit+1)/sources))
	if l.req.Ascending {
		query += "_up"
	} else {
		query += "_down"
	}
	start := l.start()
	return merged.enter(func(after *listed) ([]listed, error) {
		position := start
		if after != nil {
			position = []any{after.at, after.id}
		}
		read := make([]listed, 0, pageSize)
		err := l.on.query(query, func(r row) error {
			read = append(read, readListed(r))
			return nil
		}, append([]any{position[0], position[1], pageSize}, args...)...)
		return read, err
	}, pageSize)
}

// start returns the list's position as statements take it. Before the first page
// that is the end of the order; a blob stands behind every text.
func (l *listing) start() []any {
	switch at, given := l.at.Get(); {
	case given:
		return []any{at.Time, at.ID}
	case l.req.Ascending:
		return []any{minTime, ""}
	default:
		return []any{maxTime, behindEveryText{}}
	}
}

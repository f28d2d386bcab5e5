package pgstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/rowcodec"
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
	l := &listing{store: s, req: &req, at: at, limit: req.Limit}
	if l.limit <= 0 {
		l.limit = driver.DefaultListLimit
	}
	l.states = l.wantedStates()
	if req.OrderBy == driver.ByRunAt && (req.Queue == "" || l.states != only(driver.Delayed)) {
		if l.states == (stateSet{}) && req.Queue != "" {
			return driver.ListResult{}, s.serves(ctx)
		}
		return driver.ListResult{}, driver.ErrListOrderUnsupported
	}
	var result driver.ListResult
	err = s.read(ctx, "List", func(t *tx) (err error) {
		l.tx = t
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
	*tx
	store  *Store
	req    *driver.ListRequest
	limit  int
	states stateSet
	at     driver.Opt[driver.ListPosition] // behind which to go on
}

// listed is a job's place in a list, and what filters look at.
type listed struct {
	at       driver.Time
	id       string
	state    driver.State
	queue    string
	name     string
	metadata string
}

func readListed(rows pgx.Rows) (e listed, err error) {
	var state int16
	var metadata *string
	err = rows.Scan((*int64)(&e.at), &e.id, &state, &e.queue, &e.name, &metadata)
	e.state, e.metadata = driver.State(state), orZero(metadata) //nolint:gosec // a state
	return e, err
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

// run reads a page: the entries to look at, and the records of those that match.
func (l *listing) run() (driver.ListResult, error) {
	entries, more, err := l.entries()
	if err != nil || len(entries) == 0 {
		return driver.ListResult{}, err
	}
	var ids []string
	looked := 0
	for _, e := range entries {
		if len(ids) == l.limit {
			more = true
			break
		}
		matches, err := l.matches(&e)
		if err != nil {
			return driver.ListResult{}, err
		}
		if matches {
			ids = append(ids, e.id)
		}
		looked++
	}
	var result driver.ListResult
	if len(ids) > 0 {
		if result.Jobs, err = l.records(ids); err != nil {
			return driver.ListResult{}, err
		}
		if full := len(result.Jobs); full < len(ids) {
			// The page is full by size: it goes on behind its last job.
			looked = 1 + slices.IndexFunc(entries, func(e listed) bool { return e.id == ids[full-1] })
			more = true
		}
	}
	if more {
		last := entries[looked-1]
		result.Cursor = driver.ListPosition{OrderBy: l.req.OrderBy, Ascending: l.req.Ascending, Time: last.at, ID: last.id}.Cursor()
	}
	return result, nil
}

// records reads jobs, as many as a page has room for.
func (l *listing) records(ids []string) ([]*driver.Job, error) {
	var jobs []*driver.Job
	l.query("list_read", func(rows pgx.Rows) error {
		var at int
		job, err := l.store.readJob(rows, &at)
		jobs = append(jobs, job)
		return err
	}, ids, driver.ChunkBytes)
	return jobs, l.send()
}

// before orders entries as the list does.
func (l *listing) before(a, b listed) bool {
	if !l.req.Ascending {
		a, b = b, a
	}
	return a.at < b.at || a.at == b.at && a.id < b.id
}

// matches applies the filters that the source may not have covered.
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

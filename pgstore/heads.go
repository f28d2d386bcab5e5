package pgstore

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidmq/braid/driver"
)

// heads keeps claims quick where many jobs pass through. Every claim takes jobs from the
// head of their lane, which is one queue and name, and leaves dead index entries there.
// They stay until vacuum comes, once a minute at most, and where somebody's transaction
// keeps an old snapshot, for as long as that is open; a claim that begins at the head
// walks through all of them.
//
// So the process remembers how far its claims have come, and when it finds that a lane
// has many dead entries, it begins its claims at that place. What waits before it after
// all, since it was sent back to its old place or its transaction took long, is a stray.
// The process knows those of its own, and looks for those of others now and then. Where
// there are few dead entries, nothing of this happens, and claims begin at the head.
//
// The same goes for the delayed jobs of a queue, which are promoted in the order in which
// they fall due: their head has no name, one priority, and times instead of seqs.
type heads struct {
	store    *Store
	slow     time.Duration // slowClaim
	lag      time.Duration // placeLag
	longHead int64

	mu     sync.Mutex
	heads  map[headKey]*head
	closed bool
	tasks  sync.WaitGroup
}

func newHeads(s *Store) heads {
	return heads{store: s, slow: slowClaim, lag: placeLag, longHead: longHead}
}

type headKey struct{ queue, name string }

// head is what is known of a lane.
type head struct {
	places   map[int32]*place // by priority
	long     bool             // whether many dead entries lie before the places
	strays   []string         // ids of jobs that may wait there, if it is long
	late     []string         // those of them that came while it was being walked
	walking  bool
	nextWalk time.Time
	used     time.Time
}

const (
	// slowClaim is how long a claim takes that gives a reason to look for dead entries.
	slowClaim = 3 * time.Millisecond
	// longHead is how many index pages of dead entries make claims begin behind them. A
	// page has some hundred entries.
	longHead = 48
	// placeLag is by how much a place lies behind the latest claims: jobs that were
	// enqueued at the same time need not have been committed in their order.
	placeLag = 300 * time.Millisecond
	// A head is walked again after a rest of restsPerWalk times what the last time took,
	// but within these bounds.
	restsPerWalk = 10
	leastRest    = 100 * time.Millisecond
	mostRest     = 2 * time.Second
	walkTimeout  = time.Minute
	// mostStrays is how many strays are kept; with more, claims begin at the head again.
	mostStrays = 4 * driver.ChunkJobs
	// mostPlaces is for how many priorities of a head a place is kept.
	mostPlaces = 16
	// mostHeads is how many heads are remembered. Those without use for a while make room.
	mostHeads   = 1024
	headTimeout = time.Minute
)

// place is how far claims of one priority have come, as the highest seq among what they
// have taken: now, and at two times, of which behind is the one that is old enough.
type place struct {
	behind, middle, ahead int64
	turned                time.Time
}

// turn moves on what is older than lag.
func (p *place) turn(now time.Time, lag time.Duration) {
	for range 2 {
		if now.Sub(p.turned) < lag {
			return
		}
		p.behind, p.middle = p.middle, p.ahead
		p.turned = p.turned.Add(lag)
	}
	p.turned = now
}

// scope says where a claim looks for candidates: in ranges of priorities from their
// head, in single priorities from a place on, and among strays.
type scope struct {
	names           []string
	lows, highs     []int32
	placeNames      []string
	placePriorities []int32
	places          []int64
	strays          []string
	due             int64 // delayed jobs that fell due before this time are left alone
	anyLong         bool
}

// of returns where a claim begins.
func (l *heads) of(queue string, names []string) scope {
	s := scope{due: math.MinInt64}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if key := (headKey{queue, ""}); l.heads[key] != nil && l.heads[key].long {
		p := l.heads[key].places[0]
		p.turn(now, l.lag)
		s.due = p.behind
		l.walkLater(key, l.heads[key])
	}
	for _, name := range names {
		head := l.heads[headKey{queue, name}]
		if head == nil || !head.long {
			s.open(name, math.MinInt32, math.MaxInt32)
			continue
		}
		s.anyLong = true
		s.strays = append(s.strays, head.strays...)
		high := int64(math.MaxInt32)
		for _, priority := range head.priorities() {
			p := head.places[priority]
			p.turn(now, l.lag)
			s.placeNames = append(s.placeNames, name)
			s.placePriorities, s.places = append(s.placePriorities, priority), append(s.places, p.behind)
			s.open(name, int64(priority)+1, high)
			high = int64(priority) - 1
		}
		s.open(name, math.MinInt32, high)
		l.walkLater(headKey{queue, name}, head)
	}
	return s
}

// open adds a range of priorities to be looked at from its head, unless it is empty.
func (s *scope) open(name string, low, high int64) {
	if low <= high {
		s.names = append(s.names, name)
		s.lows, s.highs = append(s.lows, int32(low)), append(s.highs, int32(high)) //nolint:gosec // priorities
	}
}

// priorities returns those with a place, the highest first.
func (l *head) priorities() []int32 {
	var all []int32
	for priority := range l.places {
		all = append(all, priority)
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// took notes what a claim has taken, and how long that was.
func (l *heads) took(queue string, jobs []*driver.Job, duration time.Duration) {
	if len(jobs) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var key headKey
	var at *head
	for _, job := range jobs {
		if next := (headKey{queue, job.Name}); at == nil || key != next {
			key, at = next, l.head(next, now)
			if duration >= l.slow || at.long {
				l.walkLater(key, at)
			}
		}
		at.pass(job.Priority, job.Seq, now, l.lag)
		if len(at.strays) > 0 {
			at.strays = without(at.strays, job.ID)
		}
	}
}

// promoted notes that a claim left no job that fell due before a time.
func (l *heads) promoted(queue string, due int64, jobs int, duration time.Duration) {
	key := headKey{queue, ""}
	l.mu.Lock()
	defer l.mu.Unlock()
	if jobs == 0 && l.heads[key] == nil {
		return
	}
	now := time.Now()
	at := l.head(key, now)
	at.pass(0, due, now, l.lag)
	if duration >= l.slow {
		l.walkLater(key, at)
	}
}

func without(ids []string, id string) []string {
	if at := slices.Index(ids, id); at >= 0 {
		return slices.Delete(ids, at, at+1)
	}
	return ids
}

// head returns a head, which is new if it is not known.
func (l *heads) head(key headKey, now time.Time) *head {
	at := l.heads[key]
	if at == nil {
		if len(l.heads) >= mostHeads {
			for other, head := range l.heads {
				if !head.walking && now.Sub(head.used) > headTimeout {
					delete(l.heads, other)
				}
			}
		}
		at = &head{places: map[int32]*place{}}
		if len(l.heads) < mostHeads {
			if l.heads == nil {
				l.heads = map[headKey]*head{}
			}
			l.heads[key] = at
		}
	}
	at.used = now
	return at
}

// pass notes that claims have come to a job.
func (l *head) pass(priority int32, seq int64, now time.Time, lag time.Duration) {
	p := l.places[priority]
	if p == nil {
		if len(l.places) >= mostPlaces {
			return
		}
		p = &place{turned: now}
		l.places[priority] = p
	}
	p.turn(now, lag)
	p.ahead = max(p.ahead, seq)
}

// stray is a job that waits at an old place.
type stray struct{ queue, name, id string }

// add notes strays of this process.
func (l *heads) add(strays []stray) {
	if len(strays) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range strays {
		head := l.heads[headKey{s.queue, s.name}]
		switch {
		case head == nil || !head.long && !head.walking:
			continue
		case head.walking:
			head.late = append(head.late, s.id)
		}
		if head.strays = append(head.strays, s.id); len(head.strays) > mostStrays {
			head.forget()
		}
	}
}

// forget lets claims begin at the head.
func (l *head) forget() { l.long, l.strays, l.late = false, nil, nil }

// walkLater sees that a head is walked when its time has come.
func (l *heads) walkLater(key headKey, head *head) {
	rest := time.Until(head.nextWalk)
	if head.walking || l.closed || rest > 0 && !head.long {
		return
	}
	head.walking = true
	l.tasks.Go(func() {
		timer := time.NewTimer(rest)
		defer timer.Stop()
		select {
		case <-timer.C:
			l.walk(key, head)
		case <-l.store.closing:
		}
	})
}

// walk measures what lies before a head's places, and finds its strays.
func (l *heads) walk(key headKey, head *head) {
	l.mu.Lock()
	head.late = nil
	priorities := head.priorities()
	seqs := make([]int64, len(priorities))
	now := time.Now()
	for i, priority := range priorities {
		p := head.places[priority]
		p.turn(now, l.lag)
		seqs[i] = p.behind
	}
	l.mu.Unlock()

	ctx, cancel := context.WithTimeout(l.store.closed, walkTimeout)
	defer cancel()
	var before, after int64
	var strays []string
	delayed, index := key.name == "", l.store.table("jobs_waiting")
	if delayed {
		index = l.store.table("jobs_delayed")
	}
	err := l.store.pipeline(ctx, "Claim", 0, func(t *tx) {
		strays = nil
		read := func(rows pgx.Rows) error {
			var id string
			err := rows.Scan(&id)
			strays = append(strays, id)
			return err
		}
		t.scan("pages_read", nil, []any{&before}, index)
		if delayed {
			t.query("due_strays", read, key.queue, seqs[0])
		} else {
			t.query("head_strays", read, key.queue, key.name, priorities, seqs, mostStrays/2)
		}
		t.scan("pages_read", nil, []any{&after}, index)
	})
	took := time.Since(now)

	l.mu.Lock()
	head.walking = false
	head.nextWalk = time.Now().Add(min(max(restsPerWalk*took, leastRest), mostRest))
	wake := false
	switch {
	case err != nil: // what is known stays
	case after-before < l.longHead || len(strays) >= mostStrays/2:
		head.forget()
	case delayed && len(strays) > 0:
		head.forget() // the next claim begins at the head
		wake = true
	default:
		head.long = true
		wake = len(strays) > 0
		head.strays, head.late = slices.Concat(strays, head.late), nil
	}
	l.mu.Unlock()
	if wake {
		l.store.hub.wakeHere(key.queue)
	}
}

// wait ends the walks.
func (l *heads) wait() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.tasks.Wait()
}

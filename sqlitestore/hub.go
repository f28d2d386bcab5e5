package sqlitestore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/storekit"
)

// pollInterval is how often the file's version is looked at while somebody waits.
const pollInterval = 15 * time.Millisecond

// hub tells those who wait what was committed: by this store's writer at once, by
// others when the poll sees it.
type hub struct {
	store *Store

	mu       sync.Mutex // guards what follows
	closed   bool
	wakes    storekit.WakeBook
	opened   int64 // the latest wake when the store was opened
	polled   int64 // the latest wake that the poll has seen
	finished map[string]*watchedJob
	cancels  storekit.CancelWatches
	waiting  int           // waits and watches under way
	polling  bool          // whether the poll's goroutine runs
	stopped  chan struct{} // closed when the latest poll has ended

	look    *look       // of the poll, which only its goroutine uses
	foreign atomic.Bool // the watched jobs are to be looked at
}

func newHub(s *Store) *hub {
	h := &hub{
		store:    s,
		wakes:    storekit.NewWakeBook(),
		finished: map[string]*watchedJob{},
		stopped:  make(chan struct{}),
	}
	close(h.stopped)
	h.look = newLook(h)
	return h
}

// publish tells of what the writer has committed.
func (h *hub) publish(t *tx) {
	if !t.changed {
		return
	}
	h.store.commits.Store(t.counters.commits)
	h.mu.Lock()
	defer h.mu.Unlock()
	for queue, c := range t.group.queues {
		if c.wake > 0 {
			h.wakes.Wake(queue, driver.WakeCursor(c.wake))
		}
	}
	for _, end := range t.group.ends {
		h.announceEnd(end)
	}
	for _, id := range t.group.cancels {
		h.cancels.Announce(id)
	}
}

// enter registers a wait or watch, with the mutex held, and sees that the poll runs.
func (h *hub) enter() {
	h.waiting++
	if h.polling || h.closed {
		return
	}
	before := h.stopped
	h.polling, h.stopped = true, make(chan struct{})
	go h.poll(before, h.stopped)
}

func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	h.endFinishWatches()
	stopped := h.stopped
	h.mu.Unlock()
	<-stopped
	h.look.conn.drop()
}

// poll looks for what other processes have committed, until nobody waits. It begins
// when the poll before it has ended.
func (h *hub) poll(before, stopped chan struct{}) {
	<-before
	defer close(stopped)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		h.look.take()
		select {
		case <-ticker.C:
		case <-h.store.closing:
			h.mu.Lock()
			h.polling = false
			h.mu.Unlock()
			return
		}
		h.mu.Lock()
		if h.waiting == 0 {
			h.polling = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// look is the poll's view of the file.
type look struct {
	hub     *hub
	conn    *keptConnection
	version int64           // the file's data version; -1: not known
	told    map[string]bool // cancel requests that were delivered; nil: never looked
	left    int             // how many watched jobs are still to be looked at
	after   string          // the one that was looked at last
	failing bool            // whether the latest look failed, which was logged then
}

func newLook(h *hub) *look {
	return &look{
		hub: h, version: -1,
		conn: &keptConnection{open: func(ctx context.Context) (*connection, error) { return h.store.connect(ctx, true) }},
	}
}

// take looks, and tells those who wait what is new.
func (l *look) take() {
	err := l.conn.use(context.Background(), l.read)
	if err != nil && !l.failing {
		l.hub.store.logger.Warn("braid: cannot look for what other processes committed; trying again",
			"store", l.hub.store.location, "error", err)
	}
	if err != nil {
		l.version = -1
	}
	l.failing = err != nil
}

func (l *look) read(c *connection) error {
	var version int64
	if _, err := first(c, "data_version", func(r row) { version = r.integer(0) }); err != nil {
		return err
	}
	moved := version != l.version
	if moved {
		if err := l.readWakes(c); err != nil {
			return err
		}
	}
	if moved {
		var commits int64
		if _, err := first(c, "store_load", func(r row) { commits = r.integer(0) }); err != nil {
			return err
		}
		if commits != l.hub.store.commits.Load() {
			l.hub.foreign.Store(true)
		}
	}
	if err := l.readEnds(c); err != nil {
		return err
	}
	if err := l.readCancels(c, moved); err != nil {
		return err
	}
	l.version = version
	return nil
}

func (l *look) readWakes(c *connection) error {
	h := l.hub
	h.mu.Lock()
	since := h.polled
	h.mu.Unlock()
	woken := map[string]int64{}
	latest := since
	err := c.query("queues_woken", func(r row) error {
		woken[r.text(0)] = r.integer(1)
		latest = max(latest, r.integer(1))
		return nil
	}, since)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for queue, wake := range woken {
		h.wakes.Wake(queue, driver.WakeCursor(wake))
	}
	h.polled = latest
	return nil
}

// endsPerLook is how many watched jobs one look asks for, so that a thousand
// watchers cost no more than a hundred.
const endsPerLook = 100

// readEnds looks at some of the watched jobs, in turn, until all were looked at
// after the latest commit of others.
func (l *look) readEnds(c *connection) error {
	h := l.hub
	ids := h.watchedIDs()
	if h.foreign.Swap(false) {
		l.left = len(ids)
	}
	from, found := slices.BinarySearch(ids, l.after)
	if found {
		from++
	}
	for n := 0; n < endsPerLook && l.left > 0 && len(ids) > 0; n++ {
		id := ids[from%len(ids)]
		from++
		if err := l.readEnd(c, id); err != nil {
			return err
		}
		l.after = id
		l.left--
	}
	return nil
}

// readEnd looks at one watched job.
func (l *look) readEnd(c *connection, id string) error {
	var end driver.Finished
	found, err := first(c, "job_end", func(r row) {
		end = driver.Finished{ID: id, State: driver.State(r.integer(0)), Exit: r.bytes(1),
			FailedReason: r.text(2), AttemptsMade: int32(r.integer(3))}
	}, id)
	if err != nil {
		return err
	}
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	watched := h.finished[id]
	switch {
	case watched == nil:
	case found && end.State.Terminal():
		h.announceEnd(end)
	case found:
		watched.existed = true
	case watched.existed:
		// It was removed, and how it ended was not kept: the watchers look for
		// themselves.
		h.endFinishWatchesOf(id)
	}
	return nil
}

// readCancels delivers the cancel requests of active jobs that others have made.
func (l *look) readCancels(c *connection, moved bool) error {
	h := l.hub
	if !h.cancels.Any() || !moved && l.told != nil {
		return nil
	}
	requested := map[string]bool{}
	err := c.query("jobs_cancel_requested", func(r row) error {
		requested[r.text(0)] = true
		return nil
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range requested {
		if !l.told[id] {
			h.cancels.Announce(id)
		}
	}
	l.told = requested
	return nil
}

// watchedIDs returns the ids of the jobs whose end is watched, in a fixed order.
func (h *hub) watchedIDs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]string, 0, len(h.finished))
	for id := range h.finished {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

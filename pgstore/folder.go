package pgstore

import (
	"context"
	"sync"
	"time"
)

const (
	// foldInterval is how long changes of counts lie before they are folded.
	foldInterval = time.Second
	// foldAtOnce bounds one step.
	foldAtOnce = 20_000
	// foldTimeout bounds one step's time.
	foldTimeout = 10 * time.Second
	// vacuumAfter is after how many folded changes their tables, which are read whole for
	// every count, are vacuumed: autovacuum comes once a minute at most.
	vacuumAfter = 10_000
)

// folder folds changes of counts and stats into the counts and stats, a second after there
// was one.
type folder struct {
	store    *Store
	interval time.Duration
	step     func() (more bool, err error) // fold

	mu      sync.Mutex
	running bool
	again   bool // changes came since the run has begun to fold
	closed  bool
	tasks   sync.WaitGroup

	folded int // since the last vacuum; the run's
}

func newFolder(s *Store) *folder {
	f := &folder{store: s, interval: foldInterval}
	f.step = f.fold
	return f
}

// begin sees that changes are folded in a while.
func (f *folder) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.again = true
	if !f.running && !f.closed {
		f.running = true
		f.tasks.Go(f.run)
	}
}

// run folds until there is nothing to fold.
func (f *folder) run() {
	for f.due() {
		for {
			// An error leaves the changes where they are, and counted.
			more, err := f.step()
			if err != nil || !more {
				break
			}
		}
	}
}

// due waits for the time to fold, and reports whether to. If not, the run is over.
func (f *folder) due() bool {
	f.mu.Lock()
	f.running = f.again && !f.closed
	running := f.running
	f.mu.Unlock()
	if !running {
		return false
	}
	timer := time.NewTimer(f.interval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.store.closing:
		return false
	}
	f.mu.Lock()
	f.again = false // what is committed from now on may be missed by this round
	f.mu.Unlock()
	return true
}

// fold folds some changes, unless another process is at it, and reports whether there
// may be more.
func (f *folder) fold() (more bool, err error) {
	ctx, cancel := context.WithTimeout(f.store.closed, foldTimeout)
	defer cancel()
	var runs int
	var folded int
	var jobs int64
	err = f.store.transact(ctx, "fold", 0, func(t *tx) error {
		folded = 0
		var free bool
		t.scan("fold_lock", nil, []any{&free}, f.store.lockKey("fold"))
		if err := t.send(); err != nil || !free {
			return err
		}
		t.scan("fold", nil, []any{&folded, &jobs}, foldAtOnce)
		t.exec("fold_drop_empty")
		t.scan("stats_fold", nil, []any{&runs}, foldAtOnce)
		return nil
	})
	if err != nil {
		return false, err
	}
	if folded > 0 {
		f.store.growth.observe(jobs)
	}
	f.folded += folded
	if f.folded >= vacuumAfter {
		f.folded = 0
		// Whoever may not do it leaves it to autovacuum.
		_, _ = f.store.pool.Exec(ctx, "VACUUM (SKIP_LOCKED) "+f.store.table("changes")+", "+f.store.table("stat_changes"))
	}
	return folded == foldAtOnce || runs == foldAtOnce, nil
}

// wait ends the folder.
func (f *folder) wait() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.tasks.Wait()
}

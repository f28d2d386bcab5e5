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

// folder folds changes of counts and stats into the counts and stats, a second after there was one.
type folder struct {
	store *Store

	mu      sync.Mutex
	running bool
	closed  bool
	folded  int // since the last vacuum
	tasks   sync.WaitGroup
}

// begin sees that changes are folded in a while.
func (f *folder) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.running && !f.closed {
		f.running = true
		f.tasks.Go(f.run)
	}
}

func (f *folder) run() {
	timer := time.NewTimer(foldInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.store.closing:
	}
	f.mu.Lock()
	f.running = false // what is committed from now on begins anew
	f.mu.Unlock()
	select {
	case <-f.store.closing:
		return
	default:
	}
	for {
		// An error leaves the changes where they are, and counted.
		more, err := f.fold()
		if err != nil || !more {
			return
		}
	}
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

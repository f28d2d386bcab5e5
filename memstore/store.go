package memstore

import (
	"context"
	"sync"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// formatVersion is what Info reports; nothing is ever written in it.
const formatVersion = 1

// Store is a store in memory. Its methods may be called from many goroutines at
// once. It starts no goroutines. Use New.
type Store struct {
	settings
	optionErr error         // the first problem in an option; every call returns it
	done      chan struct{} // closed by Close

	mu     sync.Mutex // guards everything below
	closed bool

	jobs       map[string]*record
	mostJobs   int // the most in jobs since that was made
	queues     map[string]*queue
	names      map[string]*nameGroup
	counts     stateCounts
	active     timeline // by LockExpiresAt
	claims     map[string]*claim
	seq        int64 // the latest Job.Seq
	idCounter  int64 // the latest n of j-<n>
	finishes   int64 // the latest record.finishOrder
	visits     int64 // marks lanes during one claim
	expiry     timeline
	surplus    map[*group]struct{}
	dedupes    map[dedupeKey]*dedupeEntry
	dedupeEnds *btree.BTreeG[*dedupeEntry]
	schedules  scheduleBook
	flows      flowBook
	outbox     outbox
	wakes      wakeBook
	stats      statBook
	workers    workerBook
	finished   map[string]map[*finishWatch]struct{}
	cancels    map[*cancelWatch]struct{}
}

var (
	_ driver.Store         = (*Store)(nil)
	_ driver.Waker         = (*Store)(nil)
	_ driver.FinishWatcher = (*Store)(nil)
	_ driver.CancelWatcher = (*Store)(nil)
)

// New returns an empty store. A problem in an option is returned by every call of
// the store, the first being Ping.
func New(opts ...Option) *Store {
	s := &Store{
		done:       make(chan struct{}),
		jobs:       map[string]*record{},
		queues:     map[string]*queue{},
		names:      map[string]*nameGroup{},
		claims:     map[string]*claim{},
		surplus:    map[*group]struct{}{},
		dedupes:    map[dedupeKey]*dedupeEntry{},
		dedupeEnds: newTree(expiresEarlier),
		schedules:  newScheduleBook(),
		flows:      newFlowBook(),
		outbox:     newOutbox(),
		wakes:      newWakeBook(),
		workers:    newWorkerBook(),
		finished:   map[string]map[*finishWatch]struct{}{},
		cancels:    map[*cancelWatch]struct{}{},
	}
	for _, opt := range opts {
		if err := opt(&s.settings); err != nil && s.optionErr == nil {
			s.optionErr = err
		}
	}
	return s
}

// Info implements [driver.Store].
func (s *Store) Info() driver.Info {
	return driver.Info{Kind: "memory", Location: "this process", Format: formatVersion}
}

// Ping implements [driver.Store].
func (s *Store) Ping(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// Close implements [driver.Store]. It forgets nothing, but nothing can be read any
// more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.done == nil {
		return nil
	}
	s.closed = true
	close(s.done)
	s.endFinishWatches()
	return nil
}

// lock takes the mutex, unless the call cannot be served; then it returns why,
// and the mutex is free.
func (s *Store) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.optionErr != nil {
		return s.optionErr
	}
	if s.done == nil {
		return &driver.InvalidError{Field: "store", Reason: "is empty; make one with memstore.New"}
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return driver.ErrClosed
	}
	return nil
}

// inChunks calls work, with the mutex held, for one range of the batch after the
// other; the mutex is free in between. An empty batch only checks whether the
// store serves calls. When it stops early, it returns how many items were worked
// on.
func (s *Store) inChunks(ctx context.Context, total, chunk int, work func(from, to int)) (done int, err error) {
	for {
		if err := s.lock(ctx); err != nil {
			return done, partial(done, err)
		}
		to := min(done+chunk, total)
		work(done, to)
		s.mu.Unlock()
		done = to
		if done == total {
			return done, nil
		}
	}
}

// partial wraps err so that it tells that the first done items were applied.
func partial(done int, err error) error {
	if done == 0 {
		return err
	}
	return &driver.PartialError{Applied: done, Err: err}
}

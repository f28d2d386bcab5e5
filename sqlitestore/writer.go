package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid/driver"
)

const (
	// groupWeight is how many jobs one transaction takes before it commits. A call
	// that arrives after that goes into the next one.
	groupWeight = 4 * driver.ChunkJobs
	// groupTime is how long a transaction takes further calls, so that the first of
	// them does not wait for long.
	groupTime = 10 * time.Millisecond
	// queuedCalls is how many calls wait without blocking their callers' goroutines.
	queuedCalls = 1024
	// busyRound is how long one attempt to begin waits for the write lock.
	busyRound = 50 * time.Millisecond
)

// call is a caller's work on its way through the writer.
type call struct {
	op     string
	weight int
	since  time.Time
	run    func(t *tx) error
	state  atomic.Int32 // one of the callX
	done   chan error   // holds one value
}

const (
	callQueued int32 = iota
	callRunning
	callAbandoned // its caller does not wait any more, and it was not begun
)

// write runs work in a transaction of the writer's, alone or beside that of other
// callers, and returns when it is committed. An error of run undoes what it did, and
// nothing else.
func (s *Store) write(ctx context.Context, op string, weight int, run func(t *tx) error) error {
	if err := s.serves(ctx); err != nil {
		return err
	}
	c := &call{op: op, weight: max(weight, 1), since: time.Now(), run: run, done: make(chan error, 1)}
	select {
	case s.calls <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return driver.ErrClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		if c.state.CompareAndSwap(callQueued, callAbandoned) {
			return ctx.Err()
		}
		// It is being written: that ends by itself.
		select {
		case err := <-c.done:
			return err
		case <-s.written:
			return s.unanswered(c)
		}
	case <-s.written:
		return s.unanswered(c)
	}
}

// unanswered returns what a call is told whose writer has ended.
func (s *Store) unanswered(c *call) error {
	select {
	case err := <-c.done:
		return err
	default:
		return driver.ErrClosed
	}
}

// serves returns why the store cannot serve a call.
func (s *Store) serves(ctx context.Context) error {
	if s.closing == nil {
		return &driver.InvalidError{Field: "store", Reason: "is empty; open one with sqlitestore.Open or sqlitestore.New"}
	}
	select {
	case <-s.closing:
		return driver.ErrClosed
	default:
		return ctx.Err()
	}
}

// runWriter is the goroutine that writes.
func (s *Store) runWriter() {
	defer close(s.written)
	for {
		select {
		case c := <-s.calls:
			s.writeGroup(c)
		case <-s.closing:
			return
		}
	}
}

// begun takes the call from its caller, unless that has given up.
func (c *call) begun() bool { return c.state.CompareAndSwap(callQueued, callRunning) }

// writeGroup commits a call, and with it those that arrive meanwhile.
func (s *Store) writeGroup(leader *call) {
	var g group
	err := s.sameFile()
	if err == nil {
		err = s.writer.use(context.Background(), func(c *connection) error {
			return s.commitGroup(c, leader, &g)
		})
	}
	if err != nil {
		if leader.begun() {
			g.calls = append(g.calls, leader)
		}
		for _, c := range g.calls {
			c.done <- storeError(c.op, err)
		}
		return
	}
	if g.tx != nil {
		s.hub.publish(g.tx)
	}
	for _, c := range g.calls {
		c.done <- nil
	}
}

// group is what one transaction commits.
type group struct {
	tx    *tx     // nil: nothing was committed
	calls []*call // whose effects are in the transaction, and who wait for it
}

// commitGroup runs a transaction. An error means that nothing of it is in effect.
func (s *Store) commitGroup(c *connection, leader *call, g *group) (err error) {
	if err := s.begin(c, leader); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = c.exec("rollback")
		}
	}()
	t := newTx(s, c)
	if err := t.load(); err != nil {
		return err
	}
	if t.counters.commits != s.commits.Load() {
		s.hub.foreign.Store(true)
	}
	started, weight := time.Now(), 0
	for next := leader; next != nil; next = s.nextCall(weight, started) {
		if !next.begun() {
			continue
		}
		if len(g.calls) == 0 {
			// Nobody else is in the transaction: if the call fails, all of it goes.
			if failed := run(t, next); failed != nil {
				next.done <- storeError(next.op, failed)
				_, err := c.exec("rollback")
				return err
			}
			t.keep()
			g.calls = append(g.calls, next)
		} else if err := runGuarded(c, t, g, next); err != nil {
			return err
		}
		weight += next.weight
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.commit(c); err != nil {
		return err
	}
	g.tx = t
	return nil
}

// runGuarded runs a call so that its failure leaves the others' effects alone. An
// error means that the transaction is lost.
func runGuarded(c *connection, t *tx, g *group, next *call) error {
	g.calls = append(g.calls, next)
	if _, err := c.exec("savepoint"); err != nil {
		return err
	}
	failed := run(t, next)
	if failed == nil {
		t.keep()
		_, err := c.exec("release")
		return err
	}
	t.drop()
	if _, err := c.exec("rollback_to"); err != nil {
		return errors.Join(failed, err)
	}
	g.calls = g.calls[:len(g.calls)-1]
	next.done <- storeError(next.op, failed)
	_, err := c.exec("release")
	return err
}

// nextCall returns a call that has arrived, or nil if the transaction is to be
// committed.
func (s *Store) nextCall(weight int, started time.Time) *call {
	if weight >= groupWeight || time.Since(started) >= groupTime {
		return nil
	}
	select {
	case c := <-s.calls:
		return c
	default:
		return nil
	}
}

// begin opens a transaction with the write lock, for which it waits as long as the
// first call may.
func (s *Store) begin(c *connection, first *call) error {
	for {
		_, err := c.exec("begin")
		switch {
		case err == nil:
			return nil
		case !isBusy(err) || time.Since(first.since) >= s.busyTimeout || first.state.Load() == callAbandoned:
			return err
		}
		select {
		case <-s.closing:
			return driver.ErrClosed
		default:
		}
	}
}

// run calls a call's work. What panics there fails it alone.
func run(group *tx, c *call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.run(group)
}

// commit commits the transaction.
func (s *Store) commit(c *connection) error {
	_, err := c.exec("commit")
	if err != nil && resultCode(err) == codeIOErr {
		return &driver.StoreError{Op: "commit", Err: err, Retryable: true, OutcomeUnknown: true}
	}
	return err
}

func isBusy(err error) bool {
	code := resultCode(err)
	return code == codeBusy || code == codeLocked
}

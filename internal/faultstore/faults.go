// Package faultstore decorates a store with faults, for tests: calls that fail,
// that hang, that take long, and calls whose effect happens but whose reply is
// lost.
package faultstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/braidmq/braid/driver"
)

// Store is a store with faults. Operations are named as the interfaces of package
// driver name them: "Claim", "AwaitWake". It has the optional powers to push of
// package driver, and passes them on; what the inner store lacks waits for its
// context. Faults may be set and ended at any time, by any goroutine.
type Store struct {
	inner driver.Store

	mu     sync.Mutex
	calls  map[string]int
	faults []*fault
	quiet  chan struct{} // closed and renewed at every call, for AwaitCalls
}

// Before is called before an operation. An error is returned to the caller instead
// of the call.
type Before func(ctx context.Context, op string) error

// After is called after an operation, with its error. What it returns is what the
// caller gets: with an error, the reply is lost, although the call had its effect.
type After func(ctx context.Context, op string, err error) error

type fault struct {
	ops    []string
	before Before
	after  After
}

// ErrInjected is the cause of the errors that Fail and DropReplies make.
var ErrInjected = errors.New("injected fault")

// New returns a store without faults.
func New(inner driver.Store) *Store {
	return &Store{inner: inner, calls: make(map[string]int), quiet: make(chan struct{})}
}

// Plain returns the store without its optional powers.
func (s *Store) Plain() driver.Store { return struct{ driver.Store }{s} }

// Inject adds a fault for these operations, for all without any, until the
// returned function is called. Either hook may be nil.
func (s *Store) Inject(before Before, after After, ops ...string) (end func()) {
	f := &fault{ops: ops, before: before, after: after}
	s.mu.Lock()
	s.faults = append(s.faults, f)
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(other *fault) bool { return other == f })
	}
}

// Fail makes calls fail, before they have an effect.
func (s *Store) Fail(retryable bool, ops ...string) (end func()) {
	return s.Inject(func(_ context.Context, op string) error {
		return &driver.StoreError{Op: op, Err: ErrInjected, Retryable: retryable}
	}, nil, ops...)
}

// DropReplies lets calls have their effect, and loses the next n replies.
func (s *Store) DropReplies(n int, ops ...string) (end func()) {
	var mu sync.Mutex
	return s.Inject(nil, func(_ context.Context, op string, err error) error {
		mu.Lock()
		defer mu.Unlock()
		if err != nil || n == 0 {
			return err
		}
		n--
		return &driver.StoreError{Op: op, Err: ErrInjected, Retryable: true, OutcomeUnknown: true}
	}, ops...)
}

// BlackHole makes calls hang until their context ends, and have no effect. Calls
// that hang when the fault is ended hang on.
func (s *Store) BlackHole(ops ...string) (end func()) {
	return s.Inject(func(ctx context.Context, op string) error {
		<-ctx.Done()
		return &driver.StoreError{Op: op, Err: ctx.Err(), Retryable: true, OutcomeUnknown: true}
	}, nil, ops...)
}

// Block holds calls back before they have an effect, until release is called or
// their context ends. release also ends the fault.
func (s *Store) Block(ops ...string) (release func()) {
	open := make(chan struct{})
	end := s.Inject(func(ctx context.Context, op string) error {
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			return &driver.StoreError{Op: op, Err: ctx.Err(), Retryable: true, OutcomeUnknown: true}
		}
	}, nil, ops...)
	return sync.OnceFunc(func() {
		end()
		close(open)
	})
}

// Delay makes calls take longer.
func (s *Store) Delay(d time.Duration, ops ...string) (end func()) {
	return s.Inject(func(ctx context.Context, op string) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return &driver.StoreError{Op: op, Err: ctx.Err(), Retryable: true}
		}
	}, nil, ops...)
}

// Calls returns how often an operation was called.
func (s *Store) Calls(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// All returns how many calls there were, of all operations.
func (s *Store) All() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, calls := range s.calls {
		n += calls
	}
	return n
}

// AwaitCalls waits until an operation was called n times in all.
func (s *Store) AwaitCalls(ctx context.Context, op string, n int) error {
	for {
		s.mu.Lock()
		reached, changed := s.calls[op] >= n, s.quiet
		s.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// enter counts a call and returns the faults that concern it.
func (s *Store) enter(op string) []*fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[op]++
	close(s.quiet)
	s.quiet = make(chan struct{})
	var mine []*fault
	for _, f := range s.faults {
		if len(f.ops) == 0 || slices.Contains(f.ops, op) {
			mine = append(mine, f)
		}
	}
	return mine
}

// call makes one call through the faults.
func call[T any](ctx context.Context, s *Store, op string, do func() (T, error)) (T, error) {
	var none T
	faults := s.enter(op)
	for _, f := range faults {
		if f.before != nil {
			if err := f.before(ctx, op); err != nil {
				return none, err
			}
		}
	}
	result, err := do()
	for _, f := range faults {
		if f.after == nil {
			continue
		}
		if replaced := f.after(ctx, op, err); replaced != nil {
			result, err = none, replaced
		} else {
			err = nil
		}
	}
	return result, err
}

func callError(ctx context.Context, s *Store, op string, do func() error) error {
	_, err := call(ctx, s, op, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

package flowtest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
)

// point is the call at which a process dies.
type point struct {
	store string // its name; empty: any
	op    string // as package driver names it, or as operationsOf does; empty: any
	nth   int    // of the calls that match; 0 is the first
	after bool   // the call has its effect, and the process does not learn of it
}

func (p point) String() string {
	text := "before "
	if p.after {
		text = "after "
	}
	if p.op == "" {
		return text + "a call"
	}
	return text + strings.TrimSpace(p.op+" "+p.store)
}

// life is whether a process lives. A dead one's calls hang and have no effect, as
// far as anybody else can see; bury lets them return.
type life struct {
	point  *point // nil: it does not die by itself
	kill   func() // ends it for real; nil: it only looks dead
	mu     sync.Mutex
	calls  int // that match the point
	dead   chan struct{}
	buried chan struct{}
}

var errDead = errors.New("the process is dead")

func newLife(p *point) *life {
	return &life{point: p, dead: make(chan struct{}), buried: make(chan struct{})}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (l *life) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if closed(l.dead) {
		return
	}
	close(l.dead)
	if l.kill != nil {
		l.kill()
	}
}

func (l *life) bury() {
	l.die()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !closed(l.buried) {
		close(l.buried)
	}
}

// reach tells the life of a call, and returns an error if it does not come through.
func (l *life) reach(ctx context.Context, store, op string, after bool) error {
	if l.matches(store, op, after) {
		l.die()
	}
	if !closed(l.dead) {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-l.buried:
	}
	return &driver.StoreError{Op: op, Err: errDead, Retryable: true, OutcomeUnknown: true}
}

// waits are the calls that only wait: a death in one is a death between others.
var waits = map[string]bool{"AwaitWake": true, "WatchCancels": true, "WatchFinished": true}

func (l *life) matches(store, op string, after bool) bool {
	p := l.point
	if p == nil || p.after != after || p.store != "" && p.store != store {
		return false
	}
	if p.op != op && (p.op != "" || waits[op] || strings.Contains(op, " ")) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.calls == p.nth+1
}

// mortal is a store as a process that may die has it.
type mortal struct {
	driver.Store
	name string
	life *life
}

// operationsOf tells acks apart: "Ack fan-out", "Ack complete of a child" and so on.
func operationsOf(batch []driver.Ack) map[string]bool {
	ops := make(map[string]bool)
	for _, ack := range batch {
		op := "Ack " + ack.Kind.String()
		if strings.HasPrefix(ack.ID, driver.FlowIDPrefix) {
			op += " of a child"
		}
		ops[op] = true
	}
	return ops
}

// halfEnqueue is an enqueue of which only a part comes through.
const halfEnqueue = "Enqueue of half"

func (m *mortal) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	if closed(m.life.buried) {
		results := make([]driver.AckResult, len(batch))
		for i := range results {
			results[i].Err = driver.ErrLockLost
		}
		return results, nil
	}
	ops := operationsOf(batch)
	for op := range ops {
		if err := m.life.reach(ctx, m.name, op, false); err != nil {
			return nil, err
		}
	}
	results, err := m.Store.Ack(ctx, now, batch)
	for op := range ops {
		if err := m.life.reach(ctx, m.name, op, true); err != nil {
			return nil, err
		}
	}
	return results, err
}

func (m *mortal) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	if closed(m.life.buried) {
		return driver.ClaimResult{}, nil
	}
	return m.Store.Claim(ctx, now, req)
}

func (m *mortal) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	if m.life.matches(m.name, halfEnqueue, false) {
		if _, err := m.Store.Enqueue(ctx, now, batch[:len(batch)/2]); err != nil {
			return nil, err
		}
		m.life.die()
	}
	return m.Store.Enqueue(ctx, now, batch)
}

// pushing is a mortal store that pushes.
type pushing struct {
	*mortal
	driver.Waker
	driver.FinishWatcher
	driver.CancelWatcher
}

// newMortal returns a store for a process, and the faults in between.
func newMortal(inner driver.Store, name string, l *life) (driver.Store, *faultstore.Store) {
	faults := faultstore.New(inner)
	faults.Inject(
		func(ctx context.Context, op string) error { return l.reach(ctx, name, op, false) },
		func(ctx context.Context, op string, err error) error {
			if dead := l.reach(ctx, name, op, true); dead != nil {
				return dead
			}
			return err
		})
	m := &mortal{Store: faults.Plain(), name: name, life: l}
	if _, pushes := inner.(driver.Waker); !pushes {
		return m, faults
	}
	return pushing{mortal: m, Waker: faults, FinishWatcher: faults, CancelWatcher: faults}, faults
}

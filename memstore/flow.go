package memstore

import (
	"context"

	"github.com/tidwall/btree"

	"github.com/braidmq/braid/driver"
)

// flow is the children of one run of a parent: staged, landed, or abandoned.
type flow struct {
	id       string
	manifest driver.Manifest
	landedAt driver.Time
	// settledEarly is the mark of an early settle: rows that are pending read as
	// cancelled and not cascaded.
	settledEarly bool
	owed         int64 // rows that are cancelled and not cascaded

	rows *btree.BTreeG[*child] // by child key
	// Open rows, pending or owed, lie in one of these, as child.place says.
	fresh    *btree.BTreeG[*child] // by child key: no sweep has returned them
	returned *btree.BTreeG[*child] // by armedAt: returned while pending
	asked    *btree.BTreeG[*child] // by turn: returned as owed

	// The flow's places in flowBook.
	in        [4]bool     // indexed by flowOrder
	armedAt   driver.Time // in byArmed: no open row was armed before it
	turn      int64       // in the rotations
	askedTurn int64       // in byAsked
}

// child is a dependency row.
type child struct {
	key      string
	storeKey string
	request  *driver.EnqueueRequest
	status   driver.ChildStatus // but see flow.statusOf
	exit     []byte
	reason   string
	cascaded bool

	place   place
	armedAt driver.Time // in returned: since when its next return is waited for
	turn    int64       // in returned and asked
}

// place is the set of its flow that a row lies in.
type place uint8

const (
	inNone place = iota
	inFresh
	inReturned
	inAsked
)

func newFlow(id string) *flow {
	byKey := func(a, b *child) bool { return a.key < b.key }
	byTurn := func(a, b *child) bool { return a.turn < b.turn }
	return &flow{
		id:    id,
		rows:  newTree(byKey),
		fresh: newTree(byKey),
		asked: newTree(byTurn),
		returned: newTree(func(a, b *child) bool {
			if a.armedAt != b.armedAt {
				return a.armedAt < b.armedAt
			}
			return a.turn < b.turn
		}),
	}
}

// row returns the row of a key, or nil.
func (f *flow) row(key string) *child {
	row, _ := f.rows.Get(&child{key: key})
	return row
}

// statusOf returns what the row reads as.
func (f *flow) statusOf(row *child) driver.ChildStatus {
	if row.status == driver.ChildPending && f.settledEarly {
		return driver.ChildCancelled
	}
	return row.status
}

// owes reports whether the row's child is still to be cancelled.
func (f *flow) owes(row *child) bool {
	return f.statusOf(row) == driver.ChildCancelled && !row.cascaded
}

// public returns the row as callers see it.
func (f *flow) public(row *child, withRequest bool) driver.Child {
	c := driver.Child{
		FlowID: f.id, ChildKey: row.key, Name: row.request.Name, StoreKey: row.storeKey,
		ChildJobID: row.request.ID, Status: f.statusOf(row),
		Exit: row.exit, FailedReason: row.reason, Cascaded: row.cascaded,
	}
	if withRequest {
		c.Request = row.request
	}
	return c
}

// hasUnasked reports whether there is an open row that no sweep has returned as
// owed.
func (f *flow) hasUnasked() bool { return f.fresh.Len()+f.returned.Len() > 0 }

// takeOut takes the row out of its place.
func (f *flow) takeOut(row *child) {
	switch row.place {
	case inFresh:
		f.fresh.Delete(row)
	case inReturned:
		f.returned.Delete(row)
	case inAsked:
		f.asked.Delete(row)
	}
	row.place = inNone
}

// flowOrder is an order of flows that a sweep follows.
type flowOrder int

const (
	byArmed   flowOrder = iota // parked flows, by armedAt
	dueTurns                   // parked flows whose time has come, by turn
	owedTurns                  // flows with rows that hasUnasked means, by turn
	byAsked                    // flows with asked rows, by the least turn of those
)

// flowBook keeps the flows whose children a sweep must look after, and the rows
// that nobody can see any more.
type flowBook struct {
	orders    [4]*btree.BTreeG[*flow] // indexed by flowOrder
	turn      int64                   // the latest turn given
	abandoned []*flow                 // their rows are to be deleted, in this order
}

func newFlowBook() flowBook {
	byTurn := func(a, b *flow) bool { return a.turn < b.turn }
	return flowBook{orders: [4]*btree.BTreeG[*flow]{
		byArmed: newTree(func(a, b *flow) bool {
			if a.armedAt != b.armedAt {
				return a.armedAt < b.armedAt
			}
			return a.turn < b.turn
		}),
		dueTurns:  newTree(byTurn),
		owedTurns: newTree(byTurn),
		byAsked:   newTree(func(a, b *flow) bool { return a.askedTurn < b.askedTurn }),
	}}
}

// nextTurn returns a turn behind all others.
func (b *flowBook) nextTurn() int64 {
	b.turn++
	return b.turn
}

// enter puts the flow into an order, whose key must be set.
func (b *flowBook) enter(f *flow, order flowOrder) {
	b.orders[order].Set(f)
	f.in[order] = true
}

// leave takes the flow out of an order, before its key changes.
func (b *flowBook) leave(f *flow, order flowOrder) {
	if f.in[order] {
		b.orders[order].Delete(f)
		f.in[order] = false
	}
}

// leaveAll takes the flow out of all orders.
func (b *flowBook) leaveAll(f *flow) {
	for order := range flowOrder(len(b.orders)) {
		b.leave(f, order)
	}
}

// first returns the first flow of an order, or nil.
func (b *flowBook) first(order flowOrder) *flow {
	f, _ := b.orders[order].Min()
	return f
}

// abandon makes a flow's rows invisible for good; SweepFlows deletes them.
func (s *Store) abandon(f *flow) {
	s.flows.leaveAll(f)
	if f.rows.Len() > 0 {
		s.flows.abandoned = append(s.flows.abandoned, f)
	}
}

// SweepFlows implements [driver.Sweeper]. Early settles need no work: their rows
// are read through the flow's mark for good.
func (s *Store) SweepFlows(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	return s.sweep(ctx, limit, func() bool { return len(s.flows.abandoned) > 0 }, func() {
		f := s.flows.abandoned[0]
		f.rows.PopMin()
		if f.rows.Len() == 0 {
			s.flows.abandoned[0] = nil
			s.flows.abandoned = s.flows.abandoned[1:]
		}
	})
}

package main

import (
	"strconv"

	"github.com/braidmq/braid/driver"
)

// load is one kind of rows that must not slow anything down.
type load struct {
	name string
	fill func(b *bed, rows int) error
}

var loads = []load{
	{"delayed", func(b *bed, rows int) error {
		return b.fill(work, rows, func(r *driver.EnqueueRequest) { r.Delay = farFuture })
	}},
	{"another name", func(b *bed, rows int) error { return b.fill("foreign", rows, nil) }},
	{finishedLoad, func(b *bed, rows int) error {
		for rows > 0 {
			size := min(rows, fillBatch)
			rows -= size
			if err := b.fill(work, size, nil); err != nil {
				return err
			}
			if err := b.finish(work, size); err != nil {
				return err
			}
		}
		return nil
	}},
	{"flow children", fillFlow},
	{"dedup keys", func(b *bed, rows int) error {
		return b.fill(work, rows, func(r *driver.EnqueueRequest) {
			r.Queue = "keyed"
			r.Delay = farFuture
			r.Dedupe = &driver.Dedupe{Key: r.ID}
			if b.drawn%2 == 0 {
				r.Dedupe.TTL = driver.Some(farFuture)
			}
		})
	}},
}

// finishedLoad is the load of which there may be more than of the others.
const finishedLoad = "finished"

// fillBatch is how many jobs one call of a load enqueues.
const fillBatch = 5000

// fill enqueues so many jobs.
func (b *bed) fill(name string, rows int, change func(*driver.EnqueueRequest)) error {
	for rows > 0 {
		size := min(rows, fillBatch)
		rows -= size
		b.now++
		if _, err := b.enqueue(b.requests(name, size, change)); err != nil {
			return err
		}
	}
	return nil
}

// fillKept brings the kept group to its count, so that each further ack of it deletes.
func (b *bed) fillKept() error {
	if err := b.fill(kept, int(b.keep), b.keptByCount); err != nil {
		return err
	}
	return b.finish(kept, int(b.keep))
}

func (b *bed) keptByCount(r *driver.EnqueueRequest) {
	r.Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some(b.keep)}}
}

// fillFlow parks a parent with so many children, whose jobs wait in a queue of their
// own.
func fillFlow(b *bed, rows int) error {
	ids, err := b.enqueue(b.requests("parent", 1, nil))
	if err != nil {
		return err
	}
	parents, err := b.claim("parent", 1)
	if err != nil {
		return err
	}
	b.openFlow = ids[0]
	for first := 0; first < rows; first += fillBatch {
		children := b.children(ids[0], first, min(fillBatch, rows-first))
		if err := b.store.StageChildren(b.ctx, ids[0], token, children); err != nil {
			return err
		}
		requests := make([]driver.EnqueueRequest, len(children))
		for i, child := range children {
			requests[i] = child.Request
		}
		if _, err := b.enqueue(requests); err != nil {
			return err
		}
	}
	return b.ack(parents, driver.Ack{Kind: driver.AckFanOut, Children: int64(rows)})
}

// children makes the children of a flow, beginning with a number.
func (b *bed) children(flowID string, first, n int) []driver.StagedChild {
	children := make([]driver.StagedChild, n)
	for i := range children {
		key := "child-" + strconv.Itoa(first+i)
		children[i] = driver.StagedChild{ChildKey: key, StoreKey: "default", Request: driver.EnqueueRequest{
			ID: "flow/" + flowID + "/" + key,
			Spec: driver.Spec{
				Name: "child", Queue: "children", Payload: []byte(`{"user":"0123456789"}`), AttemptsMax: 3,
				Parent: &driver.Envelope{FlowName: "parent", FlowID: flowID, Run: token, ChildKey: key,
					ParentStoreKey: "default", Depth: 1},
			},
		}}
	}
	return children
}

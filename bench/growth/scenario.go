package main

import (
	"fmt"

	"github.com/braidmq/braid/driver"
)

// scenario is a sequence of steps that leaves the store about as it was.
type scenario struct {
	name string
	run  func(*bed) error
}

var scenarios = []scenario{
	{"life of a job", func(b *bed) error {
		var jobs []*driver.Job
		return inOrder(
			func() error { return b.stepEnqueue("enqueue", b.requests(work, batch, nil)) },
			func() error { return b.stepClaim("claim", work, &jobs) },
			func() error { return b.stepAck("ack", jobs, complete) },
		)
	}},
	{"life in a group kept at its count", func(b *bed) error {
		var jobs []*driver.Job
		return inOrder(
			func() error { _, err := b.enqueue(b.requests(kept, batch, b.keptByCount)); return err },
			func() error { return b.stepClaim("claim, kept group", kept, &jobs) },
			func() error { return b.stepAck("ack that deletes, kept group", jobs, complete) },
		)
	}},
	{"retry", func(b *bed) (err error) {
		var jobs []*driver.Job
		return inOrder(
			func() error { _, err := b.enqueue(b.requests(work, batch, nil)); return err },
			func() error { jobs, err = b.claim(work, batch); return err },
			func() error {
				return b.stepAck("ack, retry later", jobs, driver.Ack{Kind: driver.AckRetry, Delay: 1, Exit: complete.Exit})
			},
			func() error { b.now += 10; return b.stepClaim("claim of due jobs", work, &jobs) },
			func() error {
				return b.step("heartbeat", batch, func() error {
					locks := make([]driver.Lock, len(jobs))
					for i, job := range jobs {
						locks[i] = driver.Lock{ID: job.ID, Token: token}
					}
					_, err := b.store.Heartbeat(b.ctx, b.now, locks, lock)
					return err
				})
			},
			func() error { return b.ack(jobs, complete) },
		)
	}},
	{"cancel", func(b *bed) error {
		ids, err := b.enqueue(b.requests(work, batch, nil))
		if err != nil {
			return err
		}
		return b.step("cancel", batch, func() error { return refused(b.store.Cancel(b.ctx, b.now, ids)) })
	}},
	{"delayed", func(b *bed) error {
		requests := b.requests(work, batch, func(r *driver.EnqueueRequest) { r.Delay = farFuture })
		ids := idsOf(requests)
		var jobs []*driver.Job
		return inOrder(
			func() error { return b.stepEnqueue("enqueue, delayed", requests) },
			func() error {
				return b.step("promote", batch, func() error { return refused(b.store.Promote(b.ctx, b.now, ids)) })
			},
			func() error { return b.stepClaim("claim of promoted jobs", work, &jobs) },
			func() error { return b.ack(jobs, complete) },
		)
	}},
	{"dedup", func(b *bed) (err error) {
		keyed := func() []driver.EnqueueRequest {
			return b.requests(work, batch, func(r *driver.EnqueueRequest) { r.Dedupe = &driver.Dedupe{Key: r.ID} })
		}
		first, second := keyed(), keyed()
		for i := range second {
			second[i].Dedupe = first[i].Dedupe
		}
		var jobs []*driver.Job
		return inOrder(
			func() error { return b.stepEnqueue("enqueue, dedup key", first) },
			func() error { return b.stepEnqueue("enqueue, duplicate", second) },
			func() error { jobs, err = b.claim(work, batch); return err },
			func() error { return b.stepAck("ack, dedup key", jobs, complete) },
		)
	}},
	{"flow", runFlow},
	{"remove", func(b *bed) error {
		requests := b.requests(work, batch, nil)
		if _, err := b.enqueue(requests); err != nil {
			return err
		}
		return b.step("remove", batch, func() error { _, err := b.store.Remove(b.ctx, b.now, idsOf(requests)); return err })
	}},
	{"history", func(b *bed) error {
		var jobs []*driver.Job
		return inOrder(
			func() error {
				_, err := b.enqueue(b.requests(aged, batch, func(r *driver.EnqueueRequest) {
					r.Keep = &driver.Keep{Completed: driver.Retention{Age: driver.Some(driver.Millis(10))}}
				}))
				return err
			},
			func() (err error) { jobs, err = b.claim(aged, batch); return err },
			func() error { return b.ack(jobs, complete) },
			func() error {
				b.now += 10
				return b.step("sweep of history", batch, func() error {
					result, err := b.store.SweepHistory(b.ctx, b.now, batch)
					if err == nil && result.Deleted != batch {
						err = fmt.Errorf("it deleted %d jobs; want %d", result.Deleted, batch)
					}
					return err
				})
			},
		)
	}},
	{"look", func(b *bed) error {
		for _, look := range looks {
			if err := b.step(look.name, 1, func() error { return look.call(b) }); err != nil {
				return err
			}
		}
		return nil
	}},
}

// looks are reads and sweeps, which change nothing here; one item each.
var looks = []struct {
	name string
	call func(*bed) error
}{
	{"counts of a queue", func(b *bed) error { _, err := b.store.Counts(b.ctx, queue); return err }},
	{"counts of all", func(b *bed) error { _, err := b.store.Counts(b.ctx, ""); return err }},
	{"queues", func(b *bed) error { _, err := b.store.Queues(b.ctx); return err }},
	{"list, newest", list(driver.ListRequest{})},
	{"list, one name", list(driver.ListRequest{Name: work})},
	{"list, one queue", list(driver.ListRequest{Queue: queue})},
	{"list, completed by finishedAt", list(driver.ListRequest{
		States: []driver.State{driver.Completed}, OrderBy: driver.ByFinishedAt})},
	{"list, delayed by runAt", list(driver.ListRequest{
		States: []driver.State{driver.Delayed}, Queue: queue, OrderBy: driver.ByRunAt, Ascending: true})},
	{"sweep of history, idle", func(b *bed) error { _, err := b.store.SweepHistory(b.ctx, b.now, 1000); return err }},
	{"sweep of dedup keys, idle", func(b *bed) error { _, err := b.store.SweepDedupe(b.ctx, b.now, 1000); return err }},
	{"sweep of flows, idle", func(b *bed) error { _, err := b.store.SweepFlows(b.ctx, b.now, 1000); return err }},
	{"work of a flow sweep, idle", func(b *bed) error {
		_, err := b.store.FlowSweepWork(b.ctx, b.now, farFuture, 100)
		return err
	}},
	{"recovery of stalled, idle", func(b *bed) error {
		_, err := b.store.RecoverStalled(b.ctx, b.now, driver.RecoverRequest{MaxStalled: 3, Limit: 100})
		return err
	}},
	{"outbox, empty", func(b *bed) error {
		_, err := b.store.PeekOutbox(b.ctx, b.now, driver.PeekRequest{Limit: 100})
		return err
	}},
	{"due schedules, none", func(b *bed) error {
		_, err := b.store.DueSchedules(b.ctx, b.now, driver.Opt[driver.ScheduleCursor]{}, 100)
		return err
	}},
}

func list(request driver.ListRequest) func(*bed) error {
	return func(b *bed) error { _, err := b.store.List(b.ctx, request); return err }
}

// runFlow takes a flow of batch children through both phases, and another to an early
// settle.
func runFlow(b *bed) (err error) {
	requests := b.requests("parent", 2, nil)
	children := [][]driver.StagedChild{b.children(requests[0].ID, 0, batch), b.children(requests[1].ID, 0, batch)}
	var parents []*driver.Job
	err = inOrder(
		func() error { _, err := b.enqueue(requests); return err },
		func() error { parents, err = b.claim("parent", 2); return err },
		func() error {
			return b.step("stage children", batch, func() error {
				return b.store.StageChildren(b.ctx, requests[0].ID, token, children[0])
			})
		},
		func() error { return b.store.StageChildren(b.ctx, requests[1].ID, token, children[1]) },
		func() error {
			return b.stepAck("ack, fan-out", parents, driver.Ack{Kind: driver.AckFanOut, Children: batch})
		},
		func() error {
			reports := make([]driver.ChildReport, batch)
			for i, child := range children[0] {
				reports[i] = driver.ChildReport{FlowID: requests[0].ID, ChildKey: child.ChildKey, Outcome: driver.ChildCompleted,
					Exit: complete.Exit, ChildJobID: child.Request.ID}
			}
			return b.step("record reports and settle", batch, func() error {
				results, err := b.store.RecordChildResults(b.ctx, b.now, reports)
				if err == nil && !results[batch-1].ParentSettled {
					err = fmt.Errorf("the flow %s did not settle", requests[0].ID)
				}
				return err
			})
		},
		func() error {
			return b.step("settle early", 1, func() error { return refused(b.store.Cancel(b.ctx, b.now, []string{requests[1].ID})) })
		},
		func() error { parents, err = b.claim("parent", 1); return err },
		func() error { return b.ack(parents, complete) },
	)
	if err != nil {
		return err
	}
	refs := make([]driver.ChildRef, batch)
	for i, child := range children[1] {
		refs[i] = driver.ChildRef{FlowID: requests[1].ID, ChildKey: child.ChildKey}
	}
	if err := b.store.MarkChildrenCascaded(b.ctx, b.now, refs); err != nil {
		return err
	}
	_, err = b.store.Remove(b.ctx, b.now, idsOf(requests))
	return err
}

func (b *bed) stepEnqueue(name string, requests []driver.EnqueueRequest) error {
	return b.step(name, len(requests), func() error { _, err := b.enqueue(requests); return err })
}

func (b *bed) stepClaim(name, job string, jobs *[]*driver.Job) error {
	return b.step(name, batch, func() (err error) { *jobs, err = b.claim(job, batch); return err })
}

func (b *bed) stepAck(name string, jobs []*driver.Job, ack driver.Ack) error {
	return b.step(name, len(jobs), func() error { return b.ack(jobs, ack) })
}

// inOrder calls one after the other, up to the first error.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// refused returns the first refusal of a batch.
func refused(results []driver.OperateResult, err error) error {
	if err != nil {
		return err
	}
	for _, result := range results {
		if result.Err != nil {
			return result.Err
		}
	}
	return nil
}

func idsOf(requests []driver.EnqueueRequest) []string {
	ids := make([]string, len(requests))
	for i := range requests {
		ids[i] = requests[i].ID
	}
	return ids
}

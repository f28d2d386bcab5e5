package drivertest

import (
	"context"
	"sync"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// broken is a memory store that breaks a rule: a hook stands in for a method.
type broken struct {
	*memstore.Store

	mu     sync.Mutex
	tokens map[string]string // of the latest claim of each job
	count  map[string]int64  // what a hook remembers of jobs

	enqueue   func(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error)
	claim     func(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error)
	ack       func(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error)
	heartbeat func(ctx context.Context, now driver.Time, locks []driver.Lock, d driver.Millis) (driver.HeartbeatResult, error)
	recover   func(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error)
	awaitWake func(ctx context.Context, queues []string, since driver.WakeCursor) error

	cancel, promote, retry operation
	remove                 func(ctx context.Context, now driver.Time, ids []string) ([]bool, error)

	view     func(j *driver.Job) // edits every record that is read
	list     func(ctx context.Context, req driver.ListRequest) (driver.ListResult, error)
	counts   func(ctx context.Context, queue string) (driver.Counts, error)
	position func(ctx context.Context, id string) (driver.Opt[int], error)

	upsert func(ctx context.Context, s driver.Schedule) (driver.Schedule, error)
	tick   func(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error)

	stage    func(ctx context.Context, flowID, token string, page []driver.StagedChild) error
	record   func(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error)
	flowWork func(ctx context.Context, now driver.Time, age driver.Millis, limit int) (driver.FlowWork, error)
	rows     func(ctx context.Context, flowID, cursor string, limit int) (driver.ChildPage, error)
	peek     func(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error)

	sweepHistory func(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error)

	workers    func(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error)
	stats      func(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error)
	depth      func(ctx context.Context, now driver.Time) error
	sweepStats func(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error)
}

// breaking returns the harness of memory stores with a rule broken.
func breaking(breaks func(b *broken)) Harness {
	h := memory
	h.Open = func(t TB, o StoreOptions) driver.Store {
		b := &broken{Store: memory.Open(t, o).(*memstore.Store), tokens: make(map[string]string), count: make(map[string]int64)}
		breaks(b)
		return b
	}
	return h
}

// tokenOf returns the token of a job's latest claim.
func (b *broken) tokenOf(id string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens[id]
}

// remember adds to a job's number, and forget reads it.
func (b *broken) remember(id string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count[id] += n
}

func (b *broken) remembered(id string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count[id]
}

// real returns a job's true record, or nil.
func (b *broken) real(id string) *driver.Job {
	jobs, err := b.Store.Jobs(context.Background(), []string{id})
	if err != nil || len(jobs) == 0 {
		return nil
	}
	return jobs[0]
}

func (b *broken) Enqueue(ctx context.Context, now driver.Time, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
	if b.enqueue != nil {
		return b.enqueue(ctx, now, batch)
	}
	return b.Store.Enqueue(ctx, now, batch)
}

func (b *broken) Claim(ctx context.Context, now driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	call := b.Store.Claim
	if b.claim != nil {
		call = b.claim
	}
	result, err := call(ctx, now, req)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range result.Jobs {
		b.tokens[j.ID] = req.Token
	}
	return result, err
}

func (b *broken) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	if b.ack != nil {
		return b.ack(ctx, now, batch)
	}
	return b.Store.Ack(ctx, now, batch)
}

func (b *broken) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, d driver.Millis) (driver.HeartbeatResult, error) {
	if b.heartbeat != nil {
		return b.heartbeat(ctx, now, locks, d)
	}
	return b.Store.Heartbeat(ctx, now, locks, d)
}

func (b *broken) RecoverStalled(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
	if b.recover != nil {
		return b.recover(ctx, now, req)
	}
	return b.Store.RecoverStalled(ctx, now, req)
}

func (b *broken) AwaitWake(ctx context.Context, queues []string, since driver.WakeCursor) error {
	if b.awaitWake != nil {
		return b.awaitWake(ctx, queues, since)
	}
	return b.Store.AwaitWake(ctx, queues, since)
}

func (b *broken) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	if b.cancel != nil {
		return b.cancel(ctx, now, ids)
	}
	return b.Store.Cancel(ctx, now, ids)
}

func (b *broken) Promote(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	if b.promote != nil {
		return b.promote(ctx, now, ids)
	}
	return b.Store.Promote(ctx, now, ids)
}

func (b *broken) Retry(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	if b.retry != nil {
		return b.retry(ctx, now, ids)
	}
	return b.Store.Retry(ctx, now, ids)
}

func (b *broken) Remove(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
	if b.remove != nil {
		return b.remove(ctx, now, ids)
	}
	return b.Store.Remove(ctx, now, ids)
}

func (b *broken) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	jobs, err := b.Store.Jobs(ctx, ids)
	return b.viewed(jobs), err
}

func (b *broken) List(ctx context.Context, req driver.ListRequest) (driver.ListResult, error) {
	call := b.Store.List
	if b.list != nil {
		call = b.list
	}
	result, err := call(ctx, req)
	result.Jobs = b.viewed(result.Jobs)
	return result, err
}

// viewed returns the records as the view shows them.
func (b *broken) viewed(jobs []*driver.Job) []*driver.Job {
	if b.view == nil {
		return jobs
	}
	edited := make([]*driver.Job, len(jobs))
	for i, j := range jobs {
		if j != nil {
			c := *j
			b.view(&c)
			edited[i] = &c
		}
	}
	return edited
}

func (b *broken) Counts(ctx context.Context, queue string) (driver.Counts, error) {
	if b.counts != nil {
		return b.counts(ctx, queue)
	}
	return b.Store.Counts(ctx, queue)
}

func (b *broken) Position(ctx context.Context, id string) (driver.Opt[int], error) {
	if b.position != nil {
		return b.position(ctx, id)
	}
	return b.Store.Position(ctx, id)
}

func (b *broken) UpsertSchedule(ctx context.Context, s driver.Schedule) (driver.Schedule, error) {
	if b.upsert != nil {
		return b.upsert(ctx, s)
	}
	return b.Store.UpsertSchedule(ctx, s)
}

func (b *broken) Tick(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
	if b.tick != nil {
		return b.tick(ctx, now, req)
	}
	return b.Store.Tick(ctx, now, req)
}

func (b *broken) StageChildren(ctx context.Context, flowID, token string, page []driver.StagedChild) error {
	if b.stage != nil {
		return b.stage(ctx, flowID, token, page)
	}
	return b.Store.StageChildren(ctx, flowID, token, page)
}

func (b *broken) RecordChildResults(ctx context.Context, now driver.Time, reports []driver.ChildReport) ([]driver.RecordResult, error) {
	if b.record != nil {
		return b.record(ctx, now, reports)
	}
	return b.Store.RecordChildResults(ctx, now, reports)
}

func (b *broken) FlowSweepWork(ctx context.Context, now driver.Time, age driver.Millis, limit int) (driver.FlowWork, error) {
	if b.flowWork != nil {
		return b.flowWork(ctx, now, age, limit)
	}
	return b.Store.FlowSweepWork(ctx, now, age, limit)
}

func (b *broken) ListChildResults(ctx context.Context, flowID, cursor string, limit int) (driver.ChildPage, error) {
	if b.rows != nil {
		return b.rows(ctx, flowID, cursor, limit)
	}
	return b.Store.ListChildResults(ctx, flowID, cursor, limit)
}

func (b *broken) PeekOutbox(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	if b.peek != nil {
		return b.peek(ctx, now, req)
	}
	return b.Store.PeekOutbox(ctx, now, req)
}

func (b *broken) SweepHistory(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	if b.sweepHistory != nil {
		return b.sweepHistory(ctx, now, limit)
	}
	return b.Store.SweepHistory(ctx, now, limit)
}

func (b *broken) Workers(ctx context.Context, now driver.Time, after string, limit int) (driver.WorkerPage, error) {
	if b.workers != nil {
		return b.workers(ctx, now, after, limit)
	}
	return b.Store.Workers(ctx, now, after, limit)
}

func (b *broken) Stats(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
	if b.stats != nil {
		return b.stats(ctx, req)
	}
	return b.Store.Stats(ctx, req)
}

func (b *broken) SweepStats(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	if b.sweepStats != nil {
		return b.sweepStats(ctx, now, limit)
	}
	return b.Store.SweepStats(ctx, now, limit)
}

func (b *broken) SampleDepth(ctx context.Context, now driver.Time) error {
	if b.depth != nil {
		return b.depth(ctx, now)
	}
	return b.Store.SampleDepth(ctx, now)
}

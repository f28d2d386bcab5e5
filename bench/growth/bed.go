package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
)

const (
	beginning = driver.Time(1_000_000) // of the made-up time
	batch     = 50                     // items of one measured call

	queue     = "busy" // where everything happens
	work      = "work" // the name of the jobs that are measured
	kept      = "kept" // the name of the group that is kept at its count
	aged      = "aged" // the name of jobs that history lets go
	token     = "token"
	lock      = driver.Millis(1 << 40) // longer than the measurement
	farFuture = driver.Millis(1 << 40) // a delay beyond the measurement
)

// bed is a store on which operations are measured.
type bed struct {
	ctx      context.Context
	store    driver.Store
	meter    meter
	keep     int64  // how many jobs the kept group holds
	openFlow string // the parent that waits for its children
	now      driver.Time
	drawn    int
	column   column
}

// step measures one call and notes its cost under a name.
func (b *bed) step(name string, items int, call func() error) error {
	b.now++
	if err := b.meter.start(); err != nil {
		return err
	}
	err := call()
	took, meterErr := b.meter.stop()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.column.add(name, items, took)
	return meterErr
}

// id draws an id that no other job has.
func (b *bed) id(kind string) string {
	b.drawn++
	return kind + "-" + strconv.Itoa(b.drawn)
}

// requests makes jobs of a name.
func (b *bed) requests(name string, n int, change func(*driver.EnqueueRequest)) []driver.EnqueueRequest {
	requests := make([]driver.EnqueueRequest, n)
	for i := range requests {
		requests[i] = driver.EnqueueRequest{ID: b.id(name), Spec: driver.Spec{
			Name: name, Queue: queue, Payload: []byte(`{"user":"0123456789","action":"none"}`), AttemptsMax: 3,
		}}
		if change != nil {
			change(&requests[i])
		}
	}
	return requests
}

// enqueue enqueues and returns the ids.
func (b *bed) enqueue(requests []driver.EnqueueRequest) ([]string, error) {
	results, err := b.store.Enqueue(b.ctx, b.now, requests)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(results))
	for i, result := range results {
		ids[i] = result.ID
	}
	return ids, nil
}

// claim claims n jobs of a name, all of which must be there.
func (b *bed) claim(name string, n int) ([]*driver.Job, error) {
	result, err := b.store.Claim(b.ctx, b.now, driver.ClaimRequest{
		Queue: queue, Names: []string{name}, Worker: "bench", Token: token, Limit: n, LockDuration: lock,
	})
	if err == nil && len(result.Jobs) != n {
		err = fmt.Errorf("claimed %d jobs of %q; want %d", len(result.Jobs), name, n)
	}
	return result.Jobs, err
}

// ack acks jobs, each of which must be held.
func (b *bed) ack(jobs []*driver.Job, ack driver.Ack) error {
	acks := make([]driver.Ack, len(jobs))
	for i, job := range jobs {
		acks[i] = ack
		acks[i].ID, acks[i].Token = job.ID, token
	}
	results, err := b.store.Ack(b.ctx, b.now, acks)
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

// finish takes so many waiting jobs of a name to their end, in batches.
func (b *bed) finish(name string, n int) error {
	for n > 0 {
		size := min(n, driver.ChunkJobs)
		n -= size
		jobs, err := b.claim(name, size)
		if err == nil {
			err = b.ack(jobs, complete)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var complete = driver.Ack{Kind: driver.AckComplete, Exit: []byte(`{"ok":true}`)}

// column is what was measured in one setting.
type column struct {
	setting string
	rows    []measured
	worst   string // the slowest call
}

// measured is the cost of one operation.
type measured struct {
	name string
	took []time.Duration // per item of each call
}

func (c *column) add(name string, items int, took time.Duration) {
	at := slices.IndexFunc(c.rows, func(m measured) bool { return m.name == name })
	if at < 0 {
		at = len(c.rows)
		c.rows = append(c.rows, measured{name: name})
	}
	c.rows[at].took = append(c.rows[at].took, took/time.Duration(items))
}

// perItem returns the microseconds per item of the median call, which what else the
// machine does disturbs least.
func (m measured) perItem() float64 {
	slices.Sort(m.took)
	return float64(m.took[len(m.took)/2].Nanoseconds()) / 1000
}

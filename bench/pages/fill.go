package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
)

// load is what to look for in a store that was filled.
type load struct {
	byState map[driver.State]string // a job in each state
	flow    string                  // the largest one, with children that have ended and such as have not
	key     string                  // of a schedule
	at      driver.Time             // when the fill ended
}

// kind is a kind of job; of those of one queue that are worked, all are.
type kind struct {
	name, queue string
	share       int // of a hundred
	worked      bool
}

var kinds = []kind{
	{"send-receipt", "email", 30, true}, {"send-reminder", "email", 10, true}, {"resize-image", "thumbnails", 15, true},
	{"deliver-webhook", "webhooks", 15, true}, {"charge-card", "billing", 5, true},
	{"import-catalog", "imports", 15, false}, {"export-report", "reports", 10, true},
}

const (
	enqueueBatch = 1000
	workBatch    = driver.ChunkJobs
	lock         = driver.Millis(30_000)           // of what is worked on
	longLock     = driver.Millis(24 * 3600 * 1000) // of what stays active
	running      = 300                             // jobs that stay active
	largeFlow    = 10_000                          // children
	smallFlows   = 50                              // of a hundred children each
	scheduled    = 500
	workers      = 200
)

// filler fills a store with a day that ends now.
type filler struct {
	ctx    context.Context
	store  driver.Store
	rand   *rand.Rand
	now    driver.Time
	drawn  int
	tokens int
	load   load
}

// fill fills an empty store with a day's jobs, all that finished among them.
func fill(ctx context.Context, store driver.Store, jobs int, now time.Time) (load, error) {
	end := driver.TimeOf(now)
	f := &filler{ctx: ctx, store: store, rand: rand.New(rand.NewPCG(1, 2)), load: load{byState: make(map[driver.State]string), at: end}}
	batches := max(1, jobs/enqueueBatch)
	step := driver.Time(24*3600*1000) / driver.Time(batches)
	for i := range batches {
		f.now = end - step*driver.Time(batches-i)
		if err := f.batch(min(enqueueBatch, jobs)); err != nil {
			return f.load, err
		}
		if i%(batches/10+1) == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d batches\n", i, batches)
		}
	}
	f.now = end
	for _, part := range []func() error{f.leaveRunning, f.flows, f.schedules, f.workers} {
		if err := part(); err != nil {
			return f.load, err
		}
	}
	return f.load, nil
}

// batch enqueues some jobs, and works on those that are worked. As a worker does, it looks
// for lost ones, which in some databases is what clears away what acks have left behind.
func (f *filler) batch(n int) error {
	if _, err := f.store.RecoverStalled(f.ctx, f.now, driver.RecoverRequest{MaxStalled: 3, Limit: workBatch}); err != nil {
		return err
	}
	if err := f.store.SampleDepth(f.ctx, f.now); err != nil {
		return err
	}
	requests := make([]driver.EnqueueRequest, n)
	for i := range requests {
		requests[i] = f.request()
	}
	results, err := f.store.Enqueue(f.ctx, f.now, requests)
	if err != nil {
		return err
	}
	var cancel []string
	for i, r := range results {
		switch {
		case requests[i].Delay == 0 && !workedByName[requests[i].Name]:
			f.load.byState[driver.Waiting] = r.ID
		case requests[i].Delay > 0 && f.rand.IntN(3) == 0:
			cancel = append(cancel, r.ID)
		case requests[i].Delay > 0:
			f.load.byState[driver.Delayed] = r.ID
		}
	}
	if len(cancel) > 0 {
		if _, err := f.store.Cancel(f.ctx, f.now, cancel); err != nil {
			return err
		}
		f.load.byState[driver.Cancelled] = cancel[0]
	}
	for _, queue := range []string{"email", "thumbnails", "webhooks", "billing", "reports"} {
		if err := f.work(queue); err != nil {
			return err
		}
	}
	return nil
}

var workedByName = func() map[string]bool {
	worked := make(map[string]bool)
	for _, k := range kinds {
		worked[k.name] = k.worked
	}
	return worked
}()

func (f *filler) request() driver.EnqueueRequest {
	drawn := f.rand.IntN(100)
	k := kinds[0]
	for _, k = range kinds {
		if drawn -= k.share; drawn < 0 {
			break
		}
	}
	f.drawn++
	r := driver.EnqueueRequest{Spec: driver.Spec{
		Name: k.name, Queue: k.queue, AttemptsMax: 3,
		Payload:  fmt.Appendf(nil, `{"user":%d,"order":"o-%08d","lines":[{"sku":"mug","count":%d}]}`, f.rand.IntN(100_000), f.drawn, 1+f.rand.IntN(5)),
		Metadata: map[string]string{"tenant": "t-" + strconv.Itoa(f.rand.IntN(100)), "region": []string{"north", "south"}[f.rand.IntN(2)]},
	}}
	if f.drawn%10 == 0 {
		r.Priority = int32(f.rand.IntN(5))
	}
	if f.drawn%50_000 == 0 {
		r.Metadata["campaign"] = "rare"
	}
	if f.rand.IntN(100) < 12 {
		r.Delay = driver.Millis(24*3600*1000 + f.rand.IntN(7*24*3600*1000))
	}
	return r
}

// names are the jobs of a queue.
func names(queue string) (found []string) {
	for _, k := range kinds {
		if k.queue == queue {
			found = append(found, k.name)
		}
	}
	return found
}

// claim claims jobs of a queue.
func (f *filler) claim(queue string, names []string, limit int, lock driver.Millis) ([]*driver.Job, string, error) {
	f.tokens++
	token := "token-" + strconv.Itoa(f.tokens)
	result, err := f.store.Claim(f.ctx, f.now, driver.ClaimRequest{
		Queue: queue, Names: names, Worker: "host-" + strconv.Itoa(f.rand.IntN(workers)), Token: token, Limit: limit, LockDuration: lock,
	})
	return result.Jobs, token, err
}

// work takes what waits in a queue to its end.
func (f *filler) work(queue string) error {
	for {
		jobs, token, err := f.claim(queue, names(queue), workBatch, lock)
		if err != nil || len(jobs) == 0 {
			return err
		}
		acks := make([]driver.Ack, len(jobs))
		for i, job := range jobs {
			acks[i] = driver.Ack{ID: job.ID, Token: token, Kind: driver.AckComplete, Exit: []byte(`{"ok":true}`)}
			state := driver.Completed
			switch drawn := f.rand.IntN(100); {
			case drawn < 6:
				acks[i].Kind, acks[i].Exit, state = driver.AckFail, []byte(`{"message":"smtp: 421 4.7.0 try again later","type":"*smtp.Error"}`), driver.Failed
			case drawn < 9:
				acks[i].Kind, acks[i].Exit, acks[i].Delay, state = driver.AckRetry, []byte(`{"message":"connection reset by peer"}`), 60_000, driver.Delayed
			}
			if state != driver.Delayed {
				f.load.byState[state] = job.ID
			}
		}
		if err := f.ack(f.now+driver.Time(20+f.rand.IntN(2000)), acks); err != nil {
			return err
		}
	}
}

func (f *filler) ack(at driver.Time, acks []driver.Ack) error {
	results, err := f.store.Ack(f.ctx, at, acks)
	for _, r := range results {
		err = errors.Join(err, r.Err)
	}
	return err
}

// leaveRunning lets some jobs run on.
func (f *filler) leaveRunning() error {
	for left := running; left > 0; {
		jobs, _, err := f.claim("imports", names("imports"), min(left, 20), longLock)
		if err != nil || len(jobs) == 0 {
			return err
		}
		f.load.byState[driver.Active] = jobs[0].ID
		left -= len(jobs)
	}
	return nil
}

// schedules adds schedules, none of which is due soon.
func (f *filler) schedules() error {
	for i := range scheduled {
		k := kinds[i%len(kinds)]
		f.load.key = "nightly-" + strconv.Itoa(i)
		s := driver.Schedule{Key: f.load.key, JobName: k.name, Queue: k.queue, Cron: "30 2 * * *", TZ: "Europe/Berlin", AttemptsMax: 3,
			Payload: []byte(`{"user":1}`), Group: "group-" + strconv.Itoa(i%10), NextRunAt: f.now + driver.Time(12*3600*1000+i)}
		if _, err := f.store.UpsertSchedule(f.ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// workers adds workers that are alive.
func (f *filler) workers() error {
	for i := range workers {
		record := driver.WorkerRecord{ID: "host-" + strconv.Itoa(i), Host: "host-" + strconv.Itoa(i), Version: "v1.2.3", PID: 100 + i,
			Since: f.now - 3_600_000, ExpiresAt: f.now + 24*3600*1000}
		for _, k := range kinds {
			if k.worked {
				record.Names = append(record.Names, k.name)
			}
		}
		for _, queue := range []string{"billing", "email", "reports", "thumbnails", "webhooks"} {
			record.Queues = append(record.Queues, driver.WorkerQueue{Name: queue, Slots: 20, InFlight: i % 20})
		}
		if err := f.store.BeatWorker(f.ctx, f.now, record); err != nil {
			return err
		}
	}
	return nil
}

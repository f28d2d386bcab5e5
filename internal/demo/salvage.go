package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// task is one file and its job.
type task struct {
	path   string // relative to the folder
	id     string // of the job
	result braid.ChildResult[facts]
}

// salvageTime bounds how long an interrupted demo clears up.
const salvageTime = 10 * time.Second

// salvage reports what an interrupted demo has, now that its worker has stopped, and
// removes the jobs that have not finished. It returns how many those are.
func (d *Demo) salvage(ctx context.Context) (report *Report, left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, salvageTime)
	defer cancel()
	// A cancelled parent starts no more children, whoever works on the store.
	err = retry(ctx, func() error { return d.client.Cancel(ctx, d.queue) })
	if errors.Is(err, braid.ErrNotFound) {
		return d.tally.report(), 0, nil // the interrupt came before the enqueue
	}
	if err != nil && !errors.Is(err, braid.ErrNotCancellable) {
		return nil, 0, err
	}
	var tasks []task
	for child, err := range d.client.AllChildren(ctx, d.queue) {
		if err != nil {
			return nil, 0, err
		}
		tasks = append(tasks, task{path: d.pathOf(child.Key), id: child.JobID})
	}
	d.tally.forgetFiles()
	var unfinished []string
	err = d.look(ctx, tasks, func(t task, job *braid.JobInfo) {
		switch {
		case job == nil: // it was not started
		case job.State == braid.Cancelled || !d.settle(t, job):
			unfinished = append(unfinished, t.id)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	d.remove(ctx, unfinished)
	_, _ = d.client.Remove(ctx, d.queue)
	return d.tally.report(), len(unfinished), nil
}

// remove removes jobs. What cannot be removed stays in a queue that nobody works on.
func (d *Demo) remove(ctx context.Context, ids []string) {
	const atOnce = 16
	next := make(chan string)
	var removers sync.WaitGroup
	for range min(atOnce, len(ids)) {
		removers.Go(func() {
			for id := range next {
				_, _ = d.children().Remove(ctx, id)
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	removers.Wait()
}

// children is the client on the store of the files' jobs.
func (d *Demo) children() *braid.Client {
	if d.options.ChildStore != nil {
		return d.client.On(childStore)
	}
	return d.client
}

// look calls see with the job of each task, nil if there is none.
func (d *Demo) look(ctx context.Context, tasks []task, see func(task, *braid.JobInfo)) error {
	for len(tasks) > 0 {
		page := tasks[:min(len(tasks), driver.ChunkJobs)]
		tasks = tasks[len(page):]
		ids := make([]string, len(page))
		for i, t := range page {
			ids[i] = t.id
		}
		var jobs []*braid.JobInfo
		err := retry(ctx, func() (err error) {
			jobs, err = d.children().GetMany(ctx, ids...)
			return err
		})
		if err != nil {
			return fmt.Errorf("braid: read jobs: %w", err)
		}
		for i, job := range jobs {
			see(page[i], job)
		}
	}
	return nil
}

// settle adds one job to the tally and reports whether it had finished.
func (d *Demo) settle(t task, job *braid.JobInfo) bool {
	switch job.State {
	case braid.Completed:
		var found facts
		if err := json.Unmarshal(job.Exit, &found); err != nil {
			d.tally.fail(t.path, "the result cannot be read: "+err.Error(), job.AttemptsMade)
		} else {
			d.tally.add(t.path, found)
		}
	case braid.Failed:
		d.tally.fail(t.path, job.Err().Message, job.AttemptsMade)
	case braid.Cancelled:
		d.tally.fail(t.path, "the job was cancelled", job.AttemptsMade)
	default:
		return false
	}
	return true
}

// messageOf is what the report says of a child whose job is gone.
func messageOf(err error) string {
	var failed *braid.JobError
	if errors.As(err, &failed) {
		return failed.Message
	}
	return "the job was cancelled or removed"
}

// retry repeats a call while the store says that trying again can help.
func retry(ctx context.Context, call func() error) error {
	const (
		pause = 200 * time.Millisecond
		times = 50
	)
	for try := 1; ; try++ {
		err := call()
		var storeError *braid.StoreError
		if !errors.As(err, &storeError) || !storeError.Retryable || try == times {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/braidmq/braid"
)

const (
	// longestWait is how long the collector waits for one job before it goes on to
	// others and comes back later.
	longestWait = 250 * time.Millisecond
	// takeBackTime bounds how long an interrupted demo clears up.
	takeBackTime    = 10 * time.Second
	takeBackWorkers = 16
)

// collect reads the results of the batches' jobs into the tally until the channel is
// closed and every job has finished. When ctx ends it returns the tasks of the batches
// it has taken that had not finished.
func (d *Demo) collect(ctx context.Context, batches <-chan []task) (left []task, err error) {
	var late []task // of earlier batches
	lookedAt := time.Now()
	for batches != nil || len(late) > 0 {
		var batch []task
		if batches != nil {
			var more bool
			select {
			case batch, more = <-batches:
				if !more {
					batches = nil
				}
			case <-ctx.Done():
				return late, nil
			}
			batch = gather(batch, batches)
		}
		if batches == nil || time.Since(lookedAt) > longestWait {
			batch = append(batch, late...)
			late = nil
			lookedAt = time.Now()
		}
		if len(batch) == 0 {
			continue
		}
		// Jobs start in the order in which they were enqueued, so when the last one has
		// finished most others have.
		d.await(ctx, batch[len(batch)-1].id)
		batch, err = d.look(ctx, batch)
		late = append(late, batch...)
		if err != nil || ctx.Err() != nil {
			return late, err
		}
	}
	return nil, nil
}

// gather adds the batches that are there already, so that one read serves them all.
func gather(batch []task, batches <-chan []task) []task {
	for len(batch) < batchFiles {
		select {
		case next, more := <-batches:
			if !more {
				return batch
			}
			batch = append(batch, next...)
		default:
			return batch
		}
	}
	return batch
}

// await waits until a job has finished, or for a moment.
func (d *Demo) await(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	// How it ended is read together with the others; an error of the store shows there.
	_, _ = inspectFile.ByID(d.client, id).Wait(ctx)
}

// look adds the results of finished jobs to the tally and returns the other tasks.
func (d *Demo) look(ctx context.Context, tasks []task) (unfinished []task, err error) {
	for len(tasks) > 0 {
		page := tasks[:min(len(tasks), batchFiles)]
		ids := make([]string, len(page))
		for i, t := range page {
			ids[i] = t.id
		}
		var jobs []*braid.JobInfo
		err := retry(ctx, func() (err error) {
			jobs, err = d.client.GetMany(ctx, ids...)
			return err
		})
		if err != nil {
			return append(unfinished, tasks...), fmt.Errorf("braid: read results: %w", err)
		}
		tasks = tasks[len(page):]
		for i, job := range jobs {
			if !d.settle(page[i], job) {
				unfinished = append(unfinished, page[i])
			}
		}
	}
	return unfinished, nil
}

// settle adds one job to the tally and reports whether it had finished.
func (d *Demo) settle(t task, job *braid.JobInfo) bool {
	switch {
	case job == nil:
		d.fail(t.path, "the job was removed from the store", 0)
	case job.State == braid.Completed:
		var found facts
		if err := json.Unmarshal(job.Exit, &found); err != nil {
			d.fail(t.path, "the result cannot be read: "+err.Error(), job.AttemptsMade)
			break
		}
		d.tally.add(t.path, found)
		d.bytes.Add(found.Bytes)
	case job.State == braid.Failed:
		d.fail(t.path, job.Err().Message, job.AttemptsMade)
	case job.State == braid.Cancelled:
		d.fail(t.path, "the job was cancelled", job.AttemptsMade)
	default:
		return false
	}
	d.done.Add(1)
	return true
}

func (d *Demo) fail(path, message string, attempts int) {
	d.tally.fail(path, message, attempts)
	d.failed.Add(1)
}

// takeBack looks at the tasks once more, now that no worker runs, and removes the jobs
// that have not finished. It returns their tasks.
func (d *Demo) takeBack(ctx context.Context, tasks []task) (unfinished []task) {
	ctx, cancel := context.WithTimeout(ctx, takeBackTime)
	defer cancel()
	unfinished, err := d.look(ctx, d.stored(ctx, tasks))
	if err != nil {
		return unfinished
	}
	next := make(chan string)
	var workers sync.WaitGroup
	for range min(takeBackWorkers, len(unfinished)) {
		workers.Go(func() {
			for id := range next {
				// What cannot be removed stays in a queue that nobody works on.
				_, _ = d.client.Remove(ctx, id)
			}
		})
	}
	for _, t := range unfinished {
		next <- t.id
	}
	close(next)
	workers.Wait()
	return unfinished
}

// stored leaves out the tasks whose job never reached the store.
func (d *Demo) stored(ctx context.Context, tasks []task) []task {
	var there []task
	for len(tasks) > 0 {
		page := tasks[:min(len(tasks), batchFiles)]
		tasks = tasks[len(page):]
		ids := make([]string, len(page))
		for i, t := range page {
			ids[i] = t.id
		}
		jobs, err := d.client.GetMany(ctx, ids...)
		if err != nil {
			return append(there, page...)
		}
		for i, job := range jobs {
			if job != nil {
				there = append(there, page[i])
			}
		}
	}
	return there
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

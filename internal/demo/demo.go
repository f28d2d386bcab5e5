// Package demo is a program on Braid that looks at every file of a folder, one job per
// file, and reports what the jobs' results say.
//
// A walk finds the files and hands them on as it goes; an enqueuer stores them in
// batches of whatever was found while the last batch was under way; a worker runs the
// jobs; a collector reads their results from the store. The queue and the ids carry a
// random run, so that demos that share a store do not mix.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// Options says what to look at, and with what.
type Options struct {
	Folder      string       // below which the files are
	Store       driver.Store // where the jobs go; the caller closes it
	Concurrency int          // how many files are looked at at once; at least 1
	Logger      *slog.Logger // of the client and the worker
}

// Progress is how far a demo is.
type Progress struct {
	Found  int64 // files found so far
	Walked bool  // whether that is all of them
	Done   int64 // files whose job has finished, well or not
	Failed int64
	Bytes  int64 // of the files that were read
}

// Demo is one run of the demo.
type Demo struct {
	options Options
	root    string // the folder, absolute
	queue   string
	client  *braid.Client
	tally   tally

	found  atomic.Int64
	walked atomic.Bool
	done   atomic.Int64
	failed atomic.Int64
	bytes  atomic.Int64

	// inspect runs the jobs; tests make it fail.
	inspect func(context.Context, file) (facts, error)
}

// task is one file and its job.
type task struct {
	path string // relative to the folder
	id   string // of the job
}

const (
	batchFiles = driver.ChunkJobs // the most files of one enqueue
	// batchesAhead bounds how far the walk runs ahead of the results, and so what a
	// tree of millions of files holds in memory.
	batchesAhead = 64
)

// New returns a demo that is ready to run, or an error if the folder is none.
func New(options Options) (*Demo, error) {
	root, err := filepath.Abs(options.Folder)
	if err != nil {
		return nil, fmt.Errorf("braid: folder %q: %w", options.Folder, err)
	}
	// A trailing slash would do as well; what is refused here would be an empty walk.
	root, err = filepath.EvalSymlinks(root)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(root); err == nil && !info.IsDir() {
			err = errors.New("is not a folder; name one that holds the files")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("braid: folder %q: %s", options.Folder, reasonOf(err))
	}
	d := &Demo{
		options: options, root: root, queue: "demo/" + rand.Text(), inspect: inspect,
		client: braid.NewClient(options.Store, braid.WithLogger(options.Logger)),
	}
	d.tally.init()
	return d, nil
}

// Progress tells how far the demo is. It may be called at any time.
func (d *Demo) Progress() Progress {
	// Walked is read first: once it is true, Found does not grow.
	p := Progress{Walked: d.walked.Load()}
	p.Found, p.Done, p.Failed, p.Bytes = d.found.Load(), d.done.Load(), d.failed.Load(), d.bytes.Load()
	return p
}

// Run looks at every file and returns the report. It is called once. When ctx ends it
// takes up no more files, lets the running jobs finish, takes the others back, and
// reports what there is, marked as partial.
func (d *Demo) Run(ctx context.Context) (*Report, error) {
	start := time.Now()
	defer d.client.Close()
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	worker := braid.NewWorker(d.client, braid.WorkerOptions{
		Queues: map[string]int{d.queue: d.options.Concurrency}, Logger: d.options.Logger,
	})
	inspectFile.Handle(worker, d.inspect)
	workerEnded := make(chan struct{})
	workerCtx, stopWorker := context.WithCancel(work)
	defer stopWorker()
	go func() {
		defer close(workerEnded)
		if err := worker.Run(workerCtx); err != nil {
			stop(fmt.Errorf("braid: worker: %w", err))
		}
	}()

	paths := make(chan string, batchFiles)
	batches := make(chan []task, batchesAhead)
	var producers sync.WaitGroup
	producers.Go(func() { d.find(work, paths) })
	producers.Go(func() {
		if err := d.enqueue(work, paths, batches); err != nil {
			stop(err)
		}
	})
	left, err := d.collect(work, batches)
	if err != nil {
		stop(err) // after an interrupt, which causes errors, it changes nothing
	}
	for batch := range batches { // enqueued, but not collected because of a stop
		left = append(left, batch...)
	}
	producers.Wait()
	stopWorker()
	<-workerEnded
	if len(left) > 0 {
		left = d.takeBack(context.WithoutCancel(ctx), left)
	}

	if err := context.Cause(work); err != nil && ctx.Err() == nil {
		return nil, err
	}
	report := d.tally.report()
	report.Folder, report.Store = filename(d.options.Folder), d.options.Store.Info().Kind
	report.Concurrency = d.options.Concurrency
	report.Partial = ctx.Err() != nil
	report.Unfinished = int64(len(left))
	report.Seconds = time.Since(start).Seconds()
	report.JobsPerSecond = float64(report.Files) / report.Seconds
	return report, nil
}

// find sends the path of every file, and closes the channel.
func (d *Demo) find(ctx context.Context, paths chan<- string) {
	defer close(paths)
	walk(ctx, d.root, func(path string) bool {
		select {
		case paths <- path:
			d.found.Add(1)
			return true
		case <-ctx.Done():
			return false
		}
	}, d.tally.skip)
	d.walked.Store(ctx.Err() == nil)
}

// enqueue stores a job for every path, in batches of what there is, and sends on what
// it stored.
func (d *Demo) enqueue(ctx context.Context, paths <-chan string, batches chan<- []task) error {
	defer close(batches)
	number := 0
	for path := range paths {
		batch := []task{{path: path}}
	gather:
		for len(batch) < batchFiles {
			select {
			case path, more := <-paths:
				if !more {
					break gather
				}
				batch = append(batch, task{path: path})
			default:
				break gather
			}
		}
		requests := make([]braid.Request, len(batch))
		for i := range batch {
			number++
			batch[i].id = d.queue + "/" + strconv.Itoa(number)
			payload := file{Path: filename(filepath.Join(d.root, batch[i].path))}
			requests[i] = inspectFile.Request(payload, braid.ID(batch[i].id), braid.Queue(d.queue))
		}
		if ctx.Err() != nil {
			return nil
		}
		// The ids make a repeated batch harmless.
		err := retry(ctx, func() error {
			_, err := d.client.EnqueueMany(ctx, requests...)
			return err
		})
		// Sent also after an error: part of the batch may have been stored. The
		// collector ends no earlier than this channel.
		batches <- batch
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	return nil
}

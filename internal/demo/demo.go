// Package demo is a program on Braid that looks at every file of a folder, one job per
// file, and reports what the jobs' results say.
//
// It is a flow: the parent lists the files, each file is a child, and collect makes the
// report. The queue and the ids carry a random run, so that demos that share a store do
// not mix.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// QueuePrefix begins the names of the demos' queues; a random run follows.
const QueuePrefix = "demo/"

// runLength is how long that is: 40 bits, and lists of jobs stay narrow.
const runLength = 8

// Options says what to look at, and with what. The caller closes the stores.
type Options struct {
	Folder      string       // below which the files are
	Store       driver.Store // where the flow's parent goes
	ChildStore  driver.Store // where the files' jobs go; nil: Store
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
	files   *braid.Job[file, facts]
	folder  *braid.Flow[filename, *Report]
	tally   *tally

	// paths are the files by the number that is in their child's key. The parent's two
	// phases run in this process, so they need not be read back from the store.
	paths       []string
	interrupted context.Context // ends the walk; set by Run

	found  atomic.Int64
	walked atomic.Bool
	done   atomic.Int64
	failed atomic.Int64
	bytes  atomic.Int64

	// inspect runs the jobs; tests make it fail.
	inspect func(context.Context, file) (facts, error)
}

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
	d := &Demo{options: options, root: root, queue: QueuePrefix + strings.ToLower(rand.Text()[:runLength]), inspect: inspect, tally: newTally()}
	clientOptions := []braid.ClientOption{braid.WithLogger(options.Logger), braid.WithMaxPayload(largestReport)}
	var there []braid.JobOption
	if options.ChildStore != nil {
		clientOptions = append(clientOptions, braid.WithStore(childStore, options.ChildStore))
		there = append(there, braid.OnStore(childStore))
	}
	d.client = braid.NewClient(options.Store, clientOptions...)
	d.define(there...)
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
	d.interrupted = work

	worker := braid.NewWorker(d.client, braid.WorkerOptions{
		Queues: map[string]int{d.queue: d.options.Concurrency}, Logger: d.options.Logger,
	})
	d.handle(worker)
	workerEnded := make(chan struct{})
	workerCtx, stopWorker := context.WithCancel(work)
	defer stopWorker()
	go func() {
		defer close(workerEnded)
		if err := worker.Run(workerCtx); err != nil {
			stop(fmt.Errorf("braid: worker: %w", err))
		}
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.watch(workerCtx)
	}()

	report, err := d.folder.Do(work, d.client, filename(d.root), braid.ID(d.queue), braid.Queue(d.queue))
	stopWorker()
	<-workerEnded
	<-watched
	var left int
	if err != nil {
		if ctx.Err() == nil {
			if cause := context.Cause(work); cause != nil {
				err = cause
			}
			return nil, err
		}
		if report, left, err = d.salvage(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		}
		report.Partial = true
	}
	d.done.Store(report.Files)
	d.failed.Store(report.Failed)
	d.bytes.Store(report.Bytes)
	report.Folder, report.Store = filename(d.options.Folder), d.options.Store.Info().Kind
	if d.options.ChildStore != nil {
		report.ChildStore = d.options.ChildStore.Info().Kind
	}
	report.Concurrency = d.options.Concurrency
	report.Unfinished = int64(left)
	report.Seconds = time.Since(start).Seconds()
	report.JobsPerSecond = float64(report.Files) / report.Seconds
	return report, nil
}

// watch takes the flow's counts for the progress until ctx ends.
func (d *Demo) watch(ctx context.Context) {
	const interval = 100 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		// What cannot be read now shows at the next tick, and in the report.
		if parent, err := d.client.Get(ctx, d.queue); err == nil && parent.Flow != nil {
			d.done.Store(parent.Flow.Total() - parent.Flow.Pending)
			d.failed.Store(parent.Flow.Failed + parent.Flow.Cancelled)
		}
	}
}

package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/braidmq/braid"
)

const (
	fileAttempts = 2
	fileBackoff  = 200 * time.Millisecond
	// keepFor is how long a finished job stays in the store. The demo reads results
	// within moments.
	keepFor = 10 * time.Minute
	// largestReport bounds the report, which names every duplicate, as JSON.
	largestReport = 256 << 20
)

// childStore names the store of the files' jobs, if it is not the parent's.
const childStore = "children"

// define makes the definitions of the flow; the options are the children's.
func (d *Demo) define(options ...braid.JobOption) {
	keep := braid.Keep(braid.KeepFor(keepFor))
	d.files = braid.NewJob[file, facts]("demo-inspect-file", append(options, keep,
		braid.Attempts(fileAttempts), braid.Backoff(braid.Fixed(fileBackoff)))...)
	d.folder = braid.NewFlow("demo", braid.NewJob[filename, *Report]("demo-inspect-folder", keep,
		braid.Backoff(braid.Fixed(fileBackoff))), braid.Children(d.files))
}

// handle registers what runs the flow.
func (d *Demo) handle(worker *braid.Worker) {
	d.files.Handle(worker, func(ctx context.Context, f file) (facts, error) {
		found, err := d.inspect(ctx, f)
		d.bytes.Add(found.Bytes)
		return found, err
	})
	d.folder.Handle(worker, d.list, d.collect)
}

// list adds a child for every file.
func (d *Demo) list(ctx context.Context, root filename, out *braid.FanOut) error {
	d.paths, d.tally = nil, newTally()
	d.found.Store(0)
	walk(d.interrupted, string(root), func(path string) bool {
		payload := file{Path: filename(filepath.Join(string(root), path))}
		d.files.Child(out, strconv.Itoa(len(d.paths)), payload, braid.Queue(d.queue))
		d.paths = append(d.paths, path)
		d.found.Add(1)
		return out.Err() == nil && ctx.Err() == nil
	}, d.tally.skip)
	if err := context.Cause(d.interrupted); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	d.walked.Store(true)
	return nil
}

// pathOf returns the file of a child.
func (d *Demo) pathOf(key string) string {
	number, err := strconv.Atoi(key)
	if err != nil || number >= len(d.paths) {
		return key // not one of ours
	}
	return d.paths[number]
}

// collect makes the report of what became of the children.
func (d *Demo) collect(ctx context.Context, _ filename, results *braid.Results) (*Report, error) {
	d.tally.forgetFiles() // of an earlier attempt
	var failed []task
	for child, err := range d.files.Results(ctx, results) {
		switch path := d.pathOf(child.Key); {
		case err != nil:
			return nil, fmt.Errorf("braid: read results: %w", err)
		case child.Outcome == braid.ChildCompleted && child.Err != nil:
			d.tally.fail(path, "the result cannot be read: "+child.Err.Error(), 0)
		case child.Outcome == braid.ChildCompleted:
			d.tally.add(path, child.Value)
		default:
			failed = append(failed, task{path: path, id: child.JobID, result: child})
		}
	}
	// Only the jobs themselves know how often they were tried.
	err := d.look(ctx, failed, func(t task, job *braid.JobInfo) {
		if job == nil || !d.settle(t, job) {
			d.tally.fail(t.path, messageOf(t.result.Err), 0)
		}
	})
	if err != nil {
		return nil, err
	}
	return d.tally.report(), nil
}

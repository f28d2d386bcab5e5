// Package benchmark measures what a store and a worker do, through the library, as an
// application would.
package benchmark

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// Options says what to measure.
type Options struct {
	Store       driver.Store // the caller closes it
	Jobs        int          // in the backlog; at least 1
	Concurrency int          // jobs that run at once
	Producers   int          // goroutines that enqueue at once
	Batch       int          // jobs of one batched enqueue
	Payload     int          // bytes of a payload's JSON; at least 2
	KeepAll     bool         // keep finished jobs; otherwise none is kept
	Rate        int          // jobs per second of the steady load
	SteadyJobs  int          // jobs of the steady load
	Logger      *slog.Logger
	// Done is called with each phase as it ends; nil: nobody is told.
	Done func(Phase)
}

// Report is what was measured.
type Report struct {
	Store       string  `json:"store"`
	Jobs        int     `json:"jobs"`
	Concurrency int     `json:"concurrency"`
	Producers   int     `json:"producers"`
	Batch       int     `json:"batch"`
	Payload     int     `json:"payloadBytes"`
	Keep        string  `json:"keep"`
	Phases      []Phase `json:"phases"`
	Memory      Memory  `json:"memory"`
}

// Phase is one measurement.
type Phase struct {
	Name          string  `json:"name"`
	Measured      string  `json:"measured"` // what the figures are about
	Jobs          int     `json:"jobs"`
	Seconds       float64 `json:"seconds"`
	JobsPerSecond float64 `json:"jobsPerSecond"`
	// CPUMicros is the CPU time per job, of this process and its garbage collector, in
	// microseconds: what stays the same on a busy machine. 0: unknown.
	CPUMicros float64  `json:"cpuMicrosPerJob"`
	Latency   *Latency `json:"latency,omitempty"` // nil: the phase has none
}

// Latency is a distribution of durations, in milliseconds.
type Latency struct {
	Of  string  `json:"of"`
	P50 float64 `json:"p50Ms"`
	P95 float64 `json:"p95Ms"`
	P99 float64 `json:"p99Ms"`
	Max float64 `json:"maxMs"`
}

// Memory is the heap in use after garbage collection, in bytes, at four times, and the
// number of goroutines at the end, when no worker runs.
type Memory struct {
	Start      uint64 `json:"startBytes"`
	Backlog    uint64 `json:"backlogBytes"`
	Processed  uint64 `json:"processedBytes"`
	End        uint64 `json:"endBytes"`
	Goroutines int    `json:"goroutines"`
}

// bench is one run.
type bench struct {
	Options
	queue  string
	client *braid.Client
	report *Report
}

// Run measures one phase after the other. When ctx ends it stops; jobs that it
// enqueued may then be left in the store, in the queue that the error names.
func Run(ctx context.Context, options Options) (*Report, error) {
	keep := "none"
	if options.KeepAll {
		keep = "all"
	}
	b := &bench{
		Options: options, queue: "bench/" + rand.Text(),
		client: braid.NewClient(options.Store, braid.WithLogger(options.Logger)),
		report: &Report{
			Store: options.Store.Info().Kind, Jobs: options.Jobs, Concurrency: options.Concurrency,
			Producers: options.Producers, Batch: options.Batch, Payload: options.Payload, Keep: keep,
		},
	}
	defer b.client.Close()
	phases := []struct {
		run    func(context.Context) (Phase, error)
		memory *uint64 // where the heap after it goes
	}{
		{run: b.enqueueSingly},
		{run: b.enqueueBatches, memory: &b.report.Memory.Backlog},
		{run: b.processBacklog, memory: &b.report.Memory.Processed},
		{run: b.steadyLoad, memory: &b.report.Memory.End},
	}
	b.report.Memory.Start = heap()
	for _, phase := range phases {
		used := cpuTime()
		measured, err := phase.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("braid: bench: %w (jobs may be left in queue %q)", err, b.queue)
		}
		if measured.Jobs > 0 {
			measured.JobsPerSecond = float64(measured.Jobs) / measured.Seconds
			measured.CPUMicros = float64(cpuTime()-used) / float64(time.Microsecond) / float64(measured.Jobs)
			b.report.Phases = append(b.report.Phases, measured)
			if b.Done != nil {
				b.Done(measured)
			}
		}
		if phase.memory != nil {
			*phase.memory = heap()
		}
	}
	b.report.Memory.Goroutines = runtime.NumGoroutine()
	return b.report, nil
}

// definition returns the job of a phase, in a queue of its own.
func (b *bench) definition(part string) (job *braid.Job[string, braid.None], queue string) {
	queue = b.queue + "/" + part
	options := []braid.JobOption{braid.Queue(queue)}
	if !b.KeepAll {
		options = append(options, braid.Keep(braid.KeepLast(0)))
	}
	return braid.NewJob[string, braid.None]("bench", options...), queue
}

// payload returns a string that begins with a text and whose JSON has the size that
// was asked for, or is as long as the text needs.
func (b *bench) payload(text string) string {
	const quotes = 2
	return text + strings.Repeat(".", max(0, b.Payload-quotes-len(text)))
}

// heap returns the bytes of the heap that are in use, after garbage collection.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// since returns the seconds since a time.
func since(start time.Time) float64 { return time.Since(start).Seconds() }

// Package compare measures job systems side by side: the same work on the same server,
// in turns, so that what else the machine does meets all of them.
package compare

import (
	"context"
	"time"
)

// System is a job system. Each method connects anew, takes a server as it finds it,
// and returns how long its work took, connecting left out.
type System interface {
	Name() string
	// Enqueue enqueues jobs from so many producers at once, one job per call.
	Enqueue(ctx context.Context, jobs, producers int) (time.Duration, error)
	// EnqueueBatches enqueues jobs in the way that the system's users would choose for
	// many at once.
	EnqueueBatches(ctx context.Context, jobs int) (time.Duration, error)
	// Process runs the jobs that wait, so many at once, until each is stored as
	// finished. Their handlers do nothing.
	Process(ctx context.Context, jobs, concurrency int) (time.Duration, error)
}

// Server is what the systems keep their jobs in.
type Server interface {
	// Empty deletes everything.
	Empty() error
	// Usage reads the server's meters.
	Usage() (Usage, error)
}

// Usage is what a server's meters show.
type Usage struct {
	CPU      time.Duration // of its processes, since their start
	Commands time.Duration // spent on the systems' commands, since the start
	Memory   int64         // in bytes, that the data takes up now
}

// Figures are the best that one system reached in all rounds. A figure of 0 was not
// measured.
type Figures struct {
	System     string
	Processing map[int]float64 // jobs per second, by concurrency
	Single     float64         // jobs per second
	Batch      float64         // jobs per second
	Commands   time.Duration   // per job, over its life
	CPU        time.Duration   // per job, over its life
	Memory     int64           // bytes per waiting job
}

// BestProcessing returns the most jobs per second over all concurrencies, and where.
func (f *Figures) BestProcessing() (rate float64, concurrency int) {
	for c, r := range f.Processing {
		if r > rate {
			rate, concurrency = r, c
		}
	}
	return rate, concurrency
}

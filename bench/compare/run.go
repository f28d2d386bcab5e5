package compare

import (
	"context"
	"fmt"
	"time"
)

// Options says how much to measure.
type Options struct {
	Jobs          int   // in the backlog
	Singles       int   // enqueued one by one
	Producers     int   // that enqueue one by one at once
	Concurrencies []int // at which the backlog is processed
	Rounds        int   // of which the best counts
	// Progress is called with a line per measurement.
	Progress func(line string)
}

// Run measures every system in every round, one after the other, and returns their
// best figures in the systems' order.
func Run(ctx context.Context, server Server, systems []System, options Options) ([]Figures, error) {
	figures := make([]Figures, len(systems))
	for i, system := range systems {
		figures[i] = Figures{System: system.Name(), Processing: make(map[int]float64)}
	}
	for round := range options.Rounds {
		// Each phase of a round visits every system before the next phase begins.
		for i, system := range systems {
			m := measurement{server: server, system: system, figures: &figures[i], options: &options, round: round + 1}
			if err := m.enqueue(ctx); err != nil {
				return nil, fmt.Errorf("%s: enqueue: %w", system.Name(), err)
			}
		}
		for _, concurrency := range options.Concurrencies {
			for i, system := range systems {
				m := measurement{server: server, system: system, figures: &figures[i], options: &options, round: round + 1}
				if err := m.life(ctx, concurrency); err != nil {
					return nil, fmt.Errorf("%s: %d at once: %w", system.Name(), concurrency, err)
				}
			}
		}
	}
	return figures, nil
}

// measurement is one phase of one system.
type measurement struct {
	server  Server
	system  System
	figures *Figures
	options *Options
	round   int
}

// enqueue measures single enqueues.
func (m *measurement) enqueue(ctx context.Context) error {
	if err := m.server.Empty(); err != nil {
		return err
	}
	took, err := m.system.Enqueue(ctx, m.options.Singles, m.options.Producers)
	if err != nil {
		return err
	}
	rate := perSecond(m.options.Singles, took)
	m.figures.Single = max(m.figures.Single, rate)
	m.progress("enqueue one by one: %.0f/s", rate)
	return nil
}

// life measures a backlog from its enqueue to its end.
func (m *measurement) life(ctx context.Context, concurrency int) error {
	if err := m.server.Empty(); err != nil {
		return err
	}
	before, err := m.server.Usage()
	if err != nil {
		return err
	}
	enqueued, err := m.system.EnqueueBatches(ctx, m.options.Jobs)
	if err != nil {
		return err
	}
	waiting, err := m.server.Usage()
	if err != nil {
		return err
	}
	processed, err := m.system.Process(ctx, m.options.Jobs, concurrency)
	if err != nil {
		return err
	}
	after, err := m.server.Usage()
	if err != nil {
		return err
	}

	jobs, f := m.options.Jobs, m.figures
	batch, processing := perSecond(jobs, enqueued), perSecond(jobs, processed)
	commands := (after.Commands - before.Commands) / time.Duration(jobs)
	cpu := (after.CPU - before.CPU) / time.Duration(jobs)
	memory := (waiting.Memory - before.Memory) / int64(jobs)
	f.Batch = max(f.Batch, batch)
	f.Processing[concurrency] = max(f.Processing[concurrency], processing)
	f.Commands, f.CPU, f.Memory = least(f.Commands, commands), least(f.CPU, cpu), least(f.Memory, memory)
	m.progress("enqueue in batches: %.0f/s, %d B per job; %d at once: %.0f/s; server time per job: %v in commands, %v in all",
		batch, memory, concurrency, processing, commands, cpu)
	return nil
}

func (m *measurement) progress(format string, args ...any) {
	if m.options.Progress != nil {
		m.options.Progress(fmt.Sprintf("round %d, %s: ", m.round, m.system.Name()) + fmt.Sprintf(format, args...))
	}
}

func perSecond(jobs int, took time.Duration) float64 { return float64(jobs) / took.Seconds() }

// least returns the smaller figure; 0 is none.
func least[T ~int64](best, figure T) T {
	if best == 0 {
		return figure
	}
	return min(best, figure)
}

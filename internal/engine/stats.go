package engine

import "time"

// Stats is what an engine holds at a moment.
type Stats struct {
	Queues []QueueStats // in the order of the config
	// Stuck are the runs whose handler goes on for longer than Config.StuckAfter past
	// the end of its context.
	Stuck []StuckRun
}

// QueueStats is what an engine holds of one queue.
type QueueStats struct {
	Queue   string
	Slots   int
	Running int // in their handlers
	Queued  int // claimed, about to start
	Unacked int // finished, result not stored yet
}

// Health says whether an engine's loops do their work.
type Health struct {
	OK    bool // all of them do
	Loops []LoopHealth
}

// LoopHealth is how one loop is doing. It is well if it has succeeded within three
// intervals, or has nothing to do.
type LoopHealth struct {
	Name     string
	OK       bool
	Last     time.Time     // of the latest success, or the start
	Interval time.Duration // how often it should succeed
	Failures int           // in a row
	Err      string        // the latest of them
}

// Stats returns what the engine holds. It is safe for concurrent use.
func (e *Engine) Stats() Stats {
	stats := Stats{Queues: make([]QueueStats, 0, len(e.queues))}
	for _, q := range e.queues {
		stats.Queues = append(stats.Queues, q.stats())
	}
	for _, r := range e.registry.all() {
		r.mu.Lock()
		if r.stuck != nil && r.state == runRunning {
			stats.Stuck = append(stats.Stuck, *r.stuck)
		}
		r.mu.Unlock()
	}
	return stats
}

// Health returns how the engine's loops are doing. An engine that does not run is
// not healthy. It is safe for concurrent use.
func (e *Engine) Health() Health {
	now := time.Now()
	health := Health{OK: e.alive.Load()}
	for _, l := range e.loops {
		h := l.health(now)
		health.OK = health.OK && h.OK
		health.Loops = append(health.Loops, h)
	}
	return health
}

package engine

import (
	"bytes"
	"context"
	"runtime"
	"strconv"
	"time"
)

// StuckRun is a run whose handler goes on although its context has ended. It keeps
// its slot and its lock, so that the job is not run twice.
type StuckRun struct {
	JobID   string
	Name    string
	Queue   string
	Attempt int
	Since   time.Time // when its context ended
	Cause   error     // why
	Stack   string    // where the handler stood when it was found; empty if it could not be told
}

// maxStackDump bounds the memory that looking for one stack takes.
const maxStackDump = 16 << 20

// watchStuck looks for stuck handlers until hard ends.
func (e *Engine) watchStuck(hard context.Context) {
	interval := min(max(e.config.StuckAfter/4, 5*time.Millisecond), time.Second)
	for known := 0; hard.Err() == nil; {
		pause(hard, interval)
		e.stuckLoop.ok()
		now := len(e.findStuck(e.config.StuckAfter))
		if o := e.config.Observer; o != nil && now != known {
			e.guard("an observer", func() { o.Stuck(now) })
		}
		known = now
	}
}

// findStuck returns the runs that go on for longer than after past the end of
// their context; each is logged the first time.
func (e *Engine) findStuck(after time.Duration) []StuckRun {
	e.stuckMu.Lock() // whoever comes second finds the stacks filled in
	defer e.stuckMu.Unlock()
	now := time.Now()
	var stuck []StuckRun
	var fresh []*run
	for _, r := range e.registry.all() {
		r.mu.Lock()
		since, cause := r.overdue(now)
		if cause != nil && now.Sub(since) >= after {
			if r.stuck == nil {
				fresh = append(fresh, r)
				r.stuck = &StuckRun{
					JobID: r.Job.ID, Name: r.Job.Name, Queue: r.Job.Queue, Attempt: r.Attempt,
					Since: since, Cause: cause,
				}
			} else {
				stuck = append(stuck, *r.stuck)
			}
		}
		r.mu.Unlock()
	}
	if len(fresh) == 0 {
		return stuck
	}
	dump := stackDump()
	for _, r := range fresh {
		r.mu.Lock()
		if r.state == runRunning {
			r.stuck.Stack = cleanText(stackOf(dump, r.goroutine), maxStackBytes)
		}
		found := *r.stuck
		r.mu.Unlock()
		stuck = append(stuck, found)
		r.Logger().Error("braid: the handler goes on although its context has ended; it keeps its slot and its lock",
			"cause", logText(found.Cause), "since", found.Since, "stack", found.Stack)
	}
	return stuck
}

// stackDump returns the stacks of all goroutines, cut at maxStackDump.
func stackDump() []byte {
	for size := 256 << 10; ; size *= 2 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size || size >= maxStackDump {
			return buffer[:n]
		}
	}
}

// stackOf cuts one goroutine's stack out of a dump; empty if it is not in it.
func stackOf(dump []byte, goroutine int64) string {
	head := []byte("goroutine " + strconv.FormatInt(goroutine, 10) + " [")
	for len(dump) > 0 {
		stack, rest, _ := bytes.Cut(dump, []byte("\n\n"))
		if bytes.HasPrefix(stack, head) {
			return string(stack)
		}
		dump = rest
	}
	return ""
}

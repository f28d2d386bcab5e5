package engine

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// recorder is an observer that counts, and may panic.
type recorder struct {
	claimed, lost, stuck atomic.Int64
	panics               bool

	mu    sync.Mutex
	ended map[string]int
	ends  []RunEnd
}

func (o *recorder) Claimed(_ string, n int) { o.claimed.Add(int64(n)); o.maybePanic() }
func (o *recorder) LocksLost(n int)         { o.lost.Add(int64(n)); o.maybePanic() }
func (o *recorder) Stuck(n int)             { o.stuck.Store(int64(n)); o.maybePanic() }

func (o *recorder) RunsEnded(runs []RunEnd) {
	o.mu.Lock()
	if o.ended == nil {
		o.ended = map[string]int{}
	}
	for _, run := range runs {
		o.ended[run.Outcome]++
	}
	o.ends = append(o.ends, runs...)
	o.mu.Unlock()
	o.maybePanic()
}

func (o *recorder) maybePanic() {
	if o.panics {
		panic("the observer panics")
	}
}

func (o *recorder) outcomes() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.ended)
}

func TestObserversHearOfEverythingAndMayPanic(t *testing.T) {
	observer := &recorder{panics: true}
	r := newRig(t, func(ctx context.Context, run *Run) ([]byte, error) {
		switch run.Job.Metadata["do"] {
		case "fail":
			return nil, errors.New("sad")
		case "snooze":
			return nil, Snooze(time.Hour)
		case "slow":
			time.Sleep(2 * time.Millisecond)
		case "deaf":
			<-ctx.Done()
			for r := observer.stuck.Load(); r == 0; r = observer.stuck.Load() {
				time.Sleep(time.Millisecond)
			}
		}
		return nil, nil
	}, func(c *Config) { c.Observer = observer; c.StuckAfter = 20 * time.Millisecond })
	for _, do := range []string{"slow", "fail", "snooze", "deaf"} {
		r.enqueue(1, func(q *driver.EnqueueRequest) {
			q.Metadata, q.AttemptsMax = map[string]string{"do": do}, 2
			if do == "deaf" {
				q.AttemptsMax, q.Timeout = 1, driver.Some[driver.Millis](5)
			}
		})
	}
	r.start()
	want := map[string]int{OutcomeCompleted: 1, OutcomeRetried: 1, OutcomeFailed: 2, OutcomeSnoozed: 1}
	eventually(t, "all runs have ended", func() bool { return maps.Equal(observer.outcomes(), want) })
	eventually(t, "no handler is stuck", func() bool { return observer.stuck.Load() == 0 })
	if n := observer.claimed.Load(); n != 5 {
		t.Errorf("%d jobs were counted as claimed, want 5", n)
	}
	observer.mu.Lock()
	defer observer.mu.Unlock()
	for _, end := range observer.ends {
		if end.Job.Metadata["do"] == "slow" && (end.Run < 2*time.Millisecond || end.State != driver.Completed || end.Wait < 0) {
			t.Errorf("the slow run is %+v", end)
		}
	}
}

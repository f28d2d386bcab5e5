package maintain

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Time in these tests is that of a synctest bubble: it moves when every goroutine
// waits, so hours pass at once and nothing depends on the machine.

// storeTime is the bubble's time as the stores see it.
func storeTime() driver.Time { return driver.TimeOf(time.Now()) }

// logBook collects log lines.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// count returns how many lines contain part.
func (b *logBook) count(part string) int {
	n := 0
	for line := range bytes.Lines([]byte(b.String())) {
		if bytes.Contains(line, []byte(part)) {
			n++
		}
	}
	return n
}

func (b *logBook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// start runs run until the test or the returned function ends it.
func start(t *testing.T, run func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return stop
}

// pass lets d go by, and then everything settle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// counts is what an observer was told.
type counts struct {
	recovered, failed, ticks       int
	history, dedupe, flows         int
	loopFailures, scheduleFailures int
	failedKeys                     map[string]int
}

// recorder is an observer that counts.
type recorder struct {
	mu     sync.Mutex
	counts counts
}

// look returns the counts so far.
func (r *recorder) look() counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.failedKeys = maps.Clone(c.failedKeys)
	return c
}

func (r *recorder) add(f func(*counts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.counts)
}

func (r *recorder) StallsRecovered(recovered, failed int) {
	r.add(func(c *counts) { c.recovered += recovered; c.failed += failed })
}
func (r *recorder) Ticks(n int)              { r.add(func(c *counts) { c.ticks += n }) }
func (r *recorder) SweptHistory(n int)       { r.add(func(c *counts) { c.history += n }) }
func (r *recorder) SweptDedupe(n int)        { r.add(func(c *counts) { c.dedupe += n }) }
func (r *recorder) SweptFlows(n int)         { r.add(func(c *counts) { c.flows += n }) }
func (r *recorder) LoopFailed(string, error) { r.add(func(c *counts) { c.loopFailures++ }) }
func (r *recorder) ScheduleFailed(key string, _ error) {
	r.add(func(c *counts) {
		if c.failedKeys == nil {
			c.failedKeys = map[string]int{}
		}
		c.failedKeys[key]++
		c.scheduleFailures++
	})
}

func healthOf(t *testing.T, health []LoopHealth, name string) LoopHealth {
	t.Helper()
	for _, h := range health {
		if h.Name == name {
			return h
		}
	}
	t.Fatalf("no health of loop %q", name)
	return LoopHealth{}
}

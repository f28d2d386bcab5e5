package braid_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

// payloads yields texts that nobody keeps, as a cursor over a large table would.
func payloads(n, size int) iter.Seq2[string, string] {
	return func(yield func(key, payload string) bool) {
		for i := range n {
			key := strconv.Itoa(i)
			if !yield(key, strings.Repeat("x", size-len(key))+key) {
				return
			}
		}
	}
}

// A fan-out hands its children to the store page by page, and remembers them until they
// are enqueued. In the memory store both may hold the same bytes, but no more than once:
// what a child takes grows with its payload byte by byte.
func TestAFanOutOfVeryManyChildrenIsNotHeldTwice(t *testing.T) {
	const children, short, long = 50_000, 100, 1900
	b := newBench(t)
	part := braid.NewJob[string, braid.None]("part")
	whole := braid.NewFlow("flow", braid.NewJob[int, braid.None]("whole", braid.Attempts(1)), braid.Children(part))
	grown := make(chan int64, 2)
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		whole.Handle(w, func(_ context.Context, _ int, out *braid.FanOut) error {
			for _, size := range []int{short, long} {
				before := heap()
				for key, payload := range payloads(children, size) {
					part.Child(out, strconv.Itoa(size)+"/"+key, payload)
				}
				grown <- (heap() - before) / children
			}
			if err := out.Err(); err != nil {
				t.Errorf("fan-out: %v", err)
			}
			return errors.New("measured") // so that nothing is started
		}, func(context.Context, int, *braid.Results) (braid.None, error) { return braid.None{}, nil })
	})
	if _, err := whole.Do(b.within(60*time.Second), b.client, 0); err == nil || !strings.Contains(err.Error(), "measured") {
		t.Fatalf("the flow: %v", err)
	}
	taken := [2]int64{<-grown, <-grown}
	t.Logf("a child takes %d bytes with a payload of %d, %d with one of %d", taken[0], short, taken[1], long)
	if growth := float64(taken[1]-taken[0]) / (long - short); growth < 0.9 || growth > 1.3 {
		t.Errorf("each byte of payload takes %.2f bytes", growth)
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

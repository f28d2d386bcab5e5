package braid_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

func TestAFanOutThatHasEndedTakesNoMoreChildren(t *testing.T) {
	b := newBench(t)
	part := braid.NewJob[int, int]("part")
	whole := braid.NewFlow("flow", braid.NewJob[int, int64]("whole", braid.Attempts(1)), braid.Children(part))
	ended := make(chan *braid.FanOut, 1)
	var late sync.WaitGroup
	defer late.Wait()
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		part.Handle(w, func(_ context.Context, n int) (int, error) { return n, nil })
		whole.Handle(w, func(_ context.Context, n int, out *braid.FanOut) error {
			part.Child(out, "in time", n)
			late.Go(func() { // what a forgotten goroutine does
				for i := 0; out.Err() == nil; i++ {
					part.Child(out, strconv.Itoa(i), i)
				}
				ended <- out
			})
			return nil
		}, func(_ context.Context, _ int, results *braid.Results) (int64, error) {
			return results.Counts.Total(), nil
		})
	})
	ctx := b.within(10 * time.Second)
	children, err := whole.Do(ctx, b.client, 1)
	if err != nil || children < 1 {
		t.Fatalf("%d children (%v), want those that came in time", children, err)
	}
	out := receive(b, ended, "the late child")
	if err := out.Err(); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "the fan-out has ended") {
		t.Errorf("%v, want ErrInvalid that says that the fan-out has ended", err)
	}
	part.Child(out, "later still", 1)
	if out.Len() != int(children) {
		t.Errorf("the fan-out counts %d children, %d were started", out.Len(), children)
	}
}

func TestAFanOutThatFailedTakesNoMoreChildren(t *testing.T) {
	b := newBench(t)
	part := braid.NewJob[int, int]("part")
	whole := braid.NewFlow("flow", braid.NewJob[int, int64]("whole", braid.Attempts(1)), braid.Children(part))
	outs := make(chan *braid.FanOut, 1)
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		whole.Handle(w, func(_ context.Context, _ int, out *braid.FanOut) error {
			outs <- out
			return errors.New("no")
		}, func(context.Context, int, *braid.Results) (int64, error) { return 0, nil })
	})
	if _, err := whole.Do(b.within(10*time.Second), b.client, 1); err == nil {
		t.Error("the flow succeeded")
	}
	out := receive(b, outs, "the fan-out")
	part.Child(out, "key", 1)
	if out.Len() != 0 || !errors.Is(out.Err(), braid.ErrInvalid) {
		t.Errorf("%d children, %v; want none and ErrInvalid", out.Len(), out.Err())
	}
}

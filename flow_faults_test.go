package braid_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/memstore"
)

// Without that, the flow would lie until the sweep, which comes every 30 s.
func TestAFlowGoesOnAtOnceWhenAnswersToAcksAreLost(t *testing.T) {
	for name, lost := range map[string]int{"to the fan-out": 1, "to the fan-out and the child's end": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := faultstore.New(memstore.New())
				b := newBenchOn(t, store)
				part := braid.NewJob[int, int]("part")
				whole := braid.NewFlow("flow", braid.NewJob[int, int64]("whole"), braid.Children(part))
				end := store.DropReplies(lost, "Ack")
				defer end()
				b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
					part.Handle(w, func(_ context.Context, n int) (int, error) { return n, nil })
					whole.Handle(w, func(_ context.Context, n int, out *braid.FanOut) error {
						part.Child(out, "only", n)
						return nil
					}, func(_ context.Context, _ int, results *braid.Results) (int64, error) {
						return results.Counts.Completed, nil
					})
				})
				began := time.Now()
				if completed, err := whole.Do(b.ctx, b.client, 7); err != nil || completed != 1 {
					t.Errorf("%d children completed, %v", completed, err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("the flow took %v", took)
				}
			})
		})
	}
}

package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/memstore"
)

func TestAnEnqueueWithAnIDOutlivesALostReply(t *testing.T) {
	faults := faultstore.New(memstore.New())
	b := newBenchOn(t, faults)
	job := braid.NewJob[string, string]("job").KeyBy(func(s string) string { return s })
	defer faults.DropReplies(1, "Enqueue")()
	if _, err := job.Enqueue(b.ctx, b.client, "once"); err != nil {
		t.Errorf("Enqueue: %v", err)
	}
	if calls := faults.Calls("Enqueue"); calls != 2 {
		t.Errorf("the client called %d times, want twice", calls)
	}
	if counts, err := b.client.Counts(b.ctx, ""); err != nil || counts.Waiting != 1 {
		t.Errorf("counts are %+v (%v), want one job", counts, err)
	}
}

func TestAnEnqueueWithoutAnIDSaysThatItsOutcomeIsUnknown(t *testing.T) {
	faults := faultstore.New(memstore.New())
	b := newBenchOn(t, faults)
	job := braid.NewJob[string, string]("job")
	end := faults.DropReplies(1, "Enqueue")
	_, err := job.Enqueue(b.ctx, b.client, "x")
	var store *braid.StoreError
	if !errors.As(err, &store) || !store.OutcomeUnknown {
		t.Errorf("%v, want an error that says that the outcome is unknown", err)
	}
	if calls := faults.Calls("Enqueue"); calls != 1 {
		t.Errorf("the client called %d times, want once", calls)
	}
	end()

	// With ids of the client's the outcome is never unknown.
	drawing := braid.NewClient(faults, braid.WithClientIDs())
	defer faults.DropReplies(1, "Enqueue")()
	if _, err := job.Enqueue(b.ctx, drawing, "y"); err != nil {
		t.Errorf("with client ids: %v", err)
	}
	if counts, err := b.client.Counts(b.ctx, ""); err != nil || counts.Waiting != 2 {
		t.Errorf("counts are %+v (%v), want two jobs", counts, err)
	}
}

func TestFiftyEnqueuesOfOneKeyMakeOneJob(t *testing.T) {
	b := newBench(t)
	keyed := braid.NewJob[string, string]("keyed").KeyBy(func(s string) string { return s })
	deduped := braid.NewJob[string, string]("deduped").DedupeBy(func(s string) string { return s })
	for _, job := range []*braid.Job[string, string]{keyed, deduped} {
		var mu sync.Mutex
		ids := make(map[string]int)
		first := 0
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				handle, err := job.Enqueue(b.ctx, b.client, "same")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[handle.ID]++
				if !handle.Duplicate {
					first++
				}
			})
		}
		calls.Wait()
		if len(ids) != 1 || first != 1 {
			t.Errorf("%s: ids are %v, %d were no duplicates; want one job and 50 answers", job.Name(), ids, first)
		}
	}
}

func TestABatchMixesDefinitionsOfOneStore(t *testing.T) {
	b := newBench(t)
	numbers := braid.NewJob[int, int]("numbers", braid.Queue("n"))
	words := braid.NewJob[string, string]("words", braid.Priority(3))
	handles, err := b.client.EnqueueMany(b.ctx,
		numbers.Request(7, braid.ID("seven")), words.Request("x"), braid.NewRequest("raw", json.RawMessage(`[1]`)))
	if err != nil || len(handles) != 3 {
		t.Fatalf("%v, %v", handles, err)
	}
	infos, err := b.client.GetMany(b.ctx, "seven", handles[1].ID, handles[2].ID, "nobody")
	if err != nil {
		t.Fatal(err)
	}
	if infos[0].Queue != "n" || infos[1].Priority != 3 || string(infos[2].Payload) != "[1]" || infos[3] != nil {
		t.Errorf("jobs are %+v", infos)
	}
	elsewhere := braid.NewJob[int, int]("elsewhere", braid.OnStore("other"))
	client := braid.NewClient(b.store, braid.WithStore("other", memstore.New()))
	if _, err := client.EnqueueMany(b.ctx, numbers.Request(8), elsewhere.Request(9)); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("a batch for two stores: %v", err)
	}
	if _, err := b.client.EnqueueMany(b.ctx, numbers.Request(10, braid.ID("ten")), numbers.Request(11, braid.Attempts(0))); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("a batch with a bad item: %v", err)
	}
	if _, err := b.client.Get(b.ctx, "ten"); !errors.Is(err, braid.ErrNotFound) {
		t.Errorf("the good item of a refused batch: %v, want nothing stored", err)
	}
	if handles, err := b.client.EnqueueMany(b.ctx); len(handles) != 0 || err != nil {
		t.Errorf("an empty batch: %v, %v", handles, err)
	}
}

func TestAStoreWithoutTransactionsSaysSo(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	if _, err := job.Enqueue(b.ctx, b.client.Tx(driver.Tx{}), "x"); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("%v, want ErrInvalid", err)
	}
}

func TestEveryCallObeysAContextThatIsOver(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	handle, err := job.Enqueue(b.ctx, b.client, "x", braid.In(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	c := b.client
	for name, call := range everyCall(ctx, c, job, handle) {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
	if counts, err := c.Counts(b.ctx, ""); err != nil || counts.Total() != 1 || counts.Delayed != 1 {
		t.Errorf("counts are %+v (%v), want nothing changed", counts, err)
	}
}

// everyCall is every call of the client that reaches the store.
func everyCall(ctx context.Context, c *braid.Client, job *braid.Job[string, string], handle *braid.Handle[string]) map[string]func() error {
	return map[string]func() error{
		"Enqueue":       func() error { _, err := job.Enqueue(ctx, c, "x"); return err },
		"EnqueueMany":   func() error { _, err := job.EnqueueMany(ctx, c, []string{"x"}); return err },
		"Do":            func() error { _, err := job.Do(ctx, c, "x"); return err },
		"Wait":          func() error { _, err := handle.Wait(ctx); return err },
		"Get":           func() error { _, err := handle.Get(ctx); return err },
		"Attempts":      func() error { _, err := handle.Attempts(ctx); return err },
		"Cancel":        func() error { return handle.Cancel(ctx) },
		"Retry":         func() error { return handle.Retry(ctx) },
		"Promote":       func() error { return handle.Promote(ctx) },
		"Remove":        func() error { _, err := handle.Remove(ctx); return err },
		"CancelByKey":   func() error { _, err := job.CancelByKey(ctx, c, "k"); return err },
		"List":          func() error { _, err := c.List(ctx, braid.ListFilter{}); return err },
		"Counts":        func() error { _, err := c.Counts(ctx, ""); return err },
		"Queues":        func() error { _, err := c.Queues(ctx); return err },
		"Position":      func() error { _, _, err := c.Position(ctx, handle.ID); return err },
		"Pause":         func() error { return c.Pause(ctx, "q") },
		"Resume":        func() error { return c.Resume(ctx, "q") },
		"PausedQueues":  func() error { _, err := c.PausedQueues(ctx); return err },
		"Schedule":      func() error { return job.Schedule(ctx, c, "k", braid.Every(time.Hour), "x") },
		"Schedules":     func() error { _, err := c.Schedules(ctx, braid.ScheduleFilter{}); return err },
		"GetSchedule":   func() error { _, err := c.GetSchedule(ctx, "k"); return err },
		"Unschedule":    func() error { _, err := c.Unschedule(ctx, "k"); return err },
		"SyncSchedules": func() error { return braid.SyncSchedules(ctx, c, "g", job.Entry("k", braid.Every(time.Hour), "x")) },
		"Ping":          func() error { return c.Ping(ctx) },
	}
}

package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/faultstore"
	"github.com/braidmq/braid/memstore"
)

// wantOnePrefix checks that a text tells once whose error it is.
func wantOnePrefix(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), "braid: ") || strings.Count(err.Error(), "braid: ") != 1 {
		t.Errorf("%s: %v, want one prefix", what, err)
	}
}

func TestErrorTextsHaveOnePrefix(t *testing.T) {
	faults := faultstore.New(memstore.New())
	b := newBenchOn(t, faults)
	ctx := b.within(20 * time.Second)
	job := braid.NewJob[int, int]("job", braid.Attempts(1))
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(ctx context.Context, n int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
	})
	wantOnePrefix(t, "a timeout", second(job.Do(ctx, b.client, 1, braid.Timeout(time.Millisecond))))
	corrupt, err := b.client.Enqueue(ctx, "job", json.RawMessage(`"many"`), braid.Attempts(1))
	if err != nil {
		t.Fatal(err)
	}
	wantOnePrefix(t, "a corrupt payload", second(corrupt.Wait(ctx)))
	wantOnePrefix(t, "an unknown job", second(job.ByID(b.client, "nobody").Wait(ctx)))
	wantOnePrefix(t, "an unknown job", second(job.ByID(b.client, "nobody").Get(ctx)))
	bad := braid.NewJob[int, int]("bad", braid.Attempts(0))
	wantOnePrefix(t, "a bad definition", second(bad.Enqueue(ctx, b.client, 1)))
	wantOnePrefix(t, "a bad definition of a batch", second(bad.EnqueueMany(ctx, b.client, []int{1})))
	wantOnePrefix(t, "a bad request", second(b.client.EnqueueMany(ctx, bad.Request(1))))
	wantOnePrefix(t, "a bad flow", second(braid.NewFlow("flow", bad, braid.Children(job)).Enqueue(ctx, b.client, 1)))
	wantOnePrefix(t, "a bad client", second(braid.NewClient(nil).Queues(ctx)))
	elsewhere := braid.NewWorker(b.client, braid.WorkerOptions{})
	braid.NewJob[int, int]("job", braid.OnStore("nowhere")).Handle(elsewhere, func(context.Context, int) (int, error) { return 0, nil })
	wantOnePrefix(t, "a handler on an unknown store", elsewhere.Run(ctx))

	defer faults.Fail(false, "Enqueue", "Jobs", "WatchFinished")()
	for what, err := range map[string]error{
		"Enqueue":     second(job.Enqueue(ctx, b.client, 1)),
		"EnqueueMany": second(job.EnqueueMany(ctx, b.client, []int{1})),
		"Do":          second(job.Do(ctx, b.client, 1)),
		"Wait":        second(job.ByID(b.client, "id").Wait(ctx)),
		"raw":         second(b.client.Enqueue(ctx, "job", nil)),
		"a batch":     second(b.client.EnqueueMany(ctx, job.Request(1))),
	} {
		wantOnePrefix(t, what, err)
		var store *driver.StoreError
		if !errors.As(err, &store) || !errors.Is(err, faultstore.ErrInjected) {
			t.Errorf("%s: %v, want the store's error in the chain", what, err)
		}
	}
}

func TestTheErrorOfAnEnqueueInAHandlerNamesItsType(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[int, int]("job", braid.Attempts(1))
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(ctx context.Context, _ int) (int, error) {
			_, err := answer.EnqueueMany(ctx, b.client, []string{"x"}, braid.ID(""))
			return 0, err
		})
	})
	var failed *braid.JobError
	if _, err := job.Do(b.within(10*time.Second), b.client, 1); !errors.As(err, &failed) || failed.Type != "*driver.InvalidError" {
		t.Errorf("%+v, want the type of the cause", failed)
	}
}

func TestTheErrorOfAJobThatDidNotFailIsNil(t *testing.T) {
	b := newBench(t)
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		answer.Handle(w, func(_ context.Context, s string) (string, error) {
			if s == "bad" {
				return "", errors.New("it failed")
			}
			return s, nil
		})
	})
	for payload, fails := range map[string]bool{"good": false, "bad": true} {
		handle, err := answer.Enqueue(b.ctx, b.client, payload, braid.Attempts(1))
		if err != nil {
			t.Fatal(err)
		}
		_, waited := handle.Wait(b.within(10 * time.Second))
		info, err := handle.Get(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		attempts, err := handle.Attempts(b.ctx)
		if err != nil || len(attempts) != 1 {
			t.Fatalf("%+v (%v)", attempts, err)
		}
		for who, err := range map[string]error{"the wait": waited, "the job": info.Err(), "the attempt": attempts[0].Err()} {
			var failed *braid.JobError
			if (err != nil) != fails || fails && (!errors.As(err, &failed) || failed.Message != "it failed") {
				t.Errorf("%s: the error of %s is %v", payload, who, err)
			}
		}
	}
}

func TestAnErrorWithoutTextStaysOne(t *testing.T) {
	b := newBench(t)
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		answer.Handle(w, func(context.Context, string) (string, error) { return "", errors.New("") })
	})
	var failed *braid.JobError
	if _, err := answer.Do(b.within(10*time.Second), b.client, "x", braid.Attempts(1)); !errors.As(err, &failed) || failed.Message != "" {
		t.Errorf("%v, want a JobError without a message", err)
	}
}

func TestTheTextOfANestedFailureStaysShort(t *testing.T) {
	var err error = &braid.JobError{ID: "root", Message: "the reason"}
	for range 9 {
		err = &braid.JobError{ID: "flow/" + strings.Repeat("x", 500), Message: err.Error(), Attempts: 1}
	}
	if text := err.Error(); len(text) > 1200 || !strings.HasSuffix(text, "the reason") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

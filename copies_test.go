package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

// spoil changes everything that a reader was handed.
func spoil(raw json.RawMessage, metadata map[string]string) {
	for i := range raw {
		raw[i] = '!'
	}
	if metadata != nil {
		metadata["k"] = "spoilt"
		metadata["more"] = "spoilt"
	}
}

func TestWhatAReaderChangesIsItsOwn(t *testing.T) {
	b := newBench(t)
	metadata := braid.Metadata(map[string]string{"k": "v"})
	job := braid.NewJob[string, string]("job", braid.Attempts(1))
	b.work(braid.WorkerOptions{OnFailure: func(_ context.Context, f braid.Failure) {
		spoil(f.Job.Payload, f.Job.Metadata)
	}}, func(w *braid.Worker) {
		job.Handle(w, func(ctx context.Context, s string) (string, error) {
			spoil(nil, braid.Current(ctx).Metadata)
			if s == "bad" {
				return "", errors.New("it failed")
			}
			return "result", nil
		})
	})
	good, err := job.Enqueue(b.ctx, b.client, "good", metadata)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := good.Wait(b.within(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	bad, err := job.Enqueue(b.ctx, b.client, "bad", metadata)
	if err != nil {
		t.Fatal(err)
	}
	var failed *braid.JobError
	if _, err := bad.Wait(b.within(10 * time.Second)); !errors.As(err, &failed) {
		t.Fatal(err)
	}
	for range 2 { // the second reader sees what the first one left
		for _, handle := range []*braid.Handle[string]{good, bad} {
			info, err := handle.Get(b.ctx)
			if err != nil || !json.Valid(info.Payload) || !json.Valid(info.Exit) || len(info.Metadata) != 1 || info.Metadata["k"] != "v" {
				t.Errorf("get: %s, %s, %v (%v)", info.Payload, info.Exit, info.Metadata, err)
			}
			spoil(info.Payload, info.Metadata)
			spoil(info.Exit, nil)
			attempts, err := handle.Attempts(b.ctx)
			if err != nil || len(attempts) != 1 || !json.Valid(attempts[0].Exit) {
				t.Fatalf("attempts: %+v (%v)", attempts, err)
			}
			spoil(attempts[0].Exit, nil)
		}
		page, err := b.client.List(b.ctx, braid.ListFilter{})
		if err != nil || len(page.Jobs) != 2 {
			t.Fatalf("list: %+v (%v)", page, err)
		}
		for _, info := range page.Jobs {
			if !json.Valid(info.Payload) || info.Metadata["k"] != "v" {
				t.Errorf("list: %s, %v", info.Payload, info.Metadata)
			}
			spoil(info.Payload, info.Metadata)
		}
	}
}

func TestWhatAReaderOfSchedulesChangesIsItsOwn(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	if err := job.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), "x", braid.Metadata(map[string]string{"k": "v"})); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		schedules, err := b.client.Schedules(b.ctx, braid.ScheduleFilter{})
		if err != nil || len(schedules) != 1 {
			t.Fatalf("%+v (%v)", schedules, err)
		}
		one, err := b.client.GetSchedule(b.ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []braid.ScheduleInfo{schedules[0], one} {
			if string(s.Payload) != `"x"` || len(s.Metadata) != 1 || s.Metadata["k"] != "v" {
				t.Errorf("schedule has %s and %v", s.Payload, s.Metadata)
			}
		}
		spoil(one.Payload, one.Metadata)
		spoil(schedules[0].Payload, schedules[0].Metadata)
	}
}

func TestWhatAReaderOfChildrenChangesIsItsOwn(t *testing.T) {
	b := newBench(t)
	child := braid.NewJob[int, string]("child")
	flow := braid.NewFlow("flow", braid.NewJob[braid.None, int]("parent"), braid.Children(child))
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		child.Handle(w, func(context.Context, int) (string, error) { return "result", nil })
		flow.Handle(w, func(_ context.Context, _ braid.None, out *braid.FanOut) error {
			child.Child(out, "a", 1)
			return nil
		}, func(context.Context, braid.None, *braid.Results) (int, error) { return 0, nil })
	})
	parent, err := flow.Enqueue(b.ctx, b.client, braid.None{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parent.Wait(b.within(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		page, err := flow.Children(b.ctx, b.client, parent.ID, "")
		if err != nil || len(page.Children) != 1 || string(page.Children[0].Exit) != `"result"` {
			t.Fatalf("%+v (%v)", page, err)
		}
		spoil(page.Children[0].Exit, nil)
	}
}

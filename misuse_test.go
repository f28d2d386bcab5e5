package braid_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

func TestAZeroDefinitionIsRefused(t *testing.T) {
	b := newBench(t)
	for name, job := range map[string]*braid.Job[string, string]{"zero": {}, "nil": nil} {
		worker := braid.NewWorker(b.client, braid.WorkerOptions{})
		job.Handle(worker, func(context.Context, string) (string, error) { return "", nil })
		flow := braid.NewFlow("flow", job, braid.Children(answer))
		parent := braid.NewFlow("flow", answer, braid.Children(job))
		for verb, err := range map[string]error{
			"Enqueue":            second(job.Enqueue(b.ctx, b.client, "x")),
			"Enqueue with an id": second(job.Enqueue(b.ctx, b.client, "x", braid.ID("id"))),
			"EnqueueMany":        second(job.EnqueueMany(b.ctx, b.client, []string{"x"})),
			"Do":                 second(job.Do(b.ctx, b.client, "x")),
			"Request":            second(b.client.EnqueueMany(b.ctx, job.Request("x"))),
			"Schedule":           job.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), "x"),
			"Entry":              braid.SyncSchedules(b.ctx, b.client, "g", job.Entry("k", braid.Every(time.Hour), "x")),
			"Unschedule":         second(job.Unschedule(b.ctx, b.client, "k")),
			"CancelByKey":        second(job.CancelByKey(b.ctx, b.client, "k")),
			"Handle":             worker.Run(b.ctx),
			"a flow's parent":    second(flow.Enqueue(b.ctx, b.client, "x")),
			"a flow's child":     second(parent.Enqueue(b.ctx, b.client, "x")),
		} {
			if !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "braid.NewJob") {
				t.Errorf("%s definition, %s: %v, want ErrInvalid that says braid.NewJob", name, verb, err)
			}
		}
	}
	if counts, err := b.client.Counts(b.ctx, ""); err != nil || counts.Total() != 0 {
		t.Errorf("counts are %+v (%v), want nothing stored", counts, err)
	}
}

func TestAZeroFlowIsRefused(t *testing.T) {
	b := newBench(t)
	for name, flow := range map[string]*braid.Flow[string, string]{"zero": {}, "nil": nil} {
		worker := braid.NewWorker(b.client, braid.WorkerOptions{})
		flow.Handle(worker, func(context.Context, string, *braid.FanOut) error { return nil },
			func(context.Context, string, *braid.Results) (string, error) { return "", nil })
		flow.Declare(worker)
		if err := worker.Run(b.ctx); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "braid.NewFlow") {
			t.Errorf("%s flow, Handle: %v, want ErrInvalid that says braid.NewFlow", name, err)
		}
		worker = braid.NewWorker(b.client, braid.WorkerOptions{})
		flow.Handle(worker, nil, nil)
		if err := worker.Run(b.ctx); !errors.Is(err, braid.ErrInvalid) {
			t.Errorf("%s flow, Handle without functions: %v, want ErrInvalid", name, err)
		}
		parent := braid.NewFlow("flow", answer, braid.Children(flow))
		for verb, err := range map[string]error{
			"Enqueue":     second(flow.Enqueue(b.ctx, b.client, "x")),
			"EnqueueMany": second(flow.EnqueueMany(b.ctx, b.client, []string{"x"})),
			"Do":          second(flow.Do(b.ctx, b.client, "x")),
			"Request":     second(b.client.EnqueueMany(b.ctx, flow.Request("x"))),
			"Schedule":    flow.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), "x"),
			"Entry":       braid.SyncSchedules(b.ctx, b.client, "g", flow.Entry("k", braid.Every(time.Hour), "x")),
			"Unschedule":  second(flow.Unschedule(b.ctx, b.client, "k")),
			"CancelByKey": second(flow.CancelByKey(b.ctx, b.client, "k")),
			"KeyBy":       second(flow.KeyBy(func(s string) string { return s }).Enqueue(b.ctx, b.client, "x")),
			"DedupeBy":    second(flow.DedupeBy(func(s string) string { return s }).Enqueue(b.ctx, b.client, "x")),
			"MetadataBy":  second(flow.MetadataBy(nil).Enqueue(b.ctx, b.client, "x")),
			"RetryIf":     second(flow.RetryIf(nil).Enqueue(b.ctx, b.client, "x")),
			"a child":     second(parent.Enqueue(b.ctx, b.client, "x")),
			"Results":     second(flow.ResultsByKey(b.ctx, nil)),
		} {
			if !errors.Is(err, braid.ErrInvalid) {
				t.Errorf("%s flow, %s: %v, want ErrInvalid", name, verb, err)
			}
		}
		if _, err := flow.ByID(b.client, "id").Get(b.ctx); !errors.Is(err, braid.ErrNotFound) || flow.FlowName() != "" || flow.Name() != "" {
			t.Errorf("%s flow: %v, %q, %q", name, err, flow.FlowName(), flow.Name())
		}
		if page, err := flow.Children(b.ctx, b.client, "id", ""); err != nil || len(page.Children) != 0 {
			t.Errorf("%s flow: children %+v, %v", name, page, err)
		}
	}
}

func TestAFanOutThatNobodyMadeTakesNoChildren(t *testing.T) {
	for name, out := range map[string]*braid.FanOut{"zero": {}, "nil": nil} {
		answer.Child(out, "key", "x")
		var flow *braid.Flow[string, string]
		flow.Child(out, "key", "x")
		if err := out.Err(); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "nil or empty") || out.Len() != 0 {
			t.Errorf("%s: %v and %d children, want ErrInvalid and none", name, err, out.Len())
		}
	}
	for name, results := range map[string]*braid.Results{"zero": {}, "nil": nil} {
		if _, err := answer.ResultsByKey(t.Context(), results); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "collect") {
			t.Errorf("%s: %v, want ErrInvalid that says where results come from", name, err)
		}
	}
}

// second is a call's error.
func second[T any](_ T, err error) error { return err }

func TestWithoutAClientEveryCallIsRefused(t *testing.T) {
	job := braid.NewJob[string, string]("job")
	ctx := t.Context()
	for name, client := range map[string]*braid.Client{"nil": nil, "zero": {}, "of a nil store": braid.NewClient(nil)} {
		for verb, call := range everyCall(ctx, client, job, job.ByID(client, "id")) {
			if err := call(); !errors.Is(err, braid.ErrInvalid) {
				t.Errorf("client %s, %s: %v, want ErrInvalid", name, verb, err)
			}
		}
		for verb, err := range map[string]error{
			"the client's Enqueue":     second(client.Enqueue(ctx, "job", nil)),
			"the client's EnqueueMany": second(client.EnqueueMany(ctx, job.Request("x"))),
			"an empty EnqueueMany":     second(client.EnqueueMany(ctx)),
			"another store":            second(client.On("other").Queues(ctx)),
			"Now":                      second(client.Now()),
			"Children":                 second(client.Children(ctx, "id", "")),
			"Lease":                    second(client.Lease(ctx, braid.LeaseRequest{})),
			"Bulk":                     second(client.Bulk(ctx, braid.BulkRequest{})),
			"Why":                      second(client.Why(ctx, "id")),
			"RemoveMany":               second(client.RemoveMany(ctx, "id")),
			"StoreInfo":                second(client.StoreInfo()),
			"a raw schedule":           second(client.Schedule(ctx, "k", "job", braid.Every(time.Hour), nil)),
			"NewKeeper":                braid.NewKeeper(client, braid.KeeperOptions{}).Run(ctx),
			"NewWorker":                braid.NewWorker(client, braid.WorkerOptions{}).Run(ctx),
		} {
			if !errors.Is(err, braid.ErrInvalid) {
				t.Errorf("client %s, %s: %v, want ErrInvalid", name, verb, err)
			}
		}
		client.Stores()
		client.Close()
		if got := client.StoreName(); got != braid.DefaultStore && got != "" {
			t.Errorf("client %s is on store %q", name, got)
		}
	}
	var none *braid.TxClient
	for name, to := range map[string]braid.Enqueuer{"nil": nil, "nil transaction": none, "zero transaction": &braid.TxClient{}} {
		for verb, err := range map[string]error{
			"Enqueue":     second(job.Enqueue(ctx, to, "x")),
			"EnqueueMany": second(job.EnqueueMany(ctx, to, []string{"x"})),
		} {
			if !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "braid.NewClient") {
				t.Errorf("%s, %s: %v, want ErrInvalid that says braid.NewClient", name, verb, err)
			}
		}
	}
}

func TestAZeroHandleIsRefused(t *testing.T) {
	var handle braid.Handle[string]
	ctx := t.Context()
	for verb, err := range map[string]error{
		"Wait": second(handle.Wait(ctx)), "Get": second(handle.Get(ctx)), "Attempts": second(handle.Attempts(ctx)),
		"Cancel": handle.Cancel(ctx), "Retry": handle.Retry(ctx), "Promote": handle.Promote(ctx), "Remove": second(handle.Remove(ctx)),
	} {
		if !errors.Is(err, braid.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", verb, err)
		}
	}
}

func TestAWorkerThatNobodyMadeIsRefused(t *testing.T) {
	handler := func(context.Context, string) (string, error) { return "", nil }
	for name, worker := range map[string]*braid.Worker{"nil": nil, "zero": new(braid.Worker)} {
		answer.Handle(worker, handler)
		flow := braid.NewFlow("flow", answer, braid.Children(braid.NewJob[int, int]("child")))
		flow.Declare(worker)
		flow.Handle(worker, nil, nil)
		if err := worker.Run(t.Context()); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "braid.NewWorker") {
			t.Errorf("%s: %v, want ErrInvalid that says braid.NewWorker", name, err)
		}
		if err := worker.Stop(t.Context()); err != nil {
			t.Errorf("%s: Stop: %v", name, err)
		}
		if health := worker.Health(); len(health.Loops) != 0 {
			t.Errorf("%s: %+v", name, health)
		}
	}
}

func TestNilOptionsAreNone(t *testing.T) {
	client := braid.NewClient(memstore.New(), nil, braid.WithTracing(noop.NewTracerProvider(), nil))
	job := braid.NewJob[string, string]("job", nil)
	if _, err := job.Enqueue(t.Context(), client, "x", nil, braid.Dedupe("k", nil), braid.Keep(nil)); err != nil {
		t.Error(err)
	}
	if err := job.Schedule(t.Context(), client, "k", braid.Every(time.Hour), "x", nil); err != nil {
		t.Error(err)
	}
	worker := braid.NewWorker(client, braid.WorkerOptions{Middleware: []braid.Middleware{nil}})
	job.Handle(worker, func(context.Context, string) (string, error) { return "", nil })
	if err := worker.Run(t.Context()); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "Middleware[0]") {
		t.Errorf("nil middleware: %v, want ErrInvalid that names it", err)
	}
}

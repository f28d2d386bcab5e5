package braid_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

// traced runs one job and returns the spans of the enqueue and the run.
func traced(t *testing.T, fail bool, opts []braid.TracingOption, enqueue ...braid.EnqueueOption) (producer, consumer sdktrace.ReadOnlySpan) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	b := newBench(t, braid.WithTracing(provider, opts...))
	job := braid.NewJob[bool, braid.None]("job", braid.Attempts(1))
	worker := b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(ctx context.Context, fail bool) (braid.None, error) {
			if !trace.SpanContextFromContext(ctx).IsValid() {
				t.Error("the handler's context has no span")
			}
			if fail {
				return braid.None{}, errors.New("it failed")
			}
			return braid.None{}, nil
		})
	})
	_, err := job.Do(b.within(10*time.Second), b.client, fail, enqueue...)
	if (err != nil) != fail {
		t.Fatalf("Do: %v", err)
	}
	if err := worker.Stop(b.within(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, span := range spans.Ended() {
		switch span.Name() {
		case "enqueue job":
			producer = span
		case "run job":
			consumer = span
		}
	}
	if producer == nil || consumer == nil {
		t.Fatalf("spans are missing among %d", len(spans.Ended()))
	}
	return producer, consumer
}

func TestARunIsTheChildOfItsEnqueue(t *testing.T) {
	producer, consumer := traced(t, false, nil)
	if consumer.Parent().SpanID() != producer.SpanContext().SpanID() || consumer.SpanContext().TraceID() != producer.SpanContext().TraceID() {
		t.Errorf("the run's parent is %v, want the enqueue %v", consumer.Parent(), producer.SpanContext())
	}
	if producer.SpanKind() != trace.SpanKindProducer || consumer.SpanKind() != trace.SpanKindConsumer {
		t.Errorf("kinds are %v and %v", producer.SpanKind(), consumer.SpanKind())
	}
}

func TestARunThatWasDelayedOnPurposeIsLinked(t *testing.T) {
	for name, c := range map[string]struct {
		opts    []braid.TracingOption
		enqueue []braid.EnqueueOption
	}{
		"delayed":     {nil, []braid.EnqueueOption{braid.In(10 * time.Millisecond)}},
		"link always": {[]braid.TracingOption{braid.LinkRuns()}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			producer, consumer := traced(t, false, c.opts, c.enqueue...)
			if consumer.Parent().IsValid() || consumer.SpanContext().TraceID() == producer.SpanContext().TraceID() {
				t.Errorf("the run is in the enqueue's trace, want one of its own")
			}
			if links := consumer.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != producer.SpanContext().SpanID() {
				t.Errorf("links are %v, want one to the enqueue", links)
			}
		})
	}
}

func TestAFailedRunMarksItsSpan(t *testing.T) {
	if _, consumer := traced(t, true, nil); consumer.Status().Code != codes.Error || consumer.Status().Description != "it failed" {
		t.Errorf("status is %+v", consumer.Status())
	}
}

func TestTheEnqueuersSpanContextTravelsWithoutTracing(t *testing.T) {
	b := newBench(t)
	provider := sdktrace.NewTracerProvider()
	ctx, span := provider.Tracer("test").Start(b.ctx, "request")
	defer span.End()
	handle, err := b.client.Enqueue(ctx, "job", nil)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := b.store.Jobs(b.ctx, []string{handle.ID})
	if err != nil || jobs[0].Trace == nil || jobs[0].Trace.SpanID != span.SpanContext().SpanID().String() {
		t.Errorf("stored trace is %+v (%v)", jobs[0].Trace, err)
	}
}

func TestMetricsTellWhatHappened(t *testing.T) {
	reader := metric.NewManualReader()
	b := newBench(t, braid.WithMetrics(metric.NewMeterProvider(metric.WithReader(reader))))
	job := braid.NewJob[bool, braid.None]("job", braid.Attempts(1))
	worker := b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(_ context.Context, fail bool) (braid.None, error) {
			if fail {
				return braid.None{}, errors.New("it failed")
			}
			return braid.None{}, nil
		})
	})
	for _, fail := range []bool{false, false, true} {
		if _, err := job.Do(b.within(10*time.Second), b.client, fail); (err != nil) != fail {
			t.Fatal(err)
		}
	}
	if _, err := job.Enqueue(b.ctx, b.client, false, braid.In(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(b.ctx, &collected); err != nil {
		t.Fatal(err)
	}
	if err := worker.Stop(b.within(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	depth := sumOf(t, collected, "braid.queue.depth", attribute.String("state", "delayed"))
	if depth != 1 {
		t.Errorf("depth of delayed is %d, want 1", depth)
	}
	if err := reader.Collect(b.ctx, &collected); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		"braid.jobs.enqueued": 4, "braid.jobs.claimed": 3, "braid.runs": 3,
	} {
		if got := sumOf(t, collected, name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if got := sumOf(t, collected, "braid.runs", attribute.String("outcome", "failed")); got != 1 {
		t.Errorf("failed runs are %d, want 1", got)
	}
}

// sumOf adds up the points of an instrument that have the attributes.
func sumOf(t *testing.T, collected metricdata.ResourceMetrics, name string, with ...attribute.KeyValue) (sum int64) {
	t.Helper()
	add := func(points []metricdata.DataPoint[int64]) {
	point:
		for _, p := range points {
			for _, attr := range with {
				if value, ok := p.Attributes.Value(attr.Key); !ok || value != attr.Value {
					continue point
				}
			}
			sum += p.Value
		}
	}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				add(data.DataPoints)
			case metricdata.Gauge[int64]:
				add(data.DataPoints)
			}
		}
	}
	return sum
}

func TestNilProvidersAreRefused(t *testing.T) {
	for _, opt := range []braid.ClientOption{braid.WithTracing(nil), braid.WithMetrics(nil)} {
		if err := braid.NewClient(memstore.New(), opt).Ping(t.Context()); !errors.Is(err, braid.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
	}
}

package braid

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/braidmq/braid/driver"
)

// WithTracing makes the client and its workers record spans: one per enqueue, and
// one per run. A run's span is the child of the enqueue's, in whatever process; for
// a job that was delayed on purpose it begins a trace of its own, with a link, so
// that traces do not last for days. [LinkRuns] links always. Without this option
// no spans are recorded, but the span context of the enqueuer still travels with
// the job.
func WithTracing(provider trace.TracerProvider, opts ...TracingOption) ClientOption {
	return func(c *clientShared) {
		if provider == nil {
			c.check(&driver.InvalidError{Field: "tracer provider", Reason: "is nil; leave the option out to record no spans"})
			return
		}
		c.tracing.tracer = provider.Tracer(instrumentation)
		for _, opt := range opts {
			if opt != nil {
				opt(&c.tracing)
			}
		}
	}
}

// A TracingOption refines [WithTracing].
type TracingOption func(*tracing)

// LinkRuns makes every run begin a trace of its own, with a link to the enqueue's.
func LinkRuns() TracingOption { return func(t *tracing) { t.linkAll = true } }

// instrumentation names the source of spans and metrics.
const instrumentation = "github.com/braidmq/braid"

// tracing makes spans; without a tracer it only carries span contexts.
type tracing struct {
	tracer  trace.Tracer
	linkAll bool
}

// enqueue begins the span of an enqueue of n jobs like first. The carrier stamps
// the requests; end, which may be nil, ends the span.
func (t *tracing) enqueue(ctx context.Context, first *driver.EnqueueRequest, n int) (_ context.Context, _ carrier, end func(error)) {
	if t.tracer != nil {
		var span trace.Span
		ctx, span = t.tracer.Start(ctx, "enqueue "+first.Name, trace.WithSpanKind(trace.SpanKindProducer),
			trace.WithAttributes(attribute.String("braid.job", first.Name), attribute.String("braid.queue", first.Queue),
				attribute.Int("braid.batch", n)))
		end = func(err error) { endSpan(span, err) }
	}
	return ctx, carrierOf(trace.SpanContextFromContext(ctx)), end
}

// carrier writes a span context into requests; the zero carrier writes nothing.
type carrier struct{ at, later *driver.Trace }

func carrierOf(current trace.SpanContext) carrier {
	if !current.IsValid() {
		return carrier{}
	}
	at := driver.Trace{TraceID: current.TraceID().String(), SpanID: current.SpanID().String(), Sampled: current.IsSampled()}
	later := at
	later.Delayed = true
	return carrier{at: &at, later: &later}
}

func (c carrier) stamp(req *driver.EnqueueRequest) {
	if req.Delay > 0 {
		req.Trace = c.later
	} else {
		req.Trace = c.at
	}
}

// run wraps the run of a job in its span.
func (t *tracing) run(ctx context.Context, job *driver.Job, attempt int, run func(context.Context) error) error {
	if t.tracer == nil {
		return run(ctx)
	}
	opts := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("braid.job", job.Name), attribute.String("braid.queue", job.Queue),
		attribute.String("braid.id", job.ID), attribute.Int("braid.attempt", attempt))}
	if producer := spanContext(job.Trace); producer.IsValid() {
		if job.Trace.Delayed || t.linkAll {
			opts = append(opts, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: producer}))
		} else {
			ctx = trace.ContextWithRemoteSpanContext(ctx, producer)
		}
	}
	ctx, span := t.tracer.Start(ctx, "run "+job.Name, opts...)
	ended := false
	defer func() { // also when the handler panics
		if !ended {
			span.SetStatus(codes.Error, "panic")
			span.End()
		}
	}()
	err := run(ctx)
	ended = true
	endSpan(span, err)
	return err
}

func endSpan(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

// spanContext decodes a stored span context; it is invalid if there is none.
func spanContext(t *driver.Trace) trace.SpanContext {
	if t == nil {
		return trace.SpanContext{}
	}
	traceID, errTrace := trace.TraceIDFromHex(t.TraceID)
	spanID, errSpan := trace.SpanIDFromHex(t.SpanID)
	if errTrace != nil || errSpan != nil {
		return trace.SpanContext{}
	}
	var flags trace.TraceFlags
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: flags.WithSampled(t.Sampled), Remote: true,
	})
}

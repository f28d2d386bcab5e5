package braid

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/engine"
)

// WithMetrics makes the client and its workers record metrics. Their names, units
// and attributes are listed in docs/concepts/telemetry.md. Without this option
// nothing is recorded.
func WithMetrics(provider metric.MeterProvider) ClientOption {
	return func(c *clientShared) {
		if provider == nil {
			c.check(&driver.InvalidError{Field: "meter provider", Reason: "is nil; leave the option out to record no metrics"})
			return
		}
		m, err := newMetrics(provider.Meter(instrumentation))
		c.check(err)
		c.metrics = m
	}
}

// metrics are the instruments of a client and its workers. All methods may be
// called on nil, and do nothing then.
type metrics struct {
	meter          metric.Meter
	enqueues       metric.Int64Counter
	claims         metric.Int64Counter
	runs           metric.Int64Counter
	runTime        metric.Float64Histogram
	waitTime       metric.Float64Histogram
	locksLost      metric.Int64Counter
	stalls         metric.Int64Counter
	ticks          metric.Int64Counter
	swept          metric.Int64Counter
	scheduleErrors metric.Int64Counter
	loopErrors     metric.Int64Counter
	fanOuts        metric.Int64Counter
	reports        metric.Int64Counter
	cascades       metric.Int64Counter
	inFlight       metric.Int64ObservableGauge
	stuck          metric.Int64ObservableGauge
	depth          metric.Int64ObservableGauge
	outbox         metric.Int64ObservableGauge
	outboxAge      metric.Float64ObservableGauge
}

// durationBuckets, in seconds, reach from a no-op to a long import.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}

func newMetrics(meter metric.Meter) (*metrics, error) {
	b := instruments{meter: meter}
	m := &metrics{
		meter:          meter,
		enqueues:       b.counter("braid.jobs.enqueued", "{job}", "Enqueues that were answered, by whether they were duplicates"),
		claims:         b.counter("braid.jobs.claimed", "{job}", "Jobs that this worker claimed"),
		runs:           b.counter("braid.runs", "{run}", "Runs that ended, by outcome"),
		runTime:        b.histogram("braid.run.duration", "How long handlers ran, by outcome"),
		waitTime:       b.histogram("braid.wait.duration", "How long jobs waited, from runnable to claimed"),
		locksLost:      b.counter("braid.locks.lost", "{lock}", "Runs whose lock was lost"),
		stalls:         b.counter("braid.stalls.recovered", "{job}", "Jobs that were recovered from a lost worker, by whether they failed"),
		ticks:          b.counter("braid.schedule.ticks", "{job}", "Jobs that schedules enqueued"),
		swept:          b.counter("braid.swept", "{entry}", "What retention deleted, by kind"),
		scheduleErrors: b.counter("braid.schedule.errors", "{schedule}", "Due schedules that cannot fire"),
		loopErrors:     b.counter("braid.loop.errors", "{run}", "Runs of housekeeping loops that failed"),
		fanOuts:        b.counter("braid.flow.children", "{child}", "Children that flows handed out"),
		reports:        b.counter("braid.flow.reports", "{report}", "Outcomes of children that were brought to their parents"),
		cascades:       b.counter("braid.flow.cascades", "{child}", "Children that were cancelled because their flow settled early"),
		inFlight:       b.gauge("braid.jobs.in_flight", "{job}", "Jobs that handlers run now"),
		stuck:          b.gauge("braid.handlers.stuck", "{handler}", "Handlers that ignored the end of their context"),
		depth:          b.gauge("braid.queue.depth", "{job}", "Jobs of a queue, by state"),
		outbox:         b.gauge("braid.outbox.backlog", "{entry}", "Children's outcomes that wait to reach their parents"),
	}
	age, err := meter.Float64ObservableGauge("braid.outbox.age", metric.WithUnit("s"),
		metric.WithDescription("Age of the oldest entry of the outbox"))
	m.outboxAge = age
	if err == nil {
		err = b.err
	}
	return m, err
}

// instruments makes instruments and keeps the first error.
type instruments struct {
	meter metric.Meter
	err   error
}

func (b *instruments) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *instruments) counter(name, unit, description string) metric.Int64Counter {
	c, err := b.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.keep(err)
	return c
}

func (b *instruments) gauge(name, unit, description string) metric.Int64ObservableGauge {
	g, err := b.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	b.keep(err)
	return g
}

func (b *instruments) histogram(name, description string) metric.Float64Histogram {
	h, err := b.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(durationBuckets...))
	b.keep(err)
	return h
}

func (m *metrics) enqueued(ctx context.Context, store string, req *driver.EnqueueRequest, result driver.EnqueueResult) {
	if m == nil {
		return
	}
	m.enqueues.Add(ctx, 1, metric.WithAttributes(attribute.String("store", store), attribute.String("queue", req.Queue),
		attribute.String("job", req.Name), attribute.Bool("duplicate", result.Duplicate)))
}

func (m *metrics) fannedOut(store, flow string, children int) {
	if m != nil {
		m.fanOuts.Add(context.Background(), int64(children), metric.WithAttributes(attribute.String("store", store), attribute.String("flow", flow)))
	}
}

func (m *metrics) reported(store string, reports int) {
	if m != nil {
		m.reports.Add(context.Background(), int64(reports), metric.WithAttributes(attribute.String("store", store)))
	}
}

func (m *metrics) cascaded(store string, children int) {
	if m != nil {
		m.cascades.Add(context.Background(), int64(children), metric.WithAttributes(attribute.String("store", store)))
	}
}

// storeObserver records what the engine and the upkeep of one store do.
type storeObserver struct {
	*metrics
	store attribute.KeyValue
}

// observer returns the recorder for one store; nil if nothing is recorded.
func (m *metrics) observer(store string) *storeObserver {
	if m == nil {
		return nil
	}
	return &storeObserver{metrics: m, store: attribute.String("store", store)}
}

// Claimed implements engine.Observer.
func (o *storeObserver) Claimed(queue string, jobs int) {
	if jobs > 0 {
		o.claims.Add(context.Background(), int64(jobs), metric.WithAttributes(o.store, attribute.String("queue", queue)))
	}
}

// RunsEnded implements engine.Observer.
func (o *storeObserver) RunsEnded(runs []engine.RunEnd) {
	ctx := context.Background()
	for _, run := range runs {
		job := []attribute.KeyValue{o.store, attribute.String("queue", run.Job.Queue), attribute.String("job", run.Job.Name)}
		outcome := metric.WithAttributes(append(job, attribute.String("outcome", run.Outcome))...)
		o.runs.Add(ctx, 1, outcome)
		o.runTime.Record(ctx, run.Run.Seconds(), outcome)
		o.waitTime.Record(ctx, run.Wait.Seconds(), metric.WithAttributes(job...))
	}
}

// LocksLost implements engine.Observer.
func (o *storeObserver) LocksLost(runs int) {
	o.locksLost.Add(context.Background(), int64(runs), metric.WithAttributes(o.store))
}

// Stuck implements engine.Observer; the gauge reads the engine's own count.
func (o *storeObserver) Stuck(int) {}

// StallsRecovered implements maintain.Observer.
func (o *storeObserver) StallsRecovered(recovered, failed int) {
	ctx := context.Background()
	o.stalls.Add(ctx, int64(recovered), metric.WithAttributes(o.store, attribute.Bool("failed", false)))
	o.stalls.Add(ctx, int64(failed), metric.WithAttributes(o.store, attribute.Bool("failed", true)))
}

// Ticks implements maintain.Observer.
func (o *storeObserver) Ticks(jobs int) {
	o.ticks.Add(context.Background(), int64(jobs), metric.WithAttributes(o.store))
}

// ScheduleFailed implements maintain.Observer.
func (o *storeObserver) ScheduleFailed(string, error) {
	o.scheduleErrors.Add(context.Background(), 1, metric.WithAttributes(o.store))
}

// SweptHistory implements maintain.Observer.
func (o *storeObserver) SweptHistory(n int) { o.sweptKind("history", n) }

// SweptDedupe implements maintain.Observer.
func (o *storeObserver) SweptDedupe(n int) { o.sweptKind("dedupe", n) }

// SweptFlows implements maintain.Observer.
func (o *storeObserver) SweptFlows(n int) { o.sweptKind("flows", n) }

func (o *storeObserver) sweptKind(kind string, n int) {
	o.swept.Add(context.Background(), int64(n), metric.WithAttributes(o.store, attribute.String("kind", kind)))
}

// LoopFailed implements maintain.Observer.
func (o *storeObserver) LoopFailed(loop string, _ error) {
	o.loopErrors.Add(context.Background(), 1, metric.WithAttributes(o.store, attribute.String("loop", loop)))
}

// observeWorker reads the gauges of a worker's part whenever metrics are collected,
// until the function it returns is called. It does nothing without metrics.
func (m *metrics) observeWorker(part storeWorker) (stop func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	store := part.store
	at := attribute.String("store", store.name)
	registration, err := m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		stats := part.engine.Stats()
		o.ObserveInt64(m.stuck, int64(len(stats.Stuck)), metric.WithAttributes(at))
		ctx, cancel := context.WithTimeout(ctx, gaugeTimeout)
		defer cancel()
		for _, q := range stats.Queues {
			queue := attribute.String("queue", q.Queue)
			o.ObserveInt64(m.inFlight, int64(q.Running), metric.WithAttributes(at, queue))
			if err := m.observeDepth(ctx, o, store, q.Queue); err != nil {
				return err
			}
		}
		return m.observeOutbox(ctx, o, store)
	}, m.inFlight, m.stuck, m.depth, m.outbox, m.outboxAge)
	if err != nil {
		return nil, err
	}
	return func() { _ = registration.Unregister() }, nil // fails only if it is done already
}

// observeDepth reads how many jobs a queue has, at a constant cost.
func (m *metrics) observeDepth(ctx context.Context, o metric.Observer, store *boundStore, queue string) error {
	counts, err := store.driver.Counts(ctx, queue)
	if err != nil {
		return err
	}
	for _, state := range driver.States {
		o.ObserveInt64(m.depth, *counts.Of(state), metric.WithAttributes(attribute.String("store", store.name),
			attribute.String("queue", queue), attribute.String("state", state.String())))
	}
	return nil
}

// observeOutbox reads how far the relay is behind.
func (m *metrics) observeOutbox(ctx context.Context, o metric.Observer, store *boundStore) error {
	at := metric.WithAttributes(attribute.String("store", store.name))
	backlog, err := store.driver.OutboxBacklog(ctx)
	if err != nil {
		return err
	}
	o.ObserveInt64(m.outbox, backlog.Entries, at)
	age := driver.Millis(0)
	if oldest, ok := backlog.Oldest.Get(); ok {
		age = max(0, store.clock.Now().Sub(oldest))
	}
	o.ObserveFloat64(m.outboxAge, age.Std().Seconds(), at)
	return nil
}

// observeStore reads the gauges of a whole store, every queue of it, whenever metrics
// are collected, until the function it returns is called.
func (m *metrics) observeStore(store *boundStore) (stop func(), err error) {
	if m == nil {
		return func() {}, nil
	}
	registration, err := m.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, gaugeTimeout)
		defer cancel()
		queues, err := store.driver.Queues(ctx)
		if err != nil {
			return err
		}
		for _, queue := range queues[:min(len(queues), mostGaugedQueues)] {
			if err := m.observeDepth(ctx, o, store, queue); err != nil {
				return err
			}
		}
		return m.observeOutbox(ctx, o, store)
	}, m.depth, m.outbox, m.outboxAge)
	if err != nil {
		return nil, err
	}
	return func() { _ = registration.Unregister() }, nil // fails only if it is done already
}

// mostGaugedQueues bounds the time series of a store whose queues are made up by its
// producers.
const mostGaugedQueues = 500

// gaugeTimeout bounds the calls to a store that one reading of the gauges makes.
const gaugeTimeout = 2 * time.Second

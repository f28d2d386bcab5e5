package braid

import (
	"context"
	"iter"
)

// The verbs of a flow are those of its job. They are written out because those that an
// embedded job lends panic where the flow is nil; these return an error then.

func (f *Flow[P, R]) base() *Job[P, R] {
	if f == nil {
		return nil
	}
	return f.Job
}

// definition is the flow's job without its types.
func (f *Flow[P, R]) definition() *settings { return f.base().definition() }

// Name returns the name of the flow's job; see [Flow.FlowName].
func (f *Flow[P, R]) Name() string { return f.base().Name() }

// Enqueue is [Job.Enqueue] for the flow's parent.
func (f *Flow[P, R]) Enqueue(ctx context.Context, to Enqueuer, payload P, opts ...EnqueueOption) (*Handle[R], error) {
	return f.base().Enqueue(ctx, to, payload, opts...)
}

// EnqueueMany is [Job.EnqueueMany] for the flow's parent.
func (f *Flow[P, R]) EnqueueMany(ctx context.Context, to Enqueuer, payloads []P, opts ...EnqueueOption) ([]*Handle[R], error) {
	return f.base().EnqueueMany(ctx, to, payloads, opts...)
}

// Do is [Job.Do] for the flow's parent.
func (f *Flow[P, R]) Do(ctx context.Context, client *Client, payload P, opts ...EnqueueOption) (R, error) {
	return f.base().Do(ctx, client, payload, opts...)
}

// ByID is [Job.ByID] for the flow's parent.
func (f *Flow[P, R]) ByID(client *Client, id string) *Handle[R] { return f.base().ByID(client, id) }

// CancelByKey is [Job.CancelByKey] for the flow's parent.
func (f *Flow[P, R]) CancelByKey(ctx context.Context, client *Client, key string) (bool, error) {
	return f.base().CancelByKey(ctx, client, key)
}

// Request is [Job.Request] for the flow's parent.
func (f *Flow[P, R]) Request(payload P, opts ...EnqueueOption) Request {
	return f.base().Request(payload, opts...)
}

// Schedule is [Job.Schedule] for the flow's parent.
func (f *Flow[P, R]) Schedule(ctx context.Context, client *Client, key string, cadence Cadence, payload P, opts ...ScheduleOption) error {
	return f.base().Schedule(ctx, client, key, cadence, payload, opts...)
}

// Unschedule is [Job.Unschedule] for the flow's parent.
func (f *Flow[P, R]) Unschedule(ctx context.Context, client *Client, key string) (bool, error) {
	return f.base().Unschedule(ctx, client, key)
}

// Entry is [Job.Entry] for the flow's parent.
func (f *Flow[P, R]) Entry(key string, cadence Cadence, payload P, opts ...ScheduleOption) ScheduleEntry {
	return f.base().Entry(key, cadence, payload, opts...)
}

// KeyBy is [Job.KeyBy] for the flow's parent; it returns the job, to enqueue with.
func (f *Flow[P, R]) KeyBy(key func(P) string) *Job[P, R] { return f.base().KeyBy(key) }

// DedupeBy is [Job.DedupeBy] for the flow's parent; it returns the job, to enqueue with.
func (f *Flow[P, R]) DedupeBy(key func(P) string, opts ...DedupeOption) *Job[P, R] {
	return f.base().DedupeBy(key, opts...)
}

// MetadataBy is [Job.MetadataBy] for the flow's parent; it returns the job, to enqueue
// with.
func (f *Flow[P, R]) MetadataBy(metadata func(P) map[string]string) *Job[P, R] {
	return f.base().MetadataBy(metadata)
}

// RetryIf is [Job.RetryIf] for the flow's parent; it returns the job. To give a flow a
// rule, give it to the job before [NewFlow].
func (f *Flow[P, R]) RetryIf(retryable func(error) bool) *Job[P, R] {
	return f.base().RetryIf(retryable)
}

// Child is [Job.Child] for a flow within a flow.
func (f *Flow[P, R]) Child(out *FanOut, key string, payload P, opts ...ChildOption) {
	f.base().Child(out, key, payload, opts...)
}

// Results is [Job.Results] for flows within a flow.
func (f *Flow[P, R]) Results(ctx context.Context, results *Results) iter.Seq2[ChildResult[R], error] {
	return f.base().Results(ctx, results)
}

// ResultsByKey is [Job.ResultsByKey] for flows within a flow.
func (f *Flow[P, R]) ResultsByKey(ctx context.Context, results *Results) (map[string]ChildResult[R], error) {
	return f.base().ResultsByKey(ctx, results)
}

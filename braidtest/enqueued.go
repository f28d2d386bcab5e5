package braidtest

import (
	"encoding/json"
	"time"

	"github.com/braidmq/braid"
)

// Job is a job that was enqueued, as it was then: it does not matter whether it has run
// since, or is kept.
type Job[P any] struct {
	ID        string
	Payload   P
	Queue     string
	Priority  int
	Attempts  int           // how often it may run
	Delay     time.Duration // until it could run
	Timeout   time.Duration // of each run; 0: the worker's
	At        time.Time     // when it was enqueued
	Metadata  map[string]string
	DedupeKey string
	Duplicate bool   // a job stood in its way: this one was not stored, and ID is that of the other
	Store     string // the name of the store
	Flow      string // of a flow's child: the id of the parent
	ChildKey  string // of a flow's child
}

// Enqueued returns all that was enqueued of a definition, oldest first: by the code
// under test, by handlers, as children of flows, and by schedules. Duplicates are there,
// too. A flow's own job is its field Job. A payload that does not have the definition's
// type ends the test.
func Enqueued[P, R any](t *T, job *braid.Job[P, R]) []Job[P] {
	t.Helper()
	var jobs []Job[P]
	for _, r := range t.journal.enqueued(job.Name()) {
		found := Job[P]{
			ID: r.id, Queue: r.request.Queue, Priority: int(r.request.Priority), Attempts: int(r.request.AttemptsMax),
			Delay: r.request.Delay.Std(), At: r.at, Metadata: r.request.Metadata, Duplicate: r.duplicate, Store: r.store,
		}
		if len(r.request.Payload) > 0 {
			if err := json.Unmarshal(r.request.Payload, &found.Payload); err != nil {
				t.Fatalf("braidtest: the payload of job %q (%s) is no %T: %v\n%s", r.id, job.Name(), found.Payload, err, r.request.Payload)
			}
		}
		if timeout, set := r.request.Timeout.Get(); set {
			found.Timeout = timeout.Std()
		}
		if r.request.Dedupe != nil {
			found.DedupeKey = r.request.Dedupe.Key
		}
		if p := r.request.Parent; p != nil {
			found.Flow, found.ChildKey = p.FlowID, p.ChildKey
		}
		jobs = append(jobs, found)
	}
	return jobs
}

// RequireOne returns the one job that was enqueued of a definition, and ends the test
// unless there is exactly one. Duplicates do not count.
func RequireOne[P, R any](t *T, job *braid.Job[P, R]) Job[P] {
	t.Helper()
	var stored []Job[P]
	for _, found := range Enqueued(t, job) {
		if !found.Duplicate {
			stored = append(stored, found)
		}
	}
	if len(stored) != 1 {
		t.Fatalf("braidtest: %d jobs %q were enqueued, not one; enqueued were: %s", len(stored), job.Name(), t.allEnqueued())
	}
	return stored[0]
}

// RequireNone ends the test if a job of one of the definitions was enqueued; without
// definitions, if any was.
func RequireNone(t *T, jobs ...braid.AnyJob) {
	t.Helper()
	if len(jobs) == 0 && len(t.journal.enqueued("")) > 0 {
		t.Fatalf("braidtest: jobs were enqueued: %s", t.allEnqueued())
	}
	for _, job := range jobs {
		if found := t.journal.enqueued(job.Name()); len(found) > 0 {
			t.Fatalf("braidtest: a job %q was enqueued: %s", job.Name(), found[0].request.Payload)
		}
	}
}

// allEnqueued lists what was enqueued, for people.
func (t *T) allEnqueued() string {
	var names []string
	for _, r := range t.journal.enqueued("") {
		text := r.request.Name
		if r.duplicate {
			text += " (duplicate)"
		}
		names = append(names, text)
	}
	if len(names) == 0 {
		return "none"
	}
	return tally(names)
}

// Do enqueues a job, runs it with whatever follows from it, and returns its result: the
// whole way of a job, in one call, on a fake clock. The test needs a worker that handles
// it; see [T.Work].
func Do[P, R any](t *T, job *braid.Job[P, R], payload P, options ...braid.EnqueueOption) (R, error) {
	t.Helper()
	h, err := job.Enqueue(t.Context(), t.Client, payload, options...)
	if err != nil {
		var none R
		return none, err
	}
	t.Drain()
	return h.Wait(t.Context())
}

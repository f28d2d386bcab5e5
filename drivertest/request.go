package drivertest

import "github.com/braidmq/braid/driver"

// What requests and claims of the cases say unless a case cares.
const (
	someName  = "work"
	someQueue = "q"
	lockFor   = driver.Millis(30_000)
)

// edit changes a request.
type edit func(r *driver.EnqueueRequest)

// request returns a request for a plain job; an empty id lets the store assign one.
func request(id string, edits ...edit) driver.EnqueueRequest {
	r := driver.EnqueueRequest{ID: id, Spec: driver.Spec{
		Name: someName, Queue: someQueue, Payload: []byte(`{"to":"` + id + `"}`), AttemptsMax: 3,
	}}
	for _, e := range edits {
		e(&r)
	}
	return r
}

func named(name string) edit { return func(r *driver.EnqueueRequest) { r.Name = name } }

func inQueue(queue string) edit { return func(r *driver.EnqueueRequest) { r.Queue = queue } }

func payload(json string) edit { return func(r *driver.EnqueueRequest) { r.Payload = []byte(json) } }

func priority(p int32) edit { return func(r *driver.EnqueueRequest) { r.Priority = p } }

func after(d driver.Millis) edit { return func(r *driver.EnqueueRequest) { r.Delay = d } }

// metadata sets pairs of keys and values.
func metadata(pairs ...string) edit {
	return func(r *driver.EnqueueRequest) {
		r.Metadata = make(map[string]string)
		for i := 0; i+1 < len(pairs); i += 2 {
			r.Metadata[pairs[i]] = pairs[i+1]
		}
	}
}

func keep(k driver.Keep) edit { return func(r *driver.EnqueueRequest) { r.Keep = &k } }

// dedupe takes the key until the job has finished.
func dedupe(key string) edit {
	return func(r *driver.EnqueueRequest) { r.Dedupe = &driver.Dedupe{Key: key} }
}

// window takes the key for ttl.
func window(key string, ttl driver.Millis) edit {
	return func(r *driver.EnqueueRequest) { r.Dedupe = &driver.Dedupe{Key: key, TTL: driver.Some(ttl)} }
}

// extending and replacing come behind dedupe or window.
func extending(r *driver.EnqueueRequest) { r.Dedupe.Extend = true }
func replacing(r *driver.EnqueueRequest) { r.Dedupe.Replace = true }

func child(e driver.Envelope) edit { return func(r *driver.EnqueueRequest) { r.Parent = &e } }

// everything sets every field of a job's spec to something that is not its zero
// value.
func everything(r *driver.EnqueueRequest) {
	r.Payload = []byte(`{"big":9007199254740993,"list":[],"map":{},"none":null}`)
	r.Metadata = map[string]string{"tenant": "t-1", "empty": ""}
	r.Priority = 7
	r.AttemptsMax = 5
	r.Backoff = &driver.Backoff{Kind: driver.BackoffExponential, Delay: 1500, Factor: 2.5, Max: 60_000, Jitter: 0.25}
	r.Keep = &driver.Keep{
		Completed: driver.Retention{Count: driver.Some(int64(10)), Age: driver.Some(driver.Millis(86_400_000))},
		Failed:    driver.Retention{Count: driver.Some(int64(100))},
		Cancelled: driver.Retention{Age: driver.Some(driver.Millis(86_400_000))},
	}
	r.Timeout = driver.Some(driver.Millis(0))
	r.Trace = &driver.Trace{
		TraceID: "0af7651916cd43dd8448eb211c80319c", SpanID: "b7ad6b7169203331", Sampled: true, Delayed: true,
	}
	r.Parent = &driver.Envelope{
		FlowName: "digest", FlowID: "parent-1", Run: "run-1", ChildKey: "child/1", ParentStoreKey: "main", Depth: 2,
	}
}

package braid_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// defaults is what a definition without options says.
func defaults() driver.EnqueueRequest {
	return driver.EnqueueRequest{Spec: driver.Spec{Name: "job", Queue: "default", Payload: []byte(`"x"`), AttemptsMax: 10}}
}

// everyOption is each option with what it changes of the defaults.
var everyOption = []struct {
	name   string
	option any
	want   func(*driver.EnqueueRequest)
}{
	{"Queue", braid.Queue("q"), func(r *driver.EnqueueRequest) { r.Queue = "q" }},
	{"Priority", braid.Priority(-3), func(r *driver.EnqueueRequest) { r.Priority = -3 }},
	{"Attempts", braid.Attempts(4), func(r *driver.EnqueueRequest) { r.AttemptsMax = 4 }},
	{"Timeout", braid.Timeout(time.Second), func(r *driver.EnqueueRequest) { r.Timeout = driver.Some[driver.Millis](1000) }},
	{"Timeout(0)", braid.Timeout(0), func(r *driver.EnqueueRequest) { r.Timeout = driver.Some[driver.Millis](0) }},
	{"Backoff(Fixed)", braid.Backoff(braid.Fixed(time.Second)), func(r *driver.EnqueueRequest) {
		r.Backoff = &driver.Backoff{Kind: driver.BackoffFixed, Delay: 1000}
	}},
	{"Backoff(Exponential)", braid.Backoff(braid.Exponential(time.Second)), func(r *driver.EnqueueRequest) {
		r.Backoff = &driver.Backoff{Kind: driver.BackoffExponential, Delay: 1000, Factor: 2}
	}},
	{"Backoff with all", braid.Backoff(braid.Exponential(time.Second).Factor(3).Cap(time.Minute).Jitter(0.5)), func(r *driver.EnqueueRequest) {
		r.Backoff = &driver.Backoff{Kind: driver.BackoffExponential, Delay: 1000, Factor: 3, Max: 60_000, Jitter: 0.5}
	}},
	{"Keep", braid.Keep(braid.KeepLast(3), braid.KeepFor(time.Second)), func(r *driver.EnqueueRequest) {
		both := driver.Retention{Count: driver.Some[int64](3), Age: driver.Some[driver.Millis](1000)}
		r.Keep = &driver.Keep{Completed: both, Failed: both, Cancelled: both}
	}},
	{"KeepCompleted", braid.KeepCompleted(braid.KeepLast(0)), func(r *driver.EnqueueRequest) {
		r.Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some[int64](0)}}
	}},
	{"KeepFailed", braid.KeepFailed(braid.KeepFor(0)), func(r *driver.EnqueueRequest) {
		r.Keep = &driver.Keep{Failed: driver.Retention{Age: driver.Some[driver.Millis](0)}}
	}},
	{"KeepCancelled", braid.KeepCancelled(braid.KeepLast(1)), func(r *driver.EnqueueRequest) {
		r.Keep = &driver.Keep{Cancelled: driver.Retention{Count: driver.Some[int64](1)}}
	}},
	{"In", braid.In(time.Minute), func(r *driver.EnqueueRequest) { r.Delay = 60_000 }},
	{"ID", braid.ID("id"), func(r *driver.EnqueueRequest) { r.ID = "id" }},
	{"Metadata", braid.Metadata(map[string]string{"k": "v"}), func(r *driver.EnqueueRequest) { r.Metadata = map[string]string{"k": "v"} }},
	{"Dedupe", braid.Dedupe("k"), func(r *driver.EnqueueRequest) { r.Dedupe = &driver.Dedupe{Key: "k"} }},
	{"Dedupe with all", braid.Dedupe("k", braid.Window(time.Second), braid.ExtendWindow(), braid.ReplaceDelayed()), func(r *driver.EnqueueRequest) {
		r.Dedupe = &driver.Dedupe{Key: "k", TTL: driver.Some[driver.Millis](1000), Extend: true, Replace: true}
	}},
}

func TestEveryOptionReachesTheStore(t *testing.T) {
	stub := newStub()
	b := newBenchOn(t, stub)
	var sent []driver.EnqueueRequest
	stub.enqueue = func(_ context.Context, batch []driver.EnqueueRequest) ([]driver.EnqueueResult, error) {
		sent = append(sent, batch...)
		return make([]driver.EnqueueResult, len(batch)), nil
	}
	plain := braid.NewJob[string, string]("job")
	for _, c := range everyOption {
		want := defaults()
		c.want(&want)
		jobs := make(map[string]*braid.Job[string, string])
		var opts []braid.EnqueueOption
		if option, ok := c.option.(braid.JobOption); ok {
			jobs["of the definition"] = braid.NewJob[string, string]("job", option)
		}
		if option, ok := c.option.(braid.EnqueueOption); ok {
			jobs["of the enqueue"] = plain
			opts = append(opts, option)
		}
		for where, job := range jobs {
			if where == "of the definition" {
				opts = nil
			} else {
				opts = []braid.EnqueueOption{c.option.(braid.EnqueueOption)}
			}
			sent = nil
			if _, err := job.Enqueue(b.ctx, b.client, "x", opts...); err != nil {
				t.Fatal(err)
			}
			if _, err := job.EnqueueMany(b.ctx, b.client, []string{"x"}, opts...); err != nil {
				t.Fatal(err)
			}
			if _, err := b.client.EnqueueMany(b.ctx, job.Request("x", opts...)); err != nil {
				t.Fatal(err)
			}
			for _, got := range sent {
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s: sent %+v, want %+v", c.name, where, got, want)
				}
			}
			if len(sent) != 3 {
				t.Errorf("%s %s: %d were sent", c.name, where, len(sent))
			}
		}
		if len(opts) == 0 {
			continue
		}
		sent = nil
		if _, err := b.client.Enqueue(b.ctx, "job", json.RawMessage(`"x"`), c.option.(braid.EnqueueOption)); err != nil || !reflect.DeepEqual(sent[0], want) {
			t.Errorf("%s without a definition: sent %+v (%v), want %+v", c.name, sent, err, want)
		}
	}
}

func TestEveryOptionReachesTheSchedule(t *testing.T) {
	b := newBench(t)
	plain := braid.NewJob[string, string]("job")
	check := func(name, where string, want driver.Schedule) {
		t.Helper()
		got, err := b.store.Schedule(b.ctx, "k")
		got.NextRunAt = 0
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: stored %+v (%v), want %+v", name, where, got, err, want)
		}
	}
	schedule := func(want driver.EnqueueRequest) driver.Schedule {
		return driver.Schedule{Key: "k", JobName: want.Name, Queue: want.Queue, Every: 3_600_000, Payload: want.Payload,
			Metadata: want.Metadata, Priority: want.Priority, AttemptsMax: want.AttemptsMax, Backoff: want.Backoff,
			Keep: want.Keep, Timeout: want.Timeout}
	}
	for _, c := range everyOption {
		want := defaults()
		c.want(&want)
		if want.Delay > 0 { // a slot's job runs at its slot
			want.Delay = 0
		}
		if option, ok := c.option.(braid.JobOption); ok {
			job := braid.NewJob[string, string]("job", option)
			if err := job.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), "x"); err != nil {
				t.Fatal(err)
			}
			check(c.name, "of the definition", schedule(want))
		}
		if option, ok := c.option.(braid.ScheduleOption); ok {
			if err := plain.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), "x", option); err != nil {
				t.Fatal(err)
			}
			check(c.name, "of the schedule", schedule(want))
		}
	}
	if err := plain.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), "x", braid.SkipOverlap()); err != nil {
		t.Fatal(err)
	}
	want := schedule(defaults())
	want.Overlap = driver.OverlapSkip
	check("SkipOverlap", "of the schedule", want)
}

func TestInfosTellEveryOption(t *testing.T) {
	b := newBench(t)
	age, count, timeout := time.Hour, int64(3), time.Minute
	backoff := &braid.BackoffInfo{Kind: "exponential", Delay: time.Second, Factor: 3, Cap: time.Hour, Jitter: 0.25}
	keep := &braid.KeepInfo{Completed: braid.RetentionInfo{Last: &count}, Failed: braid.RetentionInfo{Last: &count, For: &age}}
	job := braid.NewJob[string, string]("job", braid.Timeout(timeout),
		braid.Backoff(braid.Exponential(time.Second).Factor(3).Cap(time.Hour).Jitter(0.25)),
		braid.KeepCompleted(braid.KeepLast(3)), braid.KeepFailed(braid.KeepLast(3), braid.KeepFor(age)))
	handle, err := job.Enqueue(b.ctx, b.client, "x")
	if err != nil {
		t.Fatal(err)
	}
	info, err := handle.Get(b.ctx)
	if err != nil || !reflect.DeepEqual(info.Backoff, backoff) || !reflect.DeepEqual(info.Keep, keep) || *info.Timeout != timeout {
		t.Errorf("job is %+v (%v), want %+v, %+v and %v", info, err, backoff, keep, timeout)
	}
	if err := job.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), "x", braid.SkipOverlap()); err != nil {
		t.Fatal(err)
	}
	schedule, err := b.client.GetSchedule(b.ctx, "k")
	if err != nil || !reflect.DeepEqual(schedule.Backoff, backoff) || !reflect.DeepEqual(schedule.Keep, keep) ||
		*schedule.Timeout != timeout || !schedule.SkipOverlap {
		t.Errorf("schedule is %+v (%v), want %+v, %+v and %v, no overlap", schedule, err, backoff, keep, timeout)
	}
	text, err := json.Marshal(info.Keep)
	if want := `{"completed":{"last":3},"failed":{"last":3,"for":3600000000000}}`; err != nil || string(text) != want {
		t.Errorf("as JSON: %s (%v), want %s", text, err, want)
	}

	plain := braid.NewJob[string, string]("plain", braid.Backoff(braid.Fixed(0)))
	if handle, err = plain.Enqueue(b.ctx, b.client, "x"); err != nil {
		t.Fatal(err)
	}
	info, err = handle.Get(b.ctx)
	if err != nil || !reflect.DeepEqual(info.Backoff, &braid.BackoffInfo{Kind: "fixed"}) || info.Keep != nil || info.Timeout != nil {
		t.Errorf("job is %+v (%v), want a fixed backoff and nothing else", info, err)
	}
}

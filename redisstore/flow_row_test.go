package redisstore

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidmq/braid/driver"
)

// drawSpec draws a spec in which each part may be missing.
func drawSpec(t *rapid.T) driver.Spec {
	text := func(label string) string { return rapid.StringN(0, 20, 40).Draw(t, label) }
	some := func(label string) bool { return rapid.Bool().Draw(t, label) }
	number := func(label string) int64 { return rapid.Int64().Draw(t, label) }
	retention := func() (r driver.Retention) {
		if some("count") {
			r.Count = driver.Some(number("count"))
		}
		if some("age") {
			r.Age = driver.Some(driver.Millis(number("age")))
		}
		return r
	}
	spec := driver.Spec{
		Name: text("name"), Queue: text("queue"),
		Priority: rapid.Int32().Draw(t, "priority"), AttemptsMax: rapid.Int32().Draw(t, "attempts"),
	}
	if some("payload") {
		spec.Payload = rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "payload")
	}
	if some("metadata") {
		spec.Metadata = map[string]string{text("key"): text("value"), "second": ""}
	}
	if some("backoff") {
		spec.Backoff = &driver.Backoff{Kind: driver.BackoffExponential, Delay: driver.Millis(number("delay")), Factor: 1.5, Max: 7, Jitter: 0.25}
	}
	if some("keep") {
		spec.Keep = &driver.Keep{Completed: retention(), Failed: retention(), Cancelled: retention()}
	}
	if some("timeout") {
		spec.Timeout = driver.Some(driver.Millis(number("timeout")))
	}
	return spec
}

func TestARequestOfAChildIsUnpackedAsItWasPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string) bool { return rapid.Bool().Draw(t, label) }
		want := driver.EnqueueRequest{ID: "flow/x", Spec: drawSpec(t), Delay: driver.Millis(rapid.Int64().Draw(t, "delay"))}
		if some("trace") {
			want.Trace = &driver.Trace{TraceID: strings.Repeat("a", 32), SpanID: strings.Repeat("b", 16), Sampled: some("sampled"), Delayed: some("delayed")}
		}
		if some("parent") {
			want.Parent = &driver.Envelope{FlowName: "f", FlowID: "id/ключ", Run: "token", ChildKey: "k:|{}%", ParentStoreKey: "main", Depth: 3}
		}
		if some("dedupe") {
			want.Dedupe = &driver.Dedupe{Key: "key", Extend: some("extend"), Replace: some("replace")}
			if some("ttl") {
				want.Dedupe.TTL = driver.Some(driver.Millis(rapid.Int64().Draw(t, "ttl")))
			}
		}
		packed, err := packRequest(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpackRequest(want.ID, packed)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("unpacked %+v, %v; want %+v", got, err, want)
		}
	})
}

func TestAScheduleIsUnpackedAsItWasPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		want := driver.Schedule{
			Key: "key", JobName: spec.Name, Queue: spec.Queue, Payload: spec.Payload, Metadata: spec.Metadata,
			Priority: spec.Priority, AttemptsMax: spec.AttemptsMax, Backoff: spec.Backoff, Keep: spec.Keep, Timeout: spec.Timeout,
			Cron: rapid.String().Draw(t, "cron"), TZ: rapid.String().Draw(t, "zone"), Every: driver.Millis(rapid.Int64().Draw(t, "every")),
			Overlap: rapid.SampledFrom([]driver.Overlap{driver.OverlapAllow, driver.OverlapSkip}).Draw(t, "overlap"),
			Group:   rapid.String().Draw(t, "group"), NextRunAt: driver.Time(rapid.Int64().Draw(t, "next")),
		}
		packed, err := packSchedule(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpackSchedule("key", packed)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("unpacked %+v, %v; want %+v", got, err, want)
		}
	})
}

func TestADamagedRowRequestScheduleOrEntryIsAnError(t *testing.T) {
	child := driver.StagedChild{ChildKey: "k", StoreKey: "main", Request: driver.EnqueueRequest{ID: "flow/k",
		Spec: driver.Spec{Name: "n", Queue: "q", Metadata: map[string]string{"a": "b"}}}}
	request, requestErr := packRequest(&child.Request)
	row, rowErr := packRow(&child)
	schedule, scheduleErr := packSchedule(&driver.Schedule{Key: "k", JobName: "n", Queue: "q", Every: 1})
	if err := errors.Join(requestErr, rowErr, scheduleErr); err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string]error{
		"an empty row":       second(unpackRow("p", "k", "", false)),
		"half a row":         second(unpackRow("p", "k", row[:len(row)/2], false)),
		"an empty request":   second(unpackRequest("k", "")),
		"half a request":     second(unpackRequest("k", request[:len(request)/2])),
		"an empty schedule":  second(unpackSchedule("k", "")),
		"half a schedule":    second(unpackSchedule("k", schedule[:len(schedule)/2])),
		"an empty manifest":  second(unpackManifest("")),
		"an empty entry":     second(unpackEntry("")),
		"a row for an entry": second(unpackEntry(row)),
		"an empty block":     second(appendBlock(nil, "")),
		"a row for a block":  second(appendBlock(nil, row)),
	} {
		if damaged == nil {
			t.Errorf("%s is unpacked without an error", what)
		}
	}
}

func second[V any](_ V, err error) error { return err }

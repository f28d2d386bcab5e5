package rowcodec

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/braidmq/braid/driver"
)

var (
	backoff = &driver.Backoff{Kind: driver.BackoffExponential, Delay: 1000, Factor: 2.5, Max: 60_000, Jitter: 0.25}
	keep    = &driver.Keep{
		Completed: driver.Retention{Count: driver.Some[int64](0)},
		Failed:    driver.Retention{Count: driver.Some[int64](9_007_199_254_740_993), Age: driver.Some(driver.Millis(0))},
	}
	timeout  = driver.Some(driver.Millis(30_000))
	trace    = &driver.Trace{TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7", Sampled: true, Delayed: true}
	envelope = &driver.Envelope{FlowName: "import", FlowID: `j/{1}|"ü"`, Run: "r1", ChildKey: "a\x01b", ParentStoreKey: "main", Depth: 3}
	request  = &driver.EnqueueRequest{
		ID: "flow/1/a", Delay: 5,
		Dedupe: &driver.Dedupe{Key: "k", TTL: driver.Some(driver.Millis(0)), Extend: true, Replace: true},
		Spec: driver.Spec{
			Name: "row", Queue: "bulk", Payload: []byte(`{"n":1e400}`), Metadata: map[string]string{"tenant": "", "é": "<&>"},
			Priority: -7, AttemptsMax: 3, Backoff: backoff, Keep: keep, Timeout: timeout, Trace: trace, Parent: envelope,
		},
	}
)

// The texts stand in databases, so they must not change.
func TestTextsAreWhatDatabasesHold(t *testing.T) {
	const settings = `{"backoff":{"kind":2,"delay":1000,"factor":2.5,"max":60000,"jitter":0.25},` +
		`"keep":{"completed":{"count":0},"failed":{"count":9007199254740993,"age":0}},"timeout":30000}`
	const traced = `{"trace":"4bf92f3577b34da6a3ce929d0e0e4736","span":"00f067aa0ba902b7","sampled":true,"delayed":true}`
	const parent = `{"flowName":"import","flowId":"j/{1}|\"ü\"","run":"r1","childKey":"a\u0001b","parentStoreKey":"main","depth":3}`
	for _, c := range []struct{ name, got, want string }{
		{"metadata", EncodeMetadata(request.Metadata), `{"tenant":"","é":"\u003c\u0026\u003e"}`},
		{"settings", EncodeSettings(backoff, keep, timeout), settings},
		{"trace", EncodeTrace(trace), traced},
		{"envelope", EncodeEnvelope(envelope), parent},
		{"request", EncodeRequest(request), `{"id":"flow/1/a","name":"row","queue":"bulk",` +
			`"metadata":{"tenant":"","é":"\u003c\u0026\u003e"},"priority":-7,"attemptsMax":3,` +
			`"settings":"` + strings.ReplaceAll(settings, `"`, `\"`) + `","trace":` + traced + `,"parent":` + parent + `,` +
			`"delay":5,"dedupe":{"key":"k","ttl":0,"extend":true,"replace":true}}`},
	} {
		if c.got != c.want {
			t.Errorf("%s is written as\n%s, want\n%s", c.name, c.got, c.want)
		}
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	var plans Plans
	check := func(what string, got any, err error, want any) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads %+v, %v; want %+v", what, got, err, want)
		}
	}
	metadata, err := DecodeMetadata(EncodeMetadata(request.Metadata))
	check("metadata", metadata, err, request.Metadata)
	plan, err := plans.Plan(EncodeSettings(backoff, keep, timeout))
	check("plan", plan, err, Plan{Backoff: backoff, Keep: keep, Timeout: timeout})
	gotTrace, err := DecodeTrace(EncodeTrace(trace))
	check("trace", gotTrace, err, trace)
	gotEnvelope, err := DecodeEnvelope(EncodeEnvelope(envelope))
	check("envelope", gotEnvelope, err, envelope)
	for _, want := range []*driver.EnqueueRequest{request, {ID: "a", Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1}}} {
		got, err := plans.Request(EncodeRequest(want), want.Payload)
		check("request", got, err, want)
	}
}

func TestWhatAJobDoesNotHaveIsTheEmptyText(t *testing.T) {
	for _, text := range []string{EncodeMetadata(nil), EncodeMetadata(map[string]string{}),
		EncodeSettings(nil, nil, driver.Opt[driver.Millis]{}), EncodeTrace(nil), EncodeEnvelope(nil)} {
		if text != "" {
			t.Errorf("an absent part is written as %q", text)
		}
	}
	var plans Plans
	metadata, err1 := DecodeMetadata("")
	trace, err2 := DecodeTrace("")
	envelope, err3 := DecodeEnvelope("")
	plan, err4 := plans.Plan("")
	if metadata != nil || trace != nil || envelope != nil || plan != (Plan{}) || err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		t.Errorf("the empty text reads %v, %v, %v, %v; %v, %v, %v, %v", metadata, trace, envelope, plan, err1, err2, err3, err4)
	}
}

func TestDamagedTextsNameTheirColumn(t *testing.T) {
	var plans Plans
	_, metadata := DecodeMetadata("{")
	_, trace := DecodeTrace("[]")
	_, envelope := DecodeEnvelope("7")
	_, settings := plans.Plan("x")
	_, request := plans.Request("", nil)
	for column, err := range map[string]error{"metadata": metadata, "trace": trace, "parent": envelope, "settings": settings, "request": request} {
		if err == nil || !strings.Contains(err.Error(), "the column "+column+" reads") {
			t.Errorf("a damaged %s: %v", column, err)
		}
	}
}

func TestPlansAreBoundedAndShared(t *testing.T) {
	var plans Plans
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for delay := range driver.Millis(mostPlans + 10) {
				plan, err := plans.Plan(EncodeSettings(&driver.Backoff{Delay: delay}, nil, timeout))
				if err != nil || plan.Backoff.Delay != delay {
					t.Errorf("the plan with delay %d is %+v, %v", delay, plan, err)
				}
			}
		})
	}
	all.Wait()
	if n := len(plans.plans); n == 0 || n > mostPlans {
		t.Errorf("%d plans are remembered, at most %d may be", n, mostPlans)
	}
	one, _ := plans.Plan(EncodeSettings(backoff, nil, timeout))
	two, _ := plans.Plan(EncodeSettings(backoff, nil, timeout))
	if one.Backoff != two.Backoff {
		t.Error("the same text was decoded twice")
	}
}

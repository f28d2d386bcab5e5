package httpapi

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestABodyThatDoesNotFitNamesFieldAndValue(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct{ method, path, body, field, says string }{
		{"POST", "jobs", `{"jobs":[{"name":1}]}`, "jobs[0].name", "cannot be 1; use a string"},
		{"POST", "jobs", `{"jobs":[{"name":"a"},{"name":"b","delayMs":"soon"}]}`, "jobs[1].delayMs", `cannot be "soon"; use a whole number`},
		{"POST", "jobs", `{"jobs":[{"name":"a","priority":1.5}]}`, "jobs[0].priority", "cannot be 1.5; use a whole number"},
		{"POST", "jobs", `{"jobs":[{"name":"a","delayMs":99999999999999999999}]}`, "jobs[0].delayMs", "fits 64 bits"},
		{"POST", "jobs", `{"jobs":[{"name":"a","backoff":{"kind":"fixed","factor":"x"}}]}`, "jobs[0].backoff.factor", `cannot be "x"; use a number`},
		{"POST", "jobs", `{"jobs":[{"name":"a","backoff":{"kind":"fixed","factor":1e999}}]}`, "jobs[0].backoff.factor", "cannot be 1e999"},
		{"POST", "jobs", `{"jobs":[{"name":"a","runAt":"tomorrow"}]}`, "jobs[0].runAt", `cannot be "tomorrow"; use a time such as "2026-01-31T09:00:00Z"`},
		{"POST", "jobs", `{"jobs":[{"name":"a","runAt":5}]}`, "jobs[0].runAt", "cannot be 5; use a time"},
		{"POST", "jobs", `{"jobs":[{"name":"a","dedupe":{"key":"k","extend":1}}]}`, "jobs[0].dedupe.extend", "use true or false"},
		{"POST", "jobs", `{"jobs":[{"name":"a","metadata":{"k":7}}]}`, "jobs[0].metadata.k", "cannot be 7; use a string"},
		{"POST", "jobs", `{"jobs":[{"name":"a","metadata":["k"]}]}`, "jobs[0].metadata", `cannot be ["k"]; use a JSON object`},
		{"POST", "jobs", `{"jobs":{"name":"a"}}`, "jobs", "use a JSON array"},
		{"POST", "jobs", `[]`, "", "use a JSON object"},
		{"POST", "jobs", `{"jobs":[{"name":"a","name":"b"}]}`, "jobs[0].name", "is given twice"},
		{"POST", "jobs", `{"jobs":[{"name":"a","n\u0061me":"b"}]}`, "jobs[0].name", "is given twice"},
		{"POST", "jobs", `{"jobs":[{"name":"a","metadata":{"k":"1","k":"2"}}]}`, "jobs[0].metadata.k", "is given twice"},
		{"POST", "jobs", `{"JOBS":[{"name":"a"}]}`, "JOBS", "write jobs"},
		{"POST", "jobs", `{"jobs":[{"Name":"a"}]}`, "jobs[0].Name", "write name"},
		{"POST", "jobs", `{"jobs":[{"nam":"a"}]}`, "jobs[0].nam", "is not a field"},
		{"POST", "jobs", `{"jobs":[{"name":"a","id":"\ud800"}]}`, "jobs[0].id", `has \ud800, half a surrogate pair`},
		{"POST", "jobs", `{"jobs":[{"name":"a","id":"x\uDC00\uD83E"}]}`, "jobs[0].id", `has \uDC00`},
		{"POST", "jobs", `{"jobs":[{"name":"a","id":"\ud83e\ud83e"}]}`, "jobs[0].id", `has \ud83e`},
		{"POST", "jobs", `{"jobs":[{"name":"a","metadata":{"\udfff":"x"}}]}`, "jobs[0].metadata", `has \udfff`},
		{"PUT", "schedules/s", `{"jobName":["a"]}`, "jobName", `cannot be ["a"]; use a string`},
		{"POST", "work/ack", `{"acks":[{"id":"a","error":"no luck"}]}`, "acks[0].error", "use a JSON object"},
		{"POST", "jobs/retry", `{"ids":["a",{}]}`, "ids[1]", "cannot be {}; use a string"},
	} {
		e := b.do(test.method, "/api/v1/"+test.path, test.body).refused(http.StatusBadRequest, CodeInvalid, test.field)
		if !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: %s; want %q", test.body, e.Message, test.says)
		}
	}
	if counts, err := b.client.Counts(t.Context(), ""); err != nil || counts.Total() != 0 {
		t.Errorf("counts %+v, %v", counts, err)
	}
}

func TestWhatFitsIsTakenAsItIs(t *testing.T) {
	for _, body := range []string{
		`null`, `{}`, ` { "jobs" : [ ] } `, `{"jobs":null}`, `{"jobs":[null,{"name":null,"keep":null}]}`,
		`{"jobs":[{"name":"a\"}]\\","id":"\ud83e\udd8a","payload":{"a":1,"a":[2,"\ud800",{"x":"]"}],"b":-1.5e3} ,"priority":-3}]}`,
		"{\n\t\"jobs\":[{\"payload\":1 , \"runAt\":\"2030-01-01T00:00:00.5+02:00\",\r\n\"backoff\":{\"factor\":2,\"delayMs\":0}}]}",
		`{"jobs":[{"payload":1},{"payload":"x"},{"payload":[]},{"payload":null},{"timeoutMs":5,"metadata":{"":"","a":null}}]}`,
	} {
		if err := checkShape([]byte(body), reflect.TypeFor[EnqueueRequest]()); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

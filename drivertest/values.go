package drivertest

import (
	"fmt"
	"math"
	"strings"

	"github.com/braidmq/braid/driver"
)

// exactValues are encoded values that must come back byte for byte.
var exactValues = []string{
	`null`, `[]`, `{}`, `""`, `0`, `false`, `{"a":[],"b":{},"c":null}`,
	`9007199254740993`, `-9223372036854775808`, `18446744073709551615`, `123456789012345678901234567890`,
	`1e400`, `1E-400`, `0.1000`, `1.0`, `-0`, `3.141592653589793238462643383279`,
	`"\u0000"`, `"a\u0000b"`, `"\ud800"`, `"\udc00x"`, `"\ud83d\ude42"`, `"🙂é"`, `"\/"`, `"\u00e9"`,
	` { "b" : 1 , "a" : 2 , "a" : 3 } `, "[1,\n\t2]", `"<script>&'%s {{}} $1 ?"`,
	strings.Repeat("[", 200) + strings.Repeat("]", 200),
}

// oddTexts are ids, names, queues and keys with characters that mean something
// somewhere.
var oddTexts = []string{
	"a/b", "a:b", "a|b", "{a}", "a{b", "100%", "%d", "a b", " a", "a\tb", "a\nb", `a"b'c`, `a\b`, "a,b;c", "a*?[x]", "ключ", "日本", "🙂", "é", "$1", "--", "NULL", "0",
	"Ω≈ç√", "\u202eabc", "e\u0301",
}

func init() {
	register("Values/Payloads",
		"What went in comes back exactly: every digit, [], {}, null, escapes and lone surrogates, whatever reads it.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i, json := range exactValues {
				batch = append(batch, request(fmt.Sprintf("job-%02d", i), payload(json)))
			}
			ids := t.insert(0, batch...)
			for i, j := range t.jobs(ids...) {
				t.equal("record's payload", string(j.Payload), exactValues[i])
			}
			listed := t.list(driver.ListRequest{Ascending: true}).Jobs
			if len(listed) != len(exactValues) {
				t.Fatalf("the list has %d jobs, not %d", len(listed), len(exactValues))
			}
			for i, j := range listed {
				t.equal("listed payload", string(j.Payload), exactValues[i])
			}
			for i, r := range t.claim(0, len(batch)) {
				t.equal("claimed payload", string(r.Payload), exactValues[i])
			}
		})

	register("Values/Exits",
		"Exits come back exactly, on the record and in the ledger, and null is a value.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for i := range exactValues {
				batch = append(batch, request(fmt.Sprintf("job-%02d", i)))
			}
			t.insert(0, batch...)
			kinds := []driver.AckKind{driver.AckComplete, driver.AckFail, driver.AckRetry}
			var acks []driver.Ack
			for i, r := range t.claim(0, len(batch)) {
				ack := r.ack(kinds[i%len(kinds)])
				ack.Exit = []byte(exactValues[i])
				acks = append(acks, ack)
			}
			t.ackAll(100, acks...)
			for i, a := range acks {
				if a.Kind != driver.AckRetry {
					t.equal("exit on the record", string(t.job(a.ID).Exit), exactValues[i])
				}
				t.equal("exit in the ledger", string(t.attempts(a.ID)[0].Exit), exactValues[i])
			}
		})

	register("Values/AbsentIsNotNull",
		"An absent value is something else than the value null.",
		func(t *T) {
			t.insert(0, request("absent", payload("")), request("null", payload("null")))
			t.equal("absent payload", t.job("absent").Payload, []byte(nil))
			t.equal("null payload", t.job("null").Payload, []byte("null"))
			runs := t.claim(0, 2)
			t.complete(0, runs[0], ``)
			t.complete(0, runs[1], `null`)
			t.equal("absent exit", t.job("absent").Exit, []byte(nil))
			t.equal("null exit", t.job("null").Exit, []byte("null"))
		})

	register("Values/OneMebibyte",
		"A payload and an exit of 1 MiB come back exactly.",
		func(t *T) {
			text := `"` + strings.Repeat("0123456789abcdé\\n", 1<<16) + `"`
			run := t.start(0, request("a", payload(text)))
			if string(run.Payload) != text || string(t.job("a").Payload) != text {
				t.Errorf("the payload of %d bytes did not come back", len(text))
			}
			t.complete(0, run, text)
			if string(t.job("a").Exit) != text || string(t.attempts("a")[0].Exit) != text {
				t.Errorf("the exit of %d bytes did not come back", len(text))
			}
		})

	register("Values/OddIDs",
		"Ids with any characters are kept apart and serve in every operation.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for _, id := range oddTexts {
				batch = append(batch, request(id))
			}
			t.insert(0, batch...)
			runs := t.claim(0, len(batch))
			var acks []driver.Ack
			for i, r := range runs {
				t.equal("claimed id", r.ID, oddTexts[i])
				acks = append(acks, r.ack(driver.AckFail))
			}
			for i, r := range t.ackAll(0, acks...) {
				t.equal("ack of "+oddTexts[i], r, driver.AckResult{State: driver.Failed})
			}
			for i, r := range t.operate(t.Store.Retry, 0, oddTexts...) {
				t.equal("retry of "+oddTexts[i], r, driver.OperateResult{State: driver.Waiting})
			}
			for i, j := range t.jobs(oddTexts...) {
				if j == nil || j.ID != oddTexts[i] || len(t.attempts(oddTexts[i])) != 1 {
					t.Errorf("the job %q did not come back with its ledger", oddTexts[i])
				}
			}
			t.sameIDs("listed", t.listAll(driver.ListRequest{Limit: 7}), oddTexts)
			for i, removed := range t.remove(0, oddTexts...) {
				t.equal("removal of "+oddTexts[i], removed, true)
			}
		})

	register("Values/LongestTexts",
		"An id of 512 bytes, a name and a queue of 128 and keys of 255 are served.",
		func(t *T) {
			id, name, key := strings.Repeat("i", driver.MaxIDBytes), strings.Repeat("é", driver.MaxNameBytes/2), strings.Repeat("k", driver.MaxKeyBytes)
			run := t.start(0, request(id, named(name), inQueue(name), dedupe(key), metadata(key, key)))
			t.equal("metadata", run.Metadata, map[string]string{key: key})
			t.duplicate(0, request("b", named(name), dedupe(key)), id)
			t.complete(0, run, `1`)
			t.equal("counts", t.counts(name), driver.Counts{Completed: 1})
			t.equal("found", t.listAll(driver.ListRequest{Metadata: map[string]string{key: key}}), []string{id})
		})

	register("Values/OddNamesAndQueues",
		"Names, queues and dedup keys with any characters are kept apart.",
		func(t *T) {
			var batch []driver.EnqueueRequest
			for _, text := range oddTexts {
				batch = append(batch, request("", named(text), inQueue(text), dedupe(text)))
			}
			ids := t.insert(0, batch...)
			t.equal("number of queues", len(t.queues()), len(oddTexts))
			for i, text := range oddTexts {
				t.duplicate(0, request("", named(text), inQueue(text), dedupe(text)), ids[i])
				t.equal("counts of "+text, t.counts(text), driver.Counts{Waiting: 1})
				got := t.claimWith(0, driver.ClaimRequest{Queue: text, Names: []string{text}, Limit: 5})
				t.equal("claimed from "+text, idsOf(got.Jobs), ids[i:i+1])
			}
		})

	register("Values/Metadata",
		"Metadata comes back exactly: odd keys and values, and empty values too.",
		func(t *T) {
			pairs := map[string]string{"empty": ""}
			for i, text := range oddTexts {
				pairs[text] = oddTexts[len(oddTexts)-1-i]
			}
			r := request("a")
			r.Metadata = pairs
			t.insert(0, r)
			t.equal("metadata", t.job("a").Metadata, pairs)
			t.equal("claimed metadata", t.claimOne(0).Metadata, pairs)
			t.equal("found by an odd pair", t.listAll(driver.ListRequest{Metadata: map[string]string{"%d": pairs["%d"], "empty": ""}}), []string{"a"})
		})

	register("Values/ZerosArePresent",
		"A timeout, count or age of 0 is a value; absent is something else.",
		func(t *T) {
			zero := request("zero")
			zero.Timeout = driver.Some(driver.Millis(0))
			none := driver.Retention{Count: driver.Some(int64(0)), Age: driver.Some(driver.Millis(0))}
			zero.Keep = &driver.Keep{Completed: none, Failed: none, Cancelled: driver.Retention{Age: driver.Some(driver.Millis(0))}}
			zero.Backoff = &driver.Backoff{Kind: driver.BackoffFixed}
			t.insert(0, zero)
			j := t.job("zero")
			t.equal("timeout", j.Timeout, zero.Timeout)
			t.equal("keep", j.Keep, zero.Keep)
			t.equal("backoff", j.Backoff, zero.Backoff)
		})

	register("Values/Extremes",
		"Numbers at the ends of their ranges come back exactly.",
		func(t *T) {
			r := request("a", priority(math.MinInt32))
			r.AttemptsMax = math.MaxInt32
			r.Timeout = driver.Some(driver.Millis(1<<53 + 1))
			r.Backoff = &driver.Backoff{Kind: driver.BackoffExponential, Delay: 1<<53 + 1, Factor: 1.0000000000000002, Max: 1<<53 + 3, Jitter: 0.1}
			r.Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(1<<53 + 1)), Age: driver.Some(driver.Millis(1<<53 + 5))}}
			t.insert(0, r)
			t.equal("spec", t.job("a").Spec, r.Spec)
			t.equal("claimed spec", t.claimOne(0).Spec, r.Spec)
		})

	register("Values/LengthsWithoutEnd",
		"Lengths of time beyond all times mean never: sums do not run over.",
		func(t *T) {
			const never = driver.Millis(math.MaxInt64)
			t.finished(1000, request("kept", named("kept"), keep(ageOf(never))), driver.Completed)
			t.insert(1000, request("held", after(never)), request("keyed", named("keyed"), window("k", never)))
			t.inState("held", driver.Delayed)
			t.equal("claimed", len(t.claim(1<<50, 5)), 0)
			t.inState("held", driver.Delayed)
			t.equal("deleted from history", t.sweepHistory(1<<50, 10), 0)
			t.equal("deleted keys", t.sweepDedupe(1<<50, 10), 0)
			t.equal("jobs that exist", t.present("kept"), []string{"kept"})
			t.duplicate(1<<50, request("x", named("keyed"), dedupe("k")), "keyed")
		})

	register("Values/FlagsThatAreOff",
		"A trace that is neither sampled nor delayed, and an envelope, come back as they are.",
		func(t *T) {
			r := request("a")
			r.Trace = &driver.Trace{TraceID: strings.Repeat("a", 32), SpanID: strings.Repeat("b", 16)}
			r.Parent = &driver.Envelope{FlowName: "f", FlowID: "p/1", Run: "r", ChildKey: "c", ParentStoreKey: "s", Depth: 1}
			t.insert(0, r)
			t.equal("spec", t.job("a").Spec, r.Spec)
		})

	register("Values/TimeZero",
		"The time 0 is a time like any other, in every field.",
		func(t *T) {
			t.finished(0, request("a"), driver.Completed)
			j := t.job("a")
			zero := driver.Some(driver.Time(0))
			t.equal("ProcessedAt", j.ProcessedAt, zero)
			t.equal("FinishedAt", j.FinishedAt, zero)
			t.equal("ledger", t.attempts("a"), []driver.Attempt{
				{Attempt: 1, StartedAt: zero, Outcome: driver.OutcomeCompleted, Exit: []byte(`"done"`), Worker: "worker-1"},
			})
			t.equal("by finishedAt", t.listAll(driver.ListRequest{OrderBy: driver.ByFinishedAt, States: []driver.State{driver.Completed}}), []string{"a"})
		})

	register("Values/LateTimes",
		"Times in the far future come back to the millisecond, and order as numbers do.",
		func(t *T) {
			const late = driver.Time(253_402_300_799_999) // the end of the year 9999
			t.insert(late-1, request("a", after(1)), request("b"))
			t.equal("RunAt", t.job("a").RunAt, late)
			t.equal("claimed before", idsOf(t.claimWith(late-1, driver.ClaimRequest{Limit: 5}).Jobs), []string{"b"})
			t.equal("claimed at the time", idsOf(t.claimWith(late, driver.ClaimRequest{Limit: 5}).Jobs), []string{"a"})
			t.equal("lock", t.job("a").LockExpiresAt, driver.Some(late.Add(lockFor)))
		})
}

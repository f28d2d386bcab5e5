package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// awkward are JSON values that careless layers damage.
var awkward = []string{
	`9007199254740993`, `9223372036854775807`, `18446744073709551615`, `1e400`, `-0`, `1.10`, `0.1000000000000000055`,
	`[]`, `{}`, `null`, `""`, `"\u0000"`, `"\ud800"`, `"<script>&amp;</script>"`, `"é\u00e9\u2028"`,
	`{"b":1,"a":2,"b":3}`, ` { "spaced" : [ 1 , 2 ] } `, strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
}

func TestWhatWentInComesBackExactly(t *testing.T) {
	b := newBench(t)
	echo := braid.NewJob[json.RawMessage, json.RawMessage]("echo")
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		echo.Handle(w, func(_ context.Context, raw json.RawMessage) (json.RawMessage, error) { return raw, nil })
	})
	for _, value := range awkward {
		handle, err := echo.Enqueue(b.ctx, b.client, json.RawMessage(value))
		if err != nil {
			t.Fatalf("%.40s: %v", value, err)
		}
		result, err := handle.Wait(b.within(10 * time.Second))
		if err != nil || string(result) != value {
			t.Errorf("%.40s: the result is %.40s (%v)", value, result, err)
		}
		info, err := handle.Get(b.ctx)
		if err != nil || string(info.Payload) != value {
			t.Errorf("%.40s: the payload is %.40s (%v)", value, info.Payload, err)
		}
	}
}

func TestAnAbsentPayloadIsNotNull(t *testing.T) {
	b := newBench(t)
	for payload, want := range map[string]string{"": "", "null": "null"} {
		handle, err := b.client.Enqueue(b.ctx, "raw", json.RawMessage(payload))
		if err != nil {
			t.Fatal(err)
		}
		info, err := handle.Get(b.ctx)
		if err != nil || string(info.Payload) != want || (info.Payload == nil) != (want == "") {
			t.Errorf("payload %q came back as %q (%v)", payload, info.Payload, err)
		}
	}
	if _, err := b.client.Enqueue(b.ctx, "raw", json.RawMessage(`{"a":`)); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("broken JSON: %v, want ErrInvalid", err)
	}
}

// latin1 encodes itself as text that is not UTF-8.
type latin1 struct{}

func (latin1) MarshalJSON() ([]byte, error) { return []byte("\"caf\xe9\""), nil }

func TestValuesThatAreNotUTF8AreRefused(t *testing.T) {
	b := newBench(t)
	raw := json.RawMessage("\"caf\xe9\"")
	inside := braid.NewJob[map[string]json.RawMessage, json.RawMessage]("inside")
	for what, err := range map[string]error{
		"raw":         second(b.client.Enqueue(b.ctx, "raw", raw)),
		"typed":       second(braid.NewJob[json.RawMessage, int]("raw").Enqueue(b.ctx, b.client, raw)),
		"a part":      second(inside.Enqueue(b.ctx, b.client, map[string]json.RawMessage{"k": raw})),
		"a marshaler": second(braid.NewJob[latin1, int]("latin").Enqueue(b.ctx, b.client, latin1{})),
		"a schedule":  inside.Schedule(b.ctx, b.client, "k", braid.Every(time.Hour), map[string]json.RawMessage{"k": raw}),
	} {
		if !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v, want ErrInvalid that says UTF-8", what, err)
		}
	}
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		inside.Handle(w, func(context.Context, map[string]json.RawMessage) (json.RawMessage, error) { return raw, nil })
	})
	var failed *braid.JobError
	_, err := inside.Do(b.within(10*time.Second), b.client, nil)
	if !errors.As(err, &failed) || failed.Type != "encode" || !strings.Contains(failed.Message, "UTF-8") {
		t.Errorf("a result: %v, want it refused", err)
	}
}

func TestAPayloadThatCannotBeEncodedIsRefused(t *testing.T) {
	b := newBench(t, braid.WithMaxPayload(100))
	numbers := braid.NewJob[float64, float64]("numbers")
	if _, err := numbers.Enqueue(b.ctx, b.client, math.Inf(1)); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "numbers") {
		t.Errorf("infinity: %v, want ErrInvalid that names the job", err)
	}
	text := braid.NewJob[string, string]("text")
	_, err := text.Enqueue(b.ctx, b.client, strings.Repeat("x", 100))
	if !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "102") || !strings.Contains(err.Error(), "100") {
		t.Errorf("long payload: %v, want ErrInvalid with size and limit", err)
	}
	if counts, err := b.client.Counts(b.ctx, ""); err != nil || counts.Total() != 0 {
		t.Errorf("counts are %+v (%v), want nothing stored", counts, err)
	}
}

func TestACorruptPayloadFailsItsJobAlone(t *testing.T) {
	b := newBench(t)
	type order struct {
		Lines []struct {
			Count int `json:"count"`
		} `json:"lines"`
	}
	orders := braid.NewJob[order, int]("orders", braid.Attempts(1))
	bad, err := b.client.Enqueue(b.ctx, "orders", json.RawMessage(`{"lines":[{"count":"many"}]}`), braid.Attempts(1))
	if err != nil {
		t.Fatal(err)
	}
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		orders.Handle(w, func(_ context.Context, o order) (int, error) { return len(o.Lines), nil })
	})
	var failed *braid.JobError
	if _, err = bad.Wait(b.within(10 * time.Second)); !errors.As(err, &failed) ||
		!strings.Contains(failed.Message, "lines.count") || !strings.Contains(failed.Message, "order") {
		t.Errorf("corrupt payload: %v, want an error that names the field", err)
	}
	if n, err := orders.Do(b.within(10*time.Second), b.client, order{}); n != 0 || err != nil {
		t.Errorf("its neighbour: %d, %v", n, err)
	}
}

func TestAResultThatCannotBeEncodedFailsWithoutARetry(t *testing.T) {
	b := newBench(t)
	runs := make(chan struct{}, 10)
	job := braid.NewJob[braid.None, float64]("job", braid.Attempts(5), braid.Backoff(braid.Fixed(0)))
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(context.Context, braid.None) (float64, error) {
			runs <- struct{}{}
			return math.NaN(), nil
		})
	})
	_, err := job.Do(b.within(10*time.Second), b.client, braid.None{})
	var failed *braid.JobError
	if !errors.As(err, &failed) || failed.Type != "encode" || len(runs) != 1 {
		t.Errorf("%v after %d runs, want one run that failed for its result", err, len(runs))
	}
}

func TestErrorTextsThatNoStoreCanHoldAreMended(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[braid.None, braid.None]("job", braid.Attempts(1))
	b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
		job.Handle(w, func(context.Context, braid.None) (braid.None, error) {
			return braid.None{}, errors.Join(errors.New("first \x00 \xff"), errors.New("second"))
		})
	})
	_, err := job.Do(b.within(10*time.Second), b.client, braid.None{})
	var failed *braid.JobError
	if !errors.As(err, &failed) || failed.Message != "first \uFFFD \uFFFD\nsecond" {
		t.Errorf("%q, want both errors, mended", err)
	}
}

func TestOddNamesIdsAndQueues(t *testing.T) {
	b := newBench(t)
	for _, odd := range []string{"a/b", "a:b", "a|b", "{a}", "100%", "日本語", "🧵", " ", "'; DROP TABLE jobs; --", `"quoted"`, "\t\n"} {
		job := braid.NewJob[string, string](odd, braid.Queue(odd))
		handle, err := job.Enqueue(b.ctx, b.client, odd, braid.ID(odd), braid.Metadata(map[string]string{odd: odd}))
		if err != nil {
			t.Errorf("%q: %v", odd, err)
			continue
		}
		info, err := handle.Get(b.ctx)
		if err != nil || info.ID != odd || info.Name != odd || info.Queue != odd || info.Metadata[odd] != odd {
			t.Errorf("%q came back as %+v (%v)", odd, info, err)
		}
		page, err := b.client.List(b.ctx, braid.ListFilter{Queue: odd, Name: odd, Metadata: map[string]string{odd: odd}})
		if err != nil || len(page.Jobs) != 1 {
			t.Errorf("%q: list found %d (%v)", odd, len(page.Jobs), err)
		}
	}
}

var _ driver.Store = (*memstore.Store)(nil)

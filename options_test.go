package braid_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

func TestBadEnqueueOptionsAreRefusedBeforeAnythingIsStored(t *testing.T) {
	long := strings.Repeat("x", 513)
	type refusal struct {
		name   string
		option braid.EnqueueOption
		says   []string // in the error
	}
	cases := []refusal{
		{"empty id", braid.ID(""), []string{"id", "empty"}},
		{"long id", braid.ID(long), []string{"id", "513", "512"}},
		{"id of a flow", braid.ID("flow/x"), []string{"id", "flow/", "reserved"}},
		{"id of a schedule", braid.ID("sched/x"), []string{"id", "sched/", "reserved"}},
		{"id with NUL", braid.ID("a\x00b"), []string{"id", "NUL"}},
		{"id that is not UTF-8", braid.ID("a\xffb"), []string{"id", "UTF-8"}},
		{"empty queue", braid.Queue(""), []string{"queue", "empty"}},
		{"long queue", braid.Queue(long), []string{"queue", "128"}},
		{"no attempts", braid.Attempts(0), []string{"attempts", `"0"`, "1"}},
		{"negative delay", braid.In(-time.Second), []string{"delay", "-1s"}},
		{"negative timeout", braid.Timeout(-1), []string{"timeout", "positive"}},
		{"empty dedupe key", braid.Dedupe(""), []string{"dedupe key", "empty"}},
		{"empty window", braid.Dedupe("k", braid.Window(0)), []string{"dedupe window", "positive"}},
		{"extend without a window", braid.Dedupe("k", braid.ExtendWindow()), []string{"ExtendWindow", "braid.Window"}},
		{"empty metadata key", braid.Metadata(map[string]string{"": "v"}), []string{"metadata key", "empty"}},
		{"metadata with NUL", braid.Metadata(map[string]string{"k": "\x00"}), []string{"metadata value of k", "NUL"}},
		{"no backoff", braid.Backoff(braid.BackoffPolicy{}), []string{"backoff", "braid.Fixed"}},
		{"shrinking backoff", braid.Backoff(braid.Exponential(time.Second).Factor(0.5)), []string{"backoff", "0.5", "1 or more"}},
		{"backoff that is no number", braid.Backoff(braid.Exponential(time.Second).Factor(math.NaN())), []string{"backoff", "NaN"}},
		{"fixed backoff with a factor", braid.Backoff(braid.Fixed(time.Second).Factor(2)), []string{"backoff", "Exponential"}},
		{"backoff a little below zero", braid.Backoff(braid.Fixed(-1)), []string{"backoff", "negative"}},
		{"exponential backoff below zero", braid.Backoff(braid.Exponential(-1)), []string{"backoff", "negative"}},
		{"cap below zero", braid.Backoff(braid.Fixed(1).Cap(-1)), []string{"backoff", "negative"}},
		{"wild jitter", braid.Backoff(braid.Fixed(time.Second).Jitter(1.5)), []string{"jitter", "1.5"}},
		{"negative keep", braid.Keep(braid.KeepLast(-1)), []string{"keep", "-1"}},
		{"negative keep age", braid.Keep(braid.KeepFor(-time.Hour)), []string{"keep", "-1h"}},
	}
	if huge := int64(math.MaxInt32) + 1; int64(int(huge)) == huge { // else no int is too large
		cases = append(cases, refusal{"huge priority", braid.Priority(int(huge)), []string{"priority", "32 bits"}})
	}
	ctx := t.Context()
	client := braid.NewClient(memstore.New())
	job := braid.NewJob[string, string]("job")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := job.Enqueue(ctx, client, "payload", c.option)
			if !errors.Is(err, braid.ErrInvalid) {
				t.Fatalf("error is %v, want ErrInvalid", err)
			}
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not say %q", err, word)
				}
			}
		})
	}
	counts, err := client.Counts(ctx, "")
	if err != nil || counts.Total() != 0 {
		t.Errorf("counts are %+v (%v), want nothing stored", counts, err)
	}
}

func TestABadDefinitionIsReportedByItsFirstUse(t *testing.T) {
	client := braid.NewClient(memstore.New())
	bad := braid.NewJob[string, string]("bad", braid.Attempts(-1))
	if _, err := bad.Enqueue(t.Context(), client, ""); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("Enqueue: %v, want ErrInvalid that names the definition", err)
	}
	nameless := braid.NewJob[string, string]("")
	worker := braid.NewWorker(client, braid.WorkerOptions{})
	bad.Handle(worker, func(context.Context, string) (string, error) { return "", nil })
	nameless.Handle(worker, func(context.Context, string) (string, error) { return "", nil })
	err := worker.Run(t.Context())
	for _, word := range []string{"attempts", "job name"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("Run: %v, want both problems, also %q", err, word)
		}
	}
}

func TestBadClientsAreReportedByTheirFirstUse(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	for name, client := range map[string]*braid.Client{
		"nil":      braid.NewClient(nil),
		"taken":    braid.NewClient(store, braid.WithStore("default", store)),
		"is empty": braid.NewClient(store, braid.WithStore("", store)),
		"1 byte":   braid.NewClient(store, braid.WithMaxPayload(0)),
	} {
		if _, err := client.Counts(ctx, ""); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want ErrInvalid that says %q", err, name)
		}
	}
	var none *memstore.Store
	for name, client := range map[string]*braid.Client{
		"default": braid.NewClient(none),
		"other":   braid.NewClient(store, braid.WithStore("other", none)),
	} {
		if _, err := client.Counts(ctx, ""); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "is nil") {
			t.Errorf("a nil pointer as a store: %v, want ErrInvalid that says so of store %s", err, name)
		}
	}
	if _, err := braid.NewClient(new(memstore.Store)).Counts(ctx, ""); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), "memstore.New") {
		t.Errorf("a store that nobody made: %v, want ErrInvalid that says memstore.New", err)
	}
	client := braid.NewClient(store)
	if _, err := client.On("nowhere").Queues(ctx); err == nil || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "default") {
		t.Errorf("%v, want an error that names the store and lists those that exist", err)
	}
	client.Close()
	client.Close()
	if _, err := client.Get(ctx, "j-1"); !errors.Is(err, braid.ErrClientClosed) {
		t.Errorf("%v, want ErrClientClosed", err)
	}
}

func TestBadWorkerOptionsAreReportedByRun(t *testing.T) {
	client := braid.NewClient(memstore.New())
	cases := map[string]braid.WorkerOptions{
		"Concurrency":      {Concurrency: -1},
		"at most 1000000":  {Concurrency: math.MaxInt},
		"Queues[many]":     {Queues: map[string]int{"many": math.MaxInt}},
		"Queues":           {Queues: map[string]int{}},
		"Queues[email]":    {Queues: map[string]int{"email": -1}},
		"Timeout":          {Timeout: -1},
		"ShutdownGrace":    {ShutdownGrace: -1},
		"LockDuration":     {LockDuration: time.Millisecond},
		"MaxStalled":       {MaxStalled: -1},
		"FailStalled":      {MaxStalled: 1, FailStalled: true},
		"WorkerOptions.ID": {ID: "\x00"},
		"backoff":          {Backoff: braid.Fixed(-time.Second)},
	}
	job := braid.NewJob[string, string]("job")
	for field, options := range cases {
		worker := braid.NewWorker(client, options)
		job.Handle(worker, func(context.Context, string) (string, error) { return "", nil })
		if err := worker.Run(t.Context()); !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: %v, want ErrInvalid that names %s", options, err, field)
		}
	}
	if err := braid.NewWorker(nil, braid.WorkerOptions{}).Run(t.Context()); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("worker without a client: %v", err)
	}
	if err := braid.NewWorker(client, braid.WorkerOptions{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no handlers") {
		t.Errorf("worker without handlers: %v", err)
	}
}

func TestRegistrationsAreChecked(t *testing.T) {
	client := braid.NewClient(memstore.New())
	elsewhere := braid.NewJob[string, string]("elsewhere", braid.OnStore("email"))
	twice := braid.NewJob[string, string]("twice")
	handler := func(context.Context, string) (string, error) { return "", nil }
	worker := braid.NewWorker(client, braid.WorkerOptions{})
	elsewhere.Handle(worker, handler)
	twice.Handle(worker, handler)
	twice.Handle(worker, handler)
	braid.NewJob[string, string]("nil").Handle(worker, nil)
	err := worker.Run(t.Context())
	for _, words := range []string{`"email"`, "braid.WithStore", `"twice"`, "registered twice", "is nil"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("Run: %v, want it to say %s", err, words)
		}
	}
	if _, err := elsewhere.Enqueue(t.Context(), client, ""); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("enqueue on a store that is not there: %v", err)
	}
}

func TestOptionsOfAnEnqueueOverrideTheDefinition(t *testing.T) {
	ctx := t.Context()
	client := braid.NewClient(memstore.New())
	job := braid.NewJob[string, string]("job", braid.Queue("slow"), braid.Priority(1), braid.Attempts(3),
		braid.Timeout(time.Minute), braid.In(time.Hour))
	handle, err := job.Enqueue(ctx, client, "x", braid.Queue("fast"), braid.Priority(-7), braid.Attempts(1),
		braid.Timeout(0), braid.In(0))
	if err != nil {
		t.Fatal(err)
	}
	info, err := handle.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if info.Queue != "fast" || info.Priority != -7 || info.AttemptsMax != 1 || info.State != braid.Waiting ||
		info.Timeout == nil || *info.Timeout != 0 {
		t.Errorf("job is %+v, want the overrides", info)
	}
	other, err := job.Enqueue(ctx, client, "x")
	if err != nil {
		t.Fatal(err)
	}
	if info, err = other.Get(ctx); err != nil || info.Queue != "slow" || info.State != braid.Delayed || *info.Timeout != time.Minute {
		t.Errorf("job is %+v (%v), want the defaults untouched", info, err)
	}
}

func TestAJobNeverRunsBeforeItsTime(t *testing.T) {
	ctx := t.Context()
	client := braid.NewClient(memstore.New())
	job := braid.NewJob[string, string]("job")
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond).Add(time.Microsecond)
	handle, err := job.Enqueue(ctx, client, "x", braid.At(at))
	if err != nil {
		t.Fatal(err)
	}
	info, err := handle.Get(ctx)
	if err != nil || info.RunAt.Before(at) || info.RunAt.Sub(at) > 5*time.Millisecond {
		t.Errorf("runAt is %v (%v), want %v or a little later", info.RunAt, err, at)
	}
	past, err := job.Enqueue(ctx, client, "x", braid.At(time.Now().Add(-time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if info, err = past.Get(ctx); err != nil || info.State != braid.Waiting {
		t.Errorf("a time in the past: %+v (%v), want it waiting", info, err)
	}
}

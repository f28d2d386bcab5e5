package redisstore_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

// BenchmarkChildren takes the children of one flow from their enqueue until their
// outcomes are recorded, in batches, and reports what the server spends in the scripts,
// per child and step.
func BenchmarkChildren(b *testing.B) {
	const size = driver.ChunkReports
	server := testserver.Redis(b)
	ctx := context.Background()
	store, err := redisstore.Open(ctx, server.URL(), redisstore.WithLogger(quiet))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()

	children := max(b.N/size, 1) * size
	now := driver.Time(1_700_000_000_000)
	try := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	report := func(name string, took time.Duration) {
		b.ReportMetric(float64(took.Nanoseconds())/1000/float64(children), "µs-"+name)
	}
	phase := func(name string, step func(from int)) {
		before := scriptTime(b, client)
		for from := 0; from < children; from += size {
			step(from)
		}
		report(name, scriptTime(b, client)-before)
	}
	claim := func(queue, token string, limit int) []*driver.Job {
		result, err := store.Claim(ctx, now, driver.ClaimRequest{Queue: queue, Names: []string{"job"},
			Worker: "host-12345-abcdef", Token: token, Limit: limit, LockDuration: 30_000})
		try(err)
		return result.Jobs
	}

	const run = "0123456789abcdef-run"
	_, err = store.Enqueue(ctx, now, []driver.EnqueueRequest{{ID: "parent", Spec: driver.Spec{Name: "job", Queue: "parents", AttemptsMax: 25}}})
	try(err)
	claim("parents", run, 1)
	staged := make([]driver.StagedChild, children)
	for i := range staged {
		key := strconv.Itoa(i)
		staged[i] = driver.StagedChild{ChildKey: key, StoreKey: "default", Request: driver.EnqueueRequest{
			ID: "flow/0123456789abcdef0123456789abcdef/" + key,
			Spec: driver.Spec{Name: "job", Queue: "children", AttemptsMax: 25, Payload: []byte(`"0123456789abcdefghijklmnopqrstuvwxy"`),
				Parent: &driver.Envelope{FlowName: "flow", FlowID: "parent", Run: run, ChildKey: key, ParentStoreKey: "default", Depth: 1}},
		}}
	}
	b.ResetTimer()
	phase("stage", func(from int) { try(store.StageChildren(ctx, "parent", run, staged[from:from+size])) })
	_, err = store.Ack(ctx, now, []driver.Ack{{ID: "parent", Token: run, Kind: driver.AckFanOut, Children: int64(children)}})
	try(err)
	phase("enqueue", func(from int) {
		batch := make([]driver.EnqueueRequest, size)
		for i := range batch {
			batch[i] = staged[from+i].Request
		}
		_, err := store.Enqueue(ctx, now, batch)
		try(err)
	})
	const held = 250 // how many children are active at once
	var claiming, acking time.Duration
	for from := 0; from < children; from += held {
		token := "0123456789abcdef-" + strconv.Itoa(from)
		begun := scriptTime(b, client)
		jobs := claim("children", token, held)
		claimed := scriptTime(b, client)
		if len(jobs) != held {
			b.Fatalf("%d children were claimed of %d", len(jobs), held)
		}
		acks := make([]driver.Ack, len(jobs))
		for i, job := range jobs {
			acks[i] = driver.Ack{ID: job.ID, Token: token, Kind: driver.AckComplete, Exit: []byte(`"result"`)}
		}
		_, err := store.Ack(ctx, now, acks)
		try(err)
		claiming, acking = claiming+claimed-begun, acking+scriptTime(b, client)-claimed
	}
	report("claim", claiming)
	report("ack", acking)
	var pages [][]driver.OutboxEntry
	after := ""
	phase("peek", func(int) {
		page, err := store.PeekOutbox(ctx, now, driver.PeekRequest{StoreKeys: []string{"default"}, Limit: size, After: after, Hold: 5000})
		try(err)
		after = page[len(page)-1].ID
		pages = append(pages, page)
	})
	phase("record", func(from int) {
		var reports []driver.ChildReport
		for _, entry := range pages[from/size] {
			reports = append(reports, entry.Report)
		}
		results, err := store.RecordChildResults(ctx, now, reports)
		try(err)
		if !results[0].Applied {
			b.Fatalf("report %d was not applied", from)
		}
	})
	phase("delete", func(from int) {
		var ids []string
		for _, entry := range pages[from/size] {
			ids = append(ids, entry.ID)
		}
		try(store.DeleteOutbox(ctx, ids))
	})
	jobs, err := store.Jobs(ctx, []string{"parent"})
	try(err)
	if jobs[0].State != driver.Waiting {
		b.Fatalf("the parent is %v", jobs[0].State)
	}
}

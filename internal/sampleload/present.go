package sampleload

import (
	"fmt"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/cron"
)

const stack = `goroutine 4183 [running]:
runtime/debug.Stack()
	/usr/local/go/src/runtime/debug/stack.go:26 +0x5e
shop.example/internal/images.(*Decoder).header(0xc000412e00, {0xc0001aa000, 0x0, 0x200})
	/src/shop/internal/images/decode.go:118 +0x2b1
shop.example/internal/images.Resize({0x1a2b3c8, 0xc00007e0f0}, {0xc000124000, 0x11})
	/src/shop/internal/images/resize.go:57 +0x1c4
shop.example/jobs.resizeImage({0x1a2b3c8, 0xc00007e0f0}, {{0xc000124000, 0x11}, {0xc00011a018, 0x3, 0x3}})
	/src/shop/jobs/images.go:31 +0x9c`

// gather lets jobs gather that are not run: for a worker that nobody has started, in a
// queue that is about to be paused, and such as fall due later. left are the minutes
// until now.
func (f *filler) gather(left int) {
	catalog := kind{name: "import-catalog", queue: "imports", payload: kinds[5].payload}
	if left <= 17 {
		for range 2 + left%3 {
			f.load.Waiting = f.enqueue(f.at+driver.Time(f.rand.IntN(50_000)), driver.EnqueueRequest{Spec: f.spec(catalog)})
		}
	}
	if left <= 5 {
		for range 4 {
			f.enqueue(f.at+driver.Time(f.rand.IntN(50_000)), driver.EnqueueRequest{Spec: f.spec(kinds[6])})
		}
	}
	if left%2 == 0 && left > 6 {
		f.load.Delayed = f.enqueue(f.at, driver.EnqueueRequest{Spec: f.spec(kinds[left%3]), Delay: driver.Millis(60_000*left + 420_000 + 9770*left)})
	}
}

// open adds jobs that run, and a few latest failures.
func (f *filler) open() {
	for i := range 7 { // running
		k := kinds[i%4]
		at := f.now - driver.Time(4000+i*1700)
		f.load.Active = f.enqueue(at, driver.EnqueueRequest{Spec: f.spec(k)})
		f.claim(at+90, k.queue, k.name, worker(i%3))
	}
	if f.err == nil {
		f.try(f.store.Pause(f.ctx, "reports"))
	}
	f.fail(kinds[3], 190_000, problem(kinds[3]))
	f.fail(kinds[2], 95_000, problem(kinds[2]))
	f.load.Failed = f.fail(kinds[1], 41_000, panicked())
}

func panicked() []byte {
	k := kind{problem: "panic: runtime error: slice bounds out of range [:512] with capacity 0"}
	encoded := problem(k)
	return append(encoded[:len(encoded)-1], fmt.Sprintf(`,"stack":%q}`, stack)...)
}

// fail lets a job fail after its three attempts.
func (f *filler) fail(k kind, ago driver.Time, exit []byte) string {
	at := f.now - ago
	spec := f.spec(k)
	spec.Priority = 5 // in front of those that are not to be claimed here
	id := f.enqueue(at, driver.EnqueueRequest{ID: fmt.Sprintf("%s-%d", k.name, at%100_000), Spec: spec})
	for i, kind := range []driver.AckKind{driver.AckRetry, driver.AckRetry, driver.AckFail} {
		begin := at + driver.Time(i*8000) + 150
		token := f.claim(begin, k.queue, k.name, worker(i))
		f.ack(begin+driver.Time(k.runs), driver.Ack{ID: id, Token: token, Kind: kind, Exit: exit})
	}
	return id
}

// flow adds a flow half of whose children have ended, with a flow among them.
func (f *filler) flow() {
	at := f.now - 75_000
	parent := f.parent("newsletter-2026-11-30", "send-newsletter", at, nil)
	request := func(of, run, key string, depth int32) driver.EnqueueRequest {
		return driver.EnqueueRequest{ID: driver.FlowIDPrefix + of + "/" + key, Spec: driver.Spec{
			Name: "send-issue", Queue: "newsletter", AttemptsMax: 3, Payload: []byte(`{"to":"` + key + `@example.com"}`),
			Parent: &driver.Envelope{FlowName: "newsletter", FlowID: of, Run: run, ChildKey: key, ParentStoreKey: "default", Depth: depth},
		}}
	}
	children := make([]driver.EnqueueRequest, 0, len(people)+1)
	for _, name := range people {
		children = append(children, request(parent.id, parent.token, name, 1))
	}
	digest := request(parent.id, parent.token, "weekly-digest", 1)
	digest.Name = "build-digest"
	f.fanOut(parent, at+400, append(children, digest))
	f.finishSome(at+2000, 3, 1)

	nested := f.parent("", digest.Name, at+3000, &digest)
	var parts []driver.EnqueueRequest
	for _, key := range []string{"charts", "cover", "orders", "reviews"} {
		part := request(nested.id, nested.token, key, 2)
		part.Priority = 1
		parts = append(parts, part)
	}
	f.fanOut(nested, at+3500, parts)
	f.finishSome(at+5000, 2, 0)
	f.load.Flow = parent.id
}

// claimed is a flow's parent that runs.
type claimed struct{ id, token string }

// parent enqueues a flow's parent, unless a child is one, and claims it.
func (f *filler) parent(id, name string, at driver.Time, child *driver.EnqueueRequest) claimed {
	if child != nil {
		id = child.ID
	} else {
		f.enqueue(at, driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: name, Queue: "newsletter", AttemptsMax: 3, Payload: []byte(`{"issue":48}`)}})
	}
	return claimed{id, f.claim(at+200, "newsletter", name, worker(0))}
}

func (f *filler) fanOut(parent claimed, at driver.Time, children []driver.EnqueueRequest) {
	if f.err != nil {
		return
	}
	staged := make([]driver.StagedChild, len(children))
	for i, child := range children {
		staged[i] = driver.StagedChild{ChildKey: child.Parent.ChildKey, StoreKey: "default", Request: child}
	}
	if !f.try(f.store.StageChildren(f.ctx, parent.id, parent.token, staged)) ||
		!f.ack(at, driver.Ack{ID: parent.id, Token: parent.token, Kind: driver.AckFanOut, Children: int64(len(children))}) {
		return
	}
	_, err := f.store.Enqueue(f.ctx, at, children)
	f.try(err)
}

// finishSome ends some of the children that wait, and brings that to their parents.
func (f *filler) finishSome(at driver.Time, completed, failed int) {
	for i := range completed + failed {
		begin := at + driver.Time(i*300)
		f.tokens++
		token := fmt.Sprintf("token-%d", f.tokens)
		result, err := f.store.Claim(f.ctx, begin, driver.ClaimRequest{Queue: "newsletter", Names: []string{"send-issue"}, Worker: worker(1), Token: token, Limit: 1, LockDuration: 600_000})
		if !f.try(err) || len(result.Jobs) == 0 {
			return
		}
		ack := driver.Ack{ID: result.Jobs[0].ID, Token: token, Kind: driver.AckComplete, Exit: []byte(`{"sent":true}`)}
		if i >= completed {
			ack.Kind, ack.Exit = driver.AckFail, problem(kind{problem: "550 5.1.1 mailbox does not exist"})
		}
		f.ack(begin+250, ack)
	}
	entries, err := f.store.PeekOutbox(f.ctx, at, driver.PeekRequest{Limit: 100})
	if !f.try(err) {
		return
	}
	reports, ids := make([]driver.ChildReport, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		reports[i], ids[i] = e.Report, e.ID
	}
	if _, err = f.store.RecordChildResults(f.ctx, at, reports); f.try(err) {
		f.try(f.store.DeleteOutbox(f.ctx, ids))
	}
}

func (f *filler) schedules() {
	for _, s := range []driver.Schedule{
		{Key: "daily-sales", JobName: "export-report", Queue: "reports", Cron: "0 7 * * MON-FRI", TZ: "America/New_York",
			Payload: []byte(`{"report":"sales","range":"yesterday"}`), Overlap: driver.OverlapSkip, Group: "reports"},
		{Key: "invoice-run", JobName: "charge-card", Queue: "billing", Cron: "30 2 1 * *", TZ: "Europe/Berlin", Group: "billing"},
		{Key: "poll-warehouses", JobName: "sync-inventory", Queue: "imports", Every: driver.Millis(600_000)},
		{Key: "weekly-newsletter", JobName: "send-newsletter", Queue: "newsletter", Cron: "0 9 * * SUN", TZ: "Australia/Lord_Howe"},
	} {
		s.AttemptsMax = 3
		next, _, err := cron.NextSlot(s, f.now-340_000, f.now)
		if s.NextRunAt = next; f.try(err) {
			_, err = f.store.UpsertSchedule(f.ctx, s)
			f.try(err)
		}
	}
}

func (f *filler) workers() {
	names := []string{"build-digest", "charge-card", "deliver-webhook", "export-report", "resize-image", "send-issue", "send-newsletter", "send-receipt", "sync-inventory"}
	for i := range 3 {
		record := driver.WorkerRecord{
			ID: worker(i), Host: fmt.Sprintf("shop-%d", i+1), PID: 417 + i*10, Version: "v2.14.0", Names: names,
			Since: f.now - driver.Time(86_400_000*(3-i)), ExpiresAt: f.now + 3_600_000,
			Queues: []driver.WorkerQueue{
				{Name: "billing", Slots: 4, InFlight: 1}, {Name: "email", Slots: 20, InFlight: 1 - i/2},
				{Name: "newsletter", Slots: 10}, {Name: "reports", Slots: 2}, {Name: "thumbnails", Slots: 8, InFlight: 1}, {Name: "webhooks", Slots: 20, InFlight: i / 2},
			},
		}
		if f.err == nil {
			f.try(f.store.BeatWorker(f.ctx, f.now-driver.Time(2000+i*1300), record))
		}
	}
	if f.err == nil {
		f.try(f.store.BeatWorker(f.ctx, f.now-1200, driver.WorkerRecord{ID: "inventory.py", Names: []string{"sync-inventory"},
			Queues: []driver.WorkerQueue{{Name: "imports", Slots: 1}}, Since: f.now - 5_400_000, ExpiresAt: f.now + 3_600_000}))
	}
	f.try(f.err)
}

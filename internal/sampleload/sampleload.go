// Package sampleload fills a store with what a shop's jobs look like after a busy hour:
// for tests of what people look at, and for pictures of it. It drives the store on a
// made-up time, so it is done at once.
package sampleload

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/braidmq/braid/driver"
)

// Load is what was put into a store: ids to look for.
type Load struct {
	Failed, Delayed, Active, Waiting, Completed, Flow string
}

// Fill fills an empty store with an hour that ends now. It draws the same for the same
// seed.
func Fill(ctx context.Context, store driver.Store, now driver.Time, seed uint64) (Load, error) {
	f := &filler{ctx: ctx, store: store, rand: rand.New(rand.NewPCG(seed, 7)), now: now}
	for minute := driver.Time(60); minute > 0; minute-- {
		f.minute(now - minute*60_000)
	}
	f.at = now
	f.open()
	f.flow()
	f.schedules()
	f.workers()
	return f.load, f.err
}

// kind is a kind of job of the shop.
type kind struct {
	name, queue string
	perMinute   float64
	runs        float64 // milliseconds, in the middle
	fails       float64 // of its runs
	payload     func(r *rand.Rand) string
	problem     string
}

var people = []string{"ada", "grace", "linus", "margaret", "ken", "barbara", "dennis", "radia"}

func person(r *rand.Rand) string { return people[r.IntN(len(people))] }

var kinds = []kind{
	{"send-receipt", "email", 9, 180, .02, func(r *rand.Rand) string {
		return fmt.Sprintf(`{"to":"%s@example.com","order":%d,"lines":[{"sku":"mug-%d","count":%d}]}`, person(r), 40_000+r.IntN(9000), r.IntN(40), 1+r.IntN(3))
	}, "smtp: 421 4.7.0 try again later, closing connection"},
	{"resize-image", "thumbnails", 6, 900, .01, func(r *rand.Rand) string {
		return fmt.Sprintf(`{"image":"products/%05d.jpg","widths":[160,640,1280]}`, r.IntN(99_999))
	}, "decode products/00417.jpg: unexpected EOF"},
	{"deliver-webhook", "webhooks", 5, 420, .12, func(r *rand.Rand) string {
		return fmt.Sprintf(`{"url":"https://%s.example/hooks","event":"order.paid","id":"evt_%06d"}`, person(r), r.IntN(999_999))
	}, "POST https://radia.example/hooks: 503 Service Unavailable"},
	{"charge-card", "billing", 2, 1400, .03, func(r *rand.Rand) string {
		return fmt.Sprintf(`{"customer":"cus_%04d","cents":%d,"currency":"eur"}`, r.IntN(9999), 500+r.IntN(30_000))
	}, "card declined: insufficient funds"},
	{"export-report", "reports", 1, 9000, .05, func(r *rand.Rand) string {
		return fmt.Sprintf(`{"report":"sales","quarter":"2026-Q%d","for":"%s"}`, 1+r.IntN(4), person(r))
	}, "context deadline exceeded"},
	{"sync-inventory", "imports", 1.5, 2500, .02, func(r *rand.Rand) string {
		return fmt.Sprintf(`{"warehouse":"W%d","page":%d}`, 1+r.IntN(5), r.IntN(200))
	}, "warehouse W3: connection reset by peer"},
	{"export-invoices", "reports", 0, 9000, 0, func(r *rand.Rand) string { return fmt.Sprintf(`{"month":%d}`, 1+r.IntN(12)) }, ""},
}

type filler struct {
	ctx    context.Context
	store  driver.Store
	rand   *rand.Rand
	now    driver.Time
	at     driver.Time
	tokens int
	load   Load
	err    error // the first one; everything after it does nothing
}

func (f *filler) try(err error) bool {
	if f.err == nil {
		f.err = err
	}
	return f.err == nil
}

// minute lets a minute pass.
func (f *filler) minute(at driver.Time) {
	f.at = at
	f.try(f.store.SampleDepth(f.ctx, at))
	swing := 1 + .45*math.Sin(float64(at/60_000)/9)
	late := 1.0
	if minutes := (f.now - at) / 60_000; minutes > 18 && minutes < 27 { // a slow quarter of an hour
		late = 6
	}
	f.gather(int((f.now - at) / 60_000))
	for _, k := range kinds {
		n := int(k.perMinute * (swing + .3*f.rand.Float64()))
		f.work(k, n, late)
	}
}

func (f *filler) spec(k kind) driver.Spec {
	return driver.Spec{
		Name: k.name, Queue: k.queue, Payload: []byte(k.payload(f.rand)), AttemptsMax: 3,
		Metadata: map[string]string{"tenant": []string{"north", "south"}[f.rand.IntN(2)]},
		Trace: &driver.Trace{TraceID: fmt.Sprintf("%016x%016x", f.rand.Uint64(), f.rand.Uint64()),
			SpanID: fmt.Sprintf("%016x", f.rand.Uint64()), Sampled: true},
	}
}

// work enqueues jobs of a kind, and runs them.
func (f *filler) work(k kind, n int, late float64) {
	for range n {
		begin := f.at + driver.Time(f.rand.IntN(50_000))
		id := f.enqueue(begin, driver.EnqueueRequest{Spec: f.spec(k)})
		wait := driver.Time(f.rand.ExpFloat64() * 60 * late)
		run := driver.Time(k.runs * (.5 + f.rand.ExpFloat64()) * (1 + (late-1)/3))
		token := f.claim(begin+wait, k.queue, k.name, worker(f.rand.IntN(3)))
		ack := driver.Ack{ID: id, Token: token, Kind: driver.AckComplete, Exit: []byte(`{"ok":true,"ms":` + fmt.Sprint(run) + `}`)}
		failed := f.rand.Float64() < k.fails*math.Sqrt(late)
		if failed {
			ack.Kind, ack.Exit = driver.AckRetry, problem(k)
			if f.rand.IntN(3) == 0 {
				ack.Kind = driver.AckFail
			}
		}
		if !f.ack(begin+wait+run, ack) {
			return
		}
		if ack.Kind != driver.AckRetry {
			f.load.Completed = id
			continue
		}
		token = f.claim(begin+wait+run+1500, k.queue, k.name, worker(f.rand.IntN(3)))
		f.ack(begin+wait+run+1500+run, driver.Ack{ID: id, Token: token, Kind: driver.AckComplete, Exit: []byte(`{"ok":true}`)})
	}
}

func worker(n int) string { return fmt.Sprintf("shop-%d-4%d7-%x", 1+n, n, 0xa1b2c3+n*977) }

func problem(k kind) []byte {
	encoded, err := json.Marshal(map[string]string{"message": k.problem, "type": "*shop.Error"})
	if err != nil {
		return []byte(`{"message":"?"}`)
	}
	return encoded
}

func (f *filler) enqueue(at driver.Time, req driver.EnqueueRequest) string {
	if f.err != nil {
		return ""
	}
	results, err := f.store.Enqueue(f.ctx, at, []driver.EnqueueRequest{req})
	if !f.try(err) {
		return ""
	}
	return results[0].ID
}

// claim claims the one job of a name that waits, and returns the token.
func (f *filler) claim(at driver.Time, queue, name, worker string) string {
	f.tokens++
	token := fmt.Sprintf("token-%d", f.tokens)
	if f.err != nil {
		return token
	}
	result, err := f.store.Claim(f.ctx, at, driver.ClaimRequest{Queue: queue, Names: []string{name}, Worker: worker, Token: token, Limit: 1, LockDuration: 600_000})
	if f.try(err) && len(result.Jobs) == 0 {
		f.try(fmt.Errorf("braid: sample load: no job %s in %s waits at %d", name, queue, at))
	}
	return token
}

func (f *filler) ack(at driver.Time, ack driver.Ack) bool {
	if f.err != nil {
		return false
	}
	results, err := f.store.Ack(f.ctx, at, []driver.Ack{ack})
	if err == nil {
		err = results[0].Err
	}
	return f.try(err)
}

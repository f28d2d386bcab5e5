package shop

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// There is something of everything that people come to see; a declined card is paid
// when its job is retried; and nothing is left when the shop has closed.
func TestTheShopFromItsOpeningToItsEnd(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	client := braid.NewClient(store, braid.WithLogger(slog.New(slog.DiscardHandler)))
	defer client.Close()
	ctx, closeShop := context.WithCancel(t.Context())
	defer closeShop()
	opened, closed := make(chan struct{}), make(chan error, 1)
	go func() {
		closed <- Run(ctx, Options{Store: store, Rate: 20, Opened: func() { close(opened) }, Logger: slog.New(slog.DiscardHandler)})
	}()
	<-opened

	await(t, client, DeclinedID, braid.Failed)
	await(t, client, ReportID, braid.Waiting)
	await(t, client, ReviewID, braid.Delayed)
	if schedules, err := client.Schedules(ctx, braid.ScheduleFilter{}); err != nil || len(schedules) != 3 {
		t.Errorf("schedules: %+v, %v", schedules, err)
	}
	if err := client.Retry(ctx, DeclinedID); err != nil {
		t.Error(err)
	}
	await(t, client, DeclinedID, braid.Completed)
	if err := client.Pause(ctx, Email); err != nil { // which somebody forgets
		t.Error(err)
	}

	closeShop()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	counts, err := client.Counts(t.Context(), "")
	if err != nil || counts.Total() != 0 {
		t.Errorf("jobs are left: %+v, %v", counts, err)
	}
	schedules, err := client.Schedules(t.Context(), braid.ScheduleFilter{})
	if err != nil || len(schedules) != 0 {
		t.Errorf("schedules are left: %+v, %v", schedules, err)
	}
	paused, err := client.PausedQueues(t.Context())
	if err != nil || len(paused) != 0 {
		t.Errorf("queues are still paused: %q, %v", paused, err)
	}
	if err := store.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// A queue that is paused for long does not fill the store.
func TestCustomersStayAwayFromACrowdedQueue(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	client := braid.NewClient(store)
	defer client.Close()
	s := &shop{client: client}
	ctx, stop := context.WithCancel(t.Context())
	traded := make(chan error, 1)
	go func() { traded <- s.trade(ctx, 100*time.Microsecond) }() // and nobody works
	// Pictures come with a third of the orders, so that billing has long been full.
	for {
		counts, err := client.Counts(ctx, Images)
		if err != nil {
			t.Fatal(err)
		}
		if counts.Waiting >= mostOpen {
			break
		}
	}
	counts, err := client.Counts(ctx, Billing)
	if err != nil || counts.Waiting < mostOpen || counts.Waiting >= mostOpen+10 {
		t.Errorf("%+v, %v", counts, err)
	}
	stop()
	if err := <-traded; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func await(t *testing.T, client *braid.Client, id string, want driver.State) {
	t.Helper()
	var last *braid.JobInfo
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		job, err := client.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if last = job; job.State == want {
			return
		}
	}
	t.Fatalf("job %q is %v; want %v", id, last.State, want)
}

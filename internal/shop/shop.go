// Package shop is an imaginary shop that works with Braid: customers order, and cards
// are charged, receipts sent, pictures resized. It gives people something to look at and
// to operate on, until they close it.
package shop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

// Options says where the shop keeps its jobs, and how busy it is. The caller closes the
// store.
type Options struct {
	Store driver.Store
	// Rate is how many orders come per second. 0 is 1.
	Rate int
	// Opened, if there is one, is called once the first orders are in the store.
	Opened func()
	Logger *slog.Logger // of the client and the worker
}

const (
	// mostOpen is how many jobs of a queue may wait before customers stay away from it:
	// a queue that is paused for long must not fill the store.
	mostOpen = 200
	// forClosing bounds the clearing away at the end.
	forClosing = 15 * time.Second
)

// Run opens the shop, and closes it when ctx ends: handlers finish, and then the shop's
// jobs and schedules are cleared away. It fails if that leaves some behind.
func Run(ctx context.Context, options Options) error {
	client := braid.NewClient(options.Store, braid.WithLogger(options.Logger))
	defer client.Close()
	s := &shop{client: client}

	worker := braid.NewWorker(client, braid.WorkerOptions{
		Queues:        map[string]int{Email: 8, Billing: 4, Webhooks: 8, Images: 4, Newsletter: 6},
		ShutdownGrace: 5 * time.Second, Version: "shop",
	})
	s.handle(worker)
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := worker.Run(work); err != nil {
			stop(fmt.Errorf("braid: worker: %w", err))
		}
	}()
	err := s.open(work)
	if err == nil {
		if options.Opened != nil {
			options.Opened()
		}
		err = s.trade(work, time.Second/time.Duration(max(options.Rate, 1)))
	}
	if cause := context.Cause(work); ctx.Err() != nil {
		err = nil // it was told to close
	} else if cause != nil {
		err = cause
	}
	stop(nil)
	<-ended
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), forClosing)
	defer cancel()
	return errors.Join(err, s.clear(closing))
}

// shop is one that is open.
type shop struct{ client *braid.Client }

// open stores what there is to see from the beginning: schedules, a declined card, jobs
// that nobody takes up, and one that is due later.
func (s *shop) open(ctx context.Context) error {
	err := braid.SyncSchedules(ctx, s.client, group,
		syncStock.Entry("demo-stock", braid.Every(30*time.Second), warehouse{Name: "north"}),
		newsletter.Entry("demo-newsletter", braid.Every(2*time.Minute), issue{Number: 48}, braid.SkipOverlap()),
		exportReport.Entry("demo-monthly-report", braid.Cron("30 2 1 * *", "Europe/Berlin"), report{Of: "last month"}),
		braid.Prune())
	if err != nil {
		return err
	}
	// One that a shop left behind which was killed would make these duplicates.
	if _, err := s.client.RemoveMany(ctx, DeclinedID, ReportID, ReviewID); err != nil {
		return err
	}
	if _, err := chargeCard.Enqueue(ctx, s.client, charge{Order: 1001, Card: declinedCard, Cents: 4_200}, braid.ID(DeclinedID)); err != nil {
		return err
	}
	if _, err := exportReport.Enqueue(ctx, s.client, report{Of: "this week"}, braid.ID(ReportID)); err != nil {
		return err
	}
	if _, err := newsletter.Enqueue(ctx, s.client, issue{Number: 47}); err != nil {
		return err
	}
	_, err = askForReview.Enqueue(ctx, s.client, order{Number: 1001, Customer: "ada"}, braid.ID(ReviewID), braid.In(time.Hour))
	return err
}

// trade takes an order at every tick, until ctx ends.
func (s *shop) trade(ctx context.Context, interval time.Duration) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	crowded := make(map[string]bool)
	for number := 1002; ; number++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if number%10 == 2 {
			for _, queue := range Queues {
				counts, err := s.client.Counts(ctx, queue)
				if err != nil {
					return err
				}
				crowded[queue] = counts.Waiting+counts.Delayed >= mostOpen
			}
		}
		if err := s.order(ctx, number, crowded); err != nil {
			return err
		}
	}
}

// order enqueues what an order brings about, except in queues that are crowded.
func (s *shop) order(ctx context.Context, number int, crowded map[string]bool) error {
	who := customers[rand.IntN(len(customers))]
	placed := order{Number: number, Customer: who}
	card := goodCard
	if rand.IntN(12) == 0 {
		card = declinedCard
	}
	var requests []braid.Request
	add := func(queue string, request braid.Request) {
		if !crowded[queue] {
			requests = append(requests, request)
		}
	}
	about := braid.Metadata(map[string]string{"customer": who})
	add(Billing, chargeCard.Request(charge{Order: number, Card: card, Cents: 500 + rand.IntN(30_000)}, about))
	add(Email, sendReceipt.Request(receipt{To: who + "@example.com", Order: number}, about))
	add(Webhooks, deliverWebhook.Request(webhook{URL: "https://" + who + ".example/hooks", Order: number}, about))
	if number%3 == 0 {
		add(Images, resizeImage.Request(image{Path: fmt.Sprintf("products/%05d.jpg", rand.IntN(99_999)), Widths: []int{160, 640, 1280}}))
	}
	if number%5 == 0 {
		add(Email, askForReview.Request(placed, about, braid.In(10*time.Minute)))
	}
	_, err := s.client.EnqueueMany(ctx, requests...)
	return err
}

// clear takes the shop's jobs and schedules out of the store, and ends its pauses.
func (s *shop) clear(ctx context.Context) error {
	if err := braid.SyncSchedules(ctx, s.client, group, braid.Prune()); err != nil {
		return err
	}
	for _, queue := range Queues {
		if err := s.client.Resume(ctx, queue); err != nil {
			return err
		}
		for _, action := range []braid.BulkAction{braid.BulkCancel, braid.BulkRemove} {
			if err := s.bulk(ctx, action, queue); err != nil {
				return err
			}
		}
	}
	left := int64(0)
	for _, queue := range Queues {
		counts, err := s.client.Counts(ctx, queue)
		if err != nil {
			return err
		}
		left += counts.Total()
	}
	if left > 0 {
		return fmt.Errorf("braid: %d jobs of the shop are left in the queues demo/…; to clear them, open and close it once more", left)
	}
	return nil
}

func (s *shop) bulk(ctx context.Context, action braid.BulkAction, queue string) error {
	request := braid.BulkRequest{Action: action, Queue: queue}
	for {
		result, err := s.client.Bulk(ctx, request)
		if err != nil || result.Cursor == "" {
			return err
		}
		request.Cursor = result.Cursor
	}
}

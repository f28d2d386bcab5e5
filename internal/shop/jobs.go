package shop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/braidmq/braid"
)

// The queues of the shop. Nobody works on Reports.
const (
	Email      = "demo/email"
	Billing    = "demo/billing"
	Webhooks   = "demo/webhooks"
	Images     = "demo/images"
	Newsletter = "demo/newsletter"
	Reports    = "demo/reports"
)

// Queues are all of them.
var Queues = []string{Email, Billing, Webhooks, Images, Newsletter, Reports}

// Jobs that are there from the beginning.
const (
	DeclinedID = "demo-order-1001" // failed: a card that was declined; a retry succeeds
	ReportID   = "demo-report"     // waits for a worker that nobody starts
	ReviewID   = "demo-review"     // delayed
)

// group is the one of the shop's schedules.
const group = "demo/shop"

type (
	order struct {
		Number   int    `json:"order"`
		Customer string `json:"customer"`
	}
	charge struct {
		Order int    `json:"order"`
		Card  string `json:"card"`
		Cents int    `json:"cents"`
	}
	receipt struct {
		To    string `json:"to"`
		Order int    `json:"order,omitempty"`
	}
	webhook struct {
		URL   string `json:"url"`
		Order int    `json:"order"`
	}
	image struct {
		Path   string `json:"image"`
		Widths []int  `json:"widths"`
	}
	warehouse struct {
		Name string `json:"warehouse"`
	}
	report struct {
		Of string `json:"of"`
	}
	issue struct {
		Number int `json:"issue"`
	}
	letter struct {
		To    string `json:"to"`
		Issue int    `json:"issue"`
	}
)

const (
	goodCard     = "4242"
	declinedCard = "4000"
)

var customers = []string{"ada", "grace", "linus", "margaret", "ken", "barbara", "dennis", "radia"}

// Finished jobs stay long enough to be looked at; the rate times that is what the store
// holds.
var keep = braid.Keep(braid.KeepFor(10*time.Minute), braid.KeepLast(1000))

var (
	chargeCard     = braid.NewJob[charge, string]("charge-card", braid.Queue(Billing), braid.Attempts(3), keep)
	sendReceipt    = braid.NewJob[receipt, braid.None]("send-receipt", braid.Queue(Email), braid.Attempts(3), keep)
	askForReview   = braid.NewJob[order, braid.None]("ask-for-review", braid.Queue(Email), braid.Attempts(3), keep)
	deliverWebhook = braid.NewJob[webhook, int]("deliver-webhook", braid.Queue(Webhooks), braid.Attempts(4),
		braid.Backoff(braid.Exponential(2*time.Second)), keep)
	resizeImage  = braid.NewJob[image, int]("resize-image", braid.Queue(Images), braid.Attempts(2), keep)
	syncStock    = braid.NewJob[warehouse, int]("sync-stock", braid.Queue(Images), braid.Attempts(3), keep)
	exportReport = braid.NewJob[report, string]("export-report", braid.Queue(Reports), braid.Attempts(3), keep)
	sendIssue    = braid.NewJob[letter, braid.None]("send-issue", braid.Queue(Newsletter), braid.Attempts(2),
		braid.Backoff(braid.Fixed(3*time.Second)), keep)
	newsletter = braid.NewFlow("newsletter", braid.NewJob[issue, sent]("send-newsletter", braid.Queue(Newsletter), keep),
		braid.Children(sendIssue))
)

// sent is what a newsletter comes to.
type sent struct {
	Sent   int `json:"sent"`
	Failed int `json:"failed"`
}

// handle registers what runs the jobs. Some runs fail, as such things do.
func (s *shop) handle(worker *braid.Worker) {
	chargeCard.Handle(worker, s.charge)
	sendReceipt.Handle(worker, func(ctx context.Context, _ receipt) (braid.None, error) {
		return braid.None{}, work(ctx, 200*time.Millisecond)
	})
	askForReview.Handle(worker, func(ctx context.Context, _ order) (braid.None, error) {
		return braid.None{}, work(ctx, 200*time.Millisecond)
	})
	deliverWebhook.Handle(worker, func(ctx context.Context, hook webhook) (int, error) {
		if err := work(ctx, 400*time.Millisecond); err != nil {
			return 0, err
		}
		if rand.IntN(6) == 0 {
			return 0, fmt.Errorf("POST %s: 503 Service Unavailable", hook.URL)
		}
		return 200, nil
	})
	resizeImage.Handle(worker, func(ctx context.Context, picture image) (int, error) {
		return len(picture.Widths), work(ctx, 1200*time.Millisecond)
	})
	syncStock.Handle(worker, func(ctx context.Context, _ warehouse) (int, error) {
		return rand.IntN(500), work(ctx, 2*time.Second)
	})
	sendIssue.Handle(worker, func(ctx context.Context, _ letter) (braid.None, error) {
		if err := work(ctx, 1500*time.Millisecond); err != nil {
			return braid.None{}, err
		}
		if rand.IntN(5) == 0 {
			return braid.None{}, errors.New("smtp: 421 4.7.0 try again later")
		}
		return braid.None{}, nil
	})
	newsletter.Handle(worker, sendToAll, countSent)
}

// charge is declined for some cards, and not tried again, until somebody retries the
// job: by then the customer has the money.
func (s *shop) charge(ctx context.Context, c charge) (string, error) {
	if err := work(ctx, 300*time.Millisecond); err != nil {
		return "", err
	}
	if c.Card != declinedCard {
		return "paid", nil
	}
	earlier, err := s.client.Attempts(ctx, braid.Current(ctx).ID)
	if err != nil {
		return "", err
	}
	if len(earlier) == 0 {
		return "", braid.Unrecoverable(errors.New("card declined: insufficient funds"))
	}
	return "paid", nil
}

func sendToAll(_ context.Context, number issue, out *braid.FanOut) error {
	for _, who := range customers {
		sendIssue.Child(out, who, letter{To: who + "@example.com", Issue: number.Number})
	}
	return nil
}

func countSent(ctx context.Context, _ issue, results *braid.Results) (sent, error) {
	var counts sent
	for child, err := range sendIssue.Results(ctx, results) {
		switch {
		case err != nil:
			return sent{}, err
		case child.Outcome == braid.ChildCompleted:
			counts.Sent++
		default:
			counts.Failed++
		}
	}
	return counts, nil
}

// work takes about as long as it is told.
func work(ctx context.Context, usually time.Duration) error {
	timer := time.NewTimer(usually/2 + rand.N(usually))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

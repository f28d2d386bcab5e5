// Flow sends a newsletter: a parent hands out a mail for every subscriber, in a store of
// their own, waits without occupying a worker, and collects what became of them.
//
//	go run ./examples/flow
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

type Issue struct {
	Title       string   `json:"title"`
	Subscribers []string `json:"subscribers"`
}

type Mail struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

type Summary struct {
	Sent    int64    `json:"sent"`
	Bounced []string `json:"bounced"`
}

var (
	SendMail   = braid.NewJob[Mail, time.Time]("send-mail", braid.OnStore("mail"), braid.Attempts(3), braid.Backoff(braid.Fixed(50*time.Millisecond)))
	Newsletter = braid.NewFlow("newsletter", braid.NewJob[Issue, Summary]("send-newsletter"), braid.Children(SendMail))
)

var errBounced = errors.New("mailbox unavailable")

func main() {
	ctx, stop := braid.SignalContext(context.Background())
	defer stop()
	client := braid.NewClient(memstore.New(), braid.WithStore("mail", memstore.New()))
	defer client.Close()

	worker := braid.NewWorker(client, braid.WorkerOptions{})
	SendMail.Handle(worker, func(ctx context.Context, mail Mail) (time.Time, error) {
		if strings.HasSuffix(mail.To, "@nowhere.test") {
			return time.Time{}, braid.Unrecoverable(errBounced)
		}
		return time.Now(), nil
	})
	Newsletter.Handle(worker, handOut, collect)
	go func() {
		if err := worker.Run(ctx); err != nil {
			log.Fatal(err)
		}
	}()

	issue := Issue{Title: "November", Subscribers: []string{"ann@example.test", "bob@example.test", "eve@nowhere.test"}}
	// The id makes the issue go out once, however often this is called.
	job, err := Newsletter.Enqueue(ctx, client, issue, braid.ID("newsletter/"+issue.Title))
	if err != nil {
		log.Fatal(err)
	}
	summary, err := job.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("sent %d, bounced: %s\n", summary.Sent, strings.Join(summary.Bounced, ", "))
}

// handOut adds a child per subscriber. The address is the child's key: unique among the
// children, and all that collect needs to know them by.
func handOut(ctx context.Context, issue Issue, out *braid.FanOut) error {
	for _, address := range issue.Subscribers {
		SendMail.Child(out, address, Mail{To: address, Subject: issue.Title})
	}
	return nil
}

// collect runs when all mails have been sent or given up.
func collect(ctx context.Context, issue Issue, results *braid.Results) (Summary, error) {
	summary := Summary{Sent: results.Counts.Completed}
	for child, err := range SendMail.Results(ctx, results) {
		if err != nil {
			return Summary{}, err // tried again, with what was recorded
		}
		if child.Err != nil {
			summary.Bounced = append(summary.Bounced, child.Key)
		}
	}
	return summary, nil
}

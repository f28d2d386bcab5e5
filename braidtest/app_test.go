package braidtest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/braidmq/braid"
)

// What the application of the examples has: definitions, a function that enqueues,
// handlers.

type Mail struct{ To, Subject string }

var (
	SendMail = braid.NewJob[Mail, string]("send-mail", braid.Queue("mail"), braid.Attempts(3), braid.Backoff(braid.Exponential(time.Minute)))
	Remind   = braid.NewJob[string, braid.None]("remind", braid.Keep(braid.KeepLast(0)))
	Digest   = braid.NewFlow("digest", braid.NewJob[[]string, int]("send-digest"), braid.Children(SendMail))
)

// SignUp greets, and reminds after a week.
func SignUp(ctx context.Context, client *braid.Client, user string) error {
	if _, err := SendMail.Enqueue(ctx, client, Mail{To: user, Subject: "Welcome"}, braid.Priority(5)); err != nil {
		return err
	}
	_, err := Remind.Enqueue(ctx, client, user, braid.In(7*24*time.Hour))
	return err
}

// Mailer stands for the network, which a test replaces.
type Mailer interface{ Send(Mail) error }

// Register gives a worker the application's handlers.
func Register(w *braid.Worker, client *braid.Client, mailer Mailer) {
	SendMail.Handle(w, func(_ context.Context, m Mail) (string, error) { return "sent to " + m.To, mailer.Send(m) })
	Remind.Handle(w, func(ctx context.Context, user string) (braid.None, error) {
		_, err := SendMail.Enqueue(ctx, client, Mail{To: user, Subject: "Still there?"})
		return braid.None{}, err
	})
	Digest.Handle(w,
		func(_ context.Context, users []string, out *braid.FanOut) error {
			for _, user := range users {
				SendMail.Child(out, user, Mail{To: user, Subject: "News"})
			}
			return nil
		},
		func(_ context.Context, _ []string, results *braid.Results) (int, error) {
			return int(results.Counts.Completed), nil
		})
}

// outbox is a mailer for tests, which fails a number of times first. Handlers run beside
// each other.
type outbox struct {
	mu       sync.Mutex
	failures int
	sent     []Mail
	at       []time.Time
}

func (o *outbox) Send(m Mail) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures > 0 {
		o.failures--
		return errors.New("421 try again later")
	}
	o.sent, o.at = append(o.sent, m), append(o.at, time.Now())
	return nil
}

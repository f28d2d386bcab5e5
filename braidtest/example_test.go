package braidtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/braidtest"
)

// t is the test that an example stands in.
var t *testing.T

// The examples are the bodies of tests; here they are run as such.
func TestTheExamplesHold(test *testing.T) {
	for name, example := range map[string]func(){
		"Run": ExampleRun, "New": ExampleNew, "Enqueued": ExampleEnqueued, "RequireOne": ExampleRequireOne, "RequireNone": ExampleRequireNone,
		"RunOnce": ExampleRunOnce, "Do": ExampleDo, "Work": ExampleT_Work, "Settle": ExampleT_Settle, "Drain": ExampleT_Drain,
		"Advance": ExampleT_Advance, "StartAt": ExampleStartAt, "WithStore": ExampleWithStore, "WithClientOptions": ExampleWithClientOptions,
	} {
		test.Run(name, func(test *testing.T) {
			t = test
			example()
		})
	}
}

// A week passes at once.
func ExampleRun() {
	braidtest.Run(t, func(t *braidtest.T) {
		mailer := &outbox{}
		t.Work(func(w *braid.Worker) { Register(w, t.Client, mailer) })
		if err := SignUp(t.Context(), t.Client, "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		t.Advance(6 * 24 * time.Hour)
		if len(mailer.sent) != 1 || mailer.sent[0].Subject != "Welcome" {
			t.Errorf("sent within six days: %+v", mailer.sent)
		}
		t.Advance(24 * time.Hour)
		if len(mailer.sent) != 2 || mailer.sent[1].Subject != "Still there?" {
			t.Errorf("sent within a week: %+v", mailer.sent)
		}
	})
}

// Without a fake clock, handlers may use whatever the test has opened before, such as a
// database.
func ExampleNew() {
	mailer := &outbox{}
	bt := braidtest.New(t)
	bt.Work(func(w *braid.Worker) { Register(w, bt.Client, mailer) })
	if err := SignUp(bt.Context(), bt.Client, "ada@example.com"); err != nil {
		bt.Fatal(err)
	}
	bt.Settle()
	if len(mailer.sent) != 1 {
		bt.Errorf("sent at once: %+v", mailer.sent)
	}
	// The reminder is not due for a week. It can be promoted.
	if err := bt.Client.Promote(bt.Context(), braidtest.RequireOne(bt, Remind).ID); err != nil {
		bt.Fatal(err)
	}
	bt.Settle()
	if len(mailer.sent) != 2 {
		bt.Errorf("sent in the end: %+v", mailer.sent)
	}
}

// What a piece of code enqueues is seen without any worker.
func ExampleEnqueued() {
	bt := braidtest.New(t)
	for _, user := range []string{"ada", "bob"} {
		if err := SignUp(bt.Context(), bt.Client, user); err != nil {
			bt.Fatal(err)
		}
	}
	mails := braidtest.Enqueued(bt, SendMail)
	if len(mails) != 2 || mails[1].Payload.To != "bob" {
		bt.Errorf("mails: %+v", mails)
	}
}

func ExampleRequireOne() {
	bt := braidtest.New(t)
	if err := SignUp(bt.Context(), bt.Client, "ada@example.com"); err != nil {
		bt.Fatal(err)
	}
	mail := braidtest.RequireOne(bt, SendMail)
	if mail.Payload != (Mail{"ada@example.com", "Welcome"}) || mail.Priority != 5 || mail.Queue != "mail" {
		bt.Errorf("the mail: %+v", mail)
	}
	if reminder := braidtest.RequireOne(bt, Remind); reminder.Delay != 7*24*time.Hour {
		bt.Errorf("the reminder comes after %v", reminder.Delay)
	}
}

func ExampleRequireNone() {
	bt := braidtest.New(t)
	if err := SignUp(bt.Context(), bt.Client, "ada@example.com"); err != nil {
		bt.Fatal(err)
	}
	braidtest.RequireNone(bt, Digest)
}

// A handler, run once.
func ExampleRunOnce() {
	bt := braidtest.New(t)
	mailer := &outbox{failures: 1}
	send := func(_ context.Context, m Mail) (string, error) { return "sent to " + m.To, mailer.Send(m) }

	first := braidtest.RunOnce(bt, SendMail, Mail{To: "ada"}, send)
	if first.State != braid.Delayed || first.RunAgainIn != time.Minute || first.Err == nil {
		bt.Errorf("a mailer that fails: %+v", first)
	}
	second := braidtest.RunOnce(bt, SendMail, Mail{To: "ada"}, send)
	if second.State != braid.Completed || second.Result != "sent to ada" {
		bt.Errorf("one that works: %+v", second)
	}
}

// Retries come with their backoff, in no time.
func ExampleDo() {
	braidtest.Run(t, func(t *braidtest.T) {
		mailer := &outbox{failures: 2}
		t.Work(func(w *braid.Worker) { Register(w, t.Client, mailer) })
		began := time.Now()
		receipt, err := braidtest.Do(t, SendMail, Mail{To: "ada@example.com"})
		if receipt != "sent to ada@example.com" || err != nil {
			t.Errorf("%q, %v", receipt, err)
		}
		if took := mailer.at[0].Sub(began).Round(time.Second); took != 3*time.Minute {
			t.Errorf("backoffs of a minute and of two took %v", took)
		}
	})
}

func ExampleT_Work() {
	braidtest.Run(t, func(t *braidtest.T) {
		mailer := &outbox{}
		t.Work(func(w *braid.Worker) { Register(w, t.Client, mailer) }, braid.WorkerOptions{Concurrency: 1})
		if _, err := braidtest.Do(t, SendMail, Mail{To: "ada"}); err != nil {
			t.Error(err)
		}
	})
}

func ExampleT_Settle() {
	braidtest.Run(t, func(t *braidtest.T) {
		mailer := &outbox{}
		t.Work(func(w *braid.Worker) { Register(w, t.Client, mailer) })
		if err := SignUp(t.Context(), t.Client, "ada"); err != nil {
			t.Fatal(err)
		}
		t.Settle() // the reminder stays
		if len(mailer.sent) != 1 {
			t.Errorf("sent at once: %+v", mailer.sent)
		}
	})
}

// Flows run to their end, children and all.
func ExampleT_Drain() {
	braidtest.Run(t, func(t *braidtest.T) {
		mailer := &outbox{failures: 1}
		t.Work(func(w *braid.Worker) { Register(w, t.Client, mailer) })
		digest, err := Digest.Enqueue(t.Context(), t.Client, []string{"ada", "bob", "cy"})
		if err != nil {
			t.Fatal(err)
		}
		t.Drain()
		if sent, err := digest.Wait(t.Context()); sent != 3 || err != nil {
			t.Errorf("the digest went to %d, %v", sent, err)
		}
		children := braidtest.Enqueued(t, SendMail)
		if len(children) != 3 || children[0].Flow != digest.ID || children[0].ChildKey != "ada" {
			t.Errorf("children: %+v", children)
		}
	})
}

// Schedules fire as time passes.
func ExampleT_Advance() {
	braidtest.Run(t, func(t *braidtest.T) {
		t.Work(func(w *braid.Worker) { Register(w, t.Client, &outbox{}) })
		if err := SendMail.Schedule(t.Context(), t.Client, "morning", braid.Cron("0 7 * * *"), Mail{To: "all"}); err != nil {
			t.Fatal(err)
		}
		t.Advance(72 * time.Hour)
		fired := braidtest.Enqueued(t, SendMail)
		if len(fired) != 3 || fired[0].At.Hour() != 7 {
			t.Errorf("fired: %+v", fired)
		}
	})
}

// The night in which New York's clocks go forward has no half past two.
func ExampleStartAt() {
	braidtest.Run(t, func(t *braidtest.T) {
		t.Work(func(w *braid.Worker) { Register(w, t.Client, &outbox{}) })
		if err := SendMail.Schedule(t.Context(), t.Client, "night", braid.Cron("30 2 * * *", "America/New_York"), Mail{To: "all"}); err != nil {
			t.Fatal(err)
		}
		t.Advance(12 * time.Hour)
		braidtest.RequireOne(t, SendMail)
	}, braidtest.StartAt(time.Date(2026, time.March, 8, 5, 0, 0, 0, time.UTC)))
}

func ExampleWithStore() {
	rebuild := braid.NewJob[string, braid.None]("rebuild", braid.OnStore("search"))
	bt := braidtest.New(t, braidtest.WithStore("search"))
	if _, err := rebuild.Enqueue(bt.Context(), bt.Client, "products"); err != nil {
		bt.Fatal(err)
	}
	if job := braidtest.RequireOne(bt, rebuild); job.Store != "search" {
		bt.Errorf("it went to the store %q", job.Store)
	}
}

func ExampleWithClientOptions() {
	bt := braidtest.New(t, braidtest.WithClientOptions(braid.WithMaxPayload(10)))
	if err := SignUp(bt.Context(), bt.Client, "ada@example.com"); err == nil {
		bt.Error("a payload beyond the limit was taken")
	}
	braidtest.RequireNone(bt)
}

package braid_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

type Email struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

type Receipt struct {
	MessageID string `json:"messageId"`
}

// A definition is shared by the programs that enqueue and the ones that work.
var SendEmail = braid.NewJob[Email, Receipt]("send-email",
	braid.Queue("email"), braid.Attempts(5), braid.Timeout(30*time.Second))

func Example() {
	ctx := context.Background()
	client := braid.NewClient(memstore.New())

	worker := braid.NewWorker(client, braid.WorkerOptions{Concurrency: 50})
	SendEmail.Handle(worker, func(ctx context.Context, e Email) (Receipt, error) {
		return Receipt{MessageID: "<1@" + e.To + ">"}, nil
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	job, err := SendEmail.Enqueue(ctx, client, Email{To: "ada@example.com", Subject: "Hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := job.Wait(ctx)
	fmt.Println(receipt.MessageID, err)
	// Output: <1@ada@example.com> <nil>
}

func ExampleJob_Do() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	double := braid.NewJob[int, int]("double")
	double.Handle(worker, func(ctx context.Context, n int) (int, error) { return 2 * n, nil })
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	result, err := double.Do(ctx, client, 21)
	fmt.Println(result, err)
	// Output: 42 <nil>
}

func ExampleJob_EnqueueMany() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	square := braid.NewJob[int, int]("square")
	square.Handle(worker, func(ctx context.Context, n int) (int, error) { return n * n, nil })
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	jobs, err := square.EnqueueMany(ctx, client, []int{1, 2, 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, job := range jobs { // aligned with the payloads
		fmt.Println(job.Wait(ctx))
	}
	// Output:
	// 1 <nil>
	// 4 <nil>
	// 9 <nil>
}

func ExampleJob_KeyBy() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	welcome := SendEmail.KeyBy(func(e Email) string { return "welcome/" + e.To })

	for range 2 {
		job, err := welcome.Enqueue(ctx, client, Email{To: "ada@example.com"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(job.ID, "duplicate:", job.Duplicate)
	}
	// Output:
	// welcome/ada@example.com duplicate: false
	// welcome/ada@example.com duplicate: true
}

func ExampleDedupe() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	reindex := braid.NewJob[string, braid.None]("reindex")

	// A burst of changes becomes one job, a second after the last of them.
	debounce := braid.Dedupe("catalogue", braid.Window(time.Second), braid.ExtendWindow(), braid.ReplaceDelayed())
	for _, change := range []string{"first", "second", "third"} {
		job, err := reindex.Enqueue(ctx, client, change, braid.In(time.Second), debounce)
		if err != nil {
			fmt.Println(err)
			return
		}
		info, err := job.Get(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("duplicate:", job.Duplicate, "payload:", string(info.Payload))
	}
	// Output:
	// duplicate: false payload: "first"
	// duplicate: true payload: "second"
	// duplicate: true payload: "third"
}

func ExamplePriority() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	worker := braid.NewWorker(client, braid.WorkerOptions{Concurrency: 1})
	report := braid.NewJob[string, braid.None]("report")

	var jobs []*braid.Handle[braid.None]
	for i, name := range []string{"nightly", "weekly", "the boss waits for it"} {
		job, err := report.Enqueue(ctx, client, name, braid.Priority(i))
		if err != nil {
			fmt.Println(err)
			return
		}
		jobs = append(jobs, job)
	}
	report.Handle(worker, func(ctx context.Context, name string) (braid.None, error) {
		fmt.Println(name)
		return braid.None{}, nil
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)
	for _, job := range jobs {
		if _, err := job.Wait(ctx); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// the boss waits for it
	// weekly
	// nightly
}

func ExampleClient_List() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	invoice := braid.NewJob[int, braid.None]("invoice").
		MetadataBy(func(n int) map[string]string { return map[string]string{"parity": []string{"even", "odd"}[n%2]} })
	if _, err := invoice.EnqueueMany(ctx, client, []int{1, 2, 3, 4}); err != nil {
		fmt.Println(err)
		return
	}
	filter := braid.ListFilter{Name: "invoice", Metadata: map[string]string{"parity": "odd"}, Ascending: true}
	for job, err := range client.All(ctx, filter) {
		fmt.Println(job.State, string(job.Payload), err)
	}
	// Output:
	// waiting 1 <nil>
	// waiting 3 <nil>
}

func ExampleClient_Pause() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	if err := client.Pause(ctx, "email"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(client.PausedQueues(ctx))
	if err := client.Resume(ctx, "email"); err != nil {
		fmt.Println(err)
	}
	fmt.Println(client.PausedQueues(ctx))
	// Output:
	// [email] <nil>
	// [] <nil>
}

// newClientAndWorker returns what most examples begin with.
func newClientAndWorker() (*braid.Client, *braid.Worker) {
	client := braid.NewClient(memstore.New(), braid.WithLogger(slog.New(slog.DiscardHandler)))
	return client, braid.NewWorker(client, braid.WorkerOptions{})
}

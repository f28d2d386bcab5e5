package braid_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/braidmq/braid"
)

var errBusy = errors.New("the gateway is busy")

func ExampleAttempts() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	charge := braid.NewJob[int, string]("charge", braid.Attempts(3), braid.Backoff(braid.Fixed(time.Millisecond)))
	charge.Handle(worker, func(ctx context.Context, cents int) (string, error) {
		if job := braid.Current(ctx); job.Attempt < 3 {
			return "", fmt.Errorf("attempt %d: %w", job.Attempt, errBusy)
		}
		return "paid", nil
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	job, err := charge.Enqueue(ctx, client, 999)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(job.Wait(ctx))
	attempts, err := job.Attempts(ctx)
	for _, attempt := range attempts {
		fmt.Println(attempt.Attempt, attempt.Outcome)
	}
	fmt.Println(err)
	// Output:
	// paid <nil>
	// 1 retried
	// 2 retried
	// 3 completed
	// <nil>
}

// A job that has used up its attempts has failed; its error keeps message and type.
func ExampleJobError() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	read := braid.NewJob[string, string]("read", braid.Attempts(2), braid.Backoff(braid.Fixed(time.Millisecond)))
	read.Handle(worker, func(ctx context.Context, name string) (string, error) {
		return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	_, err := read.Do(ctx, client, "notes.txt", braid.ID("read-notes"))
	fmt.Println(err)
	var failed *braid.JobError
	if errors.As(err, &failed) {
		fmt.Println(failed.Type, "after", failed.Attempts, "attempts")
	}
	// Output:
	// braid: job "read-notes" failed after 2 attempts: open notes.txt: file does not exist
	// *fs.PathError after 2 attempts
}

func ExampleUnrecoverable() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	signUp := braid.NewJob[string, braid.None]("sign-up", braid.Attempts(10))
	signUp.Handle(worker, func(ctx context.Context, address string) (braid.None, error) {
		return braid.None{}, braid.Unrecoverable(fmt.Errorf("no such address: %s", address))
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	_, err := signUp.Do(ctx, client, "nobody", braid.ID("sign-up-1"))
	fmt.Println(err)
	// Output: braid: job "sign-up-1" failed: no such address: nobody
}

func ExampleJob_RetryIf() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	fetch := braid.NewJob[string, string]("fetch", braid.Attempts(10)).
		RetryIf(func(err error) bool { return errors.Is(err, errBusy) })
	fetch.Handle(worker, func(ctx context.Context, url string) (string, error) {
		return "", errors.New("404 not found")
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	_, err := fetch.Do(ctx, client, "/missing", braid.ID("fetch-1"))
	fmt.Println(err)
	// Output: braid: job "fetch-1" failed: 404 not found
}

func ExampleSnooze() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	ready := false
	export := braid.NewJob[braid.None, string]("export", braid.Attempts(1))
	export.Handle(worker, func(ctx context.Context, _ braid.None) (string, error) {
		if !ready {
			ready = true
			return "", braid.Snooze(10 * time.Millisecond) // uses no attempt
		}
		return fmt.Sprint("exported in attempt ", braid.Current(ctx).Attempt), nil
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	fmt.Println(export.Do(ctx, client, braid.None{}))
	// Output: exported in attempt 1 <nil>
}

func ExampleTimeout() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	slow := braid.NewJob[braid.None, braid.None]("slow", braid.Attempts(1), braid.Timeout(20*time.Millisecond))
	slow.Handle(worker, func(ctx context.Context, _ braid.None) (braid.None, error) {
		<-ctx.Done() // a handler has to mind its context
		var timeout *braid.TimeoutError
		fmt.Println("out of time:", errors.As(context.Cause(ctx), &timeout))
		return braid.None{}, ctx.Err()
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	_, err := slow.Do(ctx, client, braid.None{}, braid.ID("slow-1"))
	var failed *braid.JobError
	fmt.Println(errors.As(err, &failed) && failed.Type == "timeout")
	// Output:
	// out of time: true
	// true
}

// A panic is a failed attempt, with its stack in the ledger; the worker goes on.
func ExampleJob_Handle_panic() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	divide := braid.NewJob[int, int]("divide", braid.Attempts(1))
	divide.Handle(worker, func(ctx context.Context, n int) (int, error) { return 100 / n, nil })
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	_, err := divide.Do(ctx, client, 0)
	var failed *braid.JobError
	if errors.As(err, &failed) {
		fmt.Println(failed.Type, "-", failed.Message)
		fmt.Println("has a stack:", failed.Stack != "")
	}
	fmt.Println(divide.Do(ctx, client, 5))
	// Output:
	// panic - panic: runtime error: integer divide by zero
	// has a stack: true
	// 20 <nil>
}

func ExampleHandle_Cancel() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	started := make(chan struct{})
	transcode := braid.NewJob[string, braid.None]("transcode")
	transcode.Handle(worker, func(ctx context.Context, _ string) (braid.None, error) {
		close(started)
		<-ctx.Done()
		fmt.Println("cause:", context.Cause(ctx))
		return braid.None{}, ctx.Err()
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	job, err := transcode.Enqueue(ctx, client, "film.mp4")
	if err != nil {
		fmt.Println(err)
		return
	}
	<-started
	if err := job.Cancel(ctx); err != nil {
		fmt.Println(err)
	}
	_, err = job.Wait(ctx)
	fmt.Println("cancelled:", errors.Is(err, braid.ErrCancelled))
	// Output:
	// cause: braid: the job's cancel was requested
	// cancelled: true
}

func ExampleWorkerOptions_onFailure() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	worker := braid.NewWorker(client, braid.WorkerOptions{
		OnFailure: func(ctx context.Context, f braid.Failure) {
			fmt.Println(f.Job.Name, "failed:", f.Err, "- will retry:", f.WillRetry)
		},
	})
	sync := braid.NewJob[braid.None, braid.None]("sync", braid.Attempts(2), braid.Backoff(braid.Fixed(time.Millisecond)))
	sync.Handle(worker, func(ctx context.Context, _ braid.None) (braid.None, error) {
		return braid.None{}, errBusy
	})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	if _, err := sync.Do(ctx, client, braid.None{}); err == nil {
		fmt.Println("it should have failed")
	}
	// Output:
	// sync failed: the gateway is busy - will retry: true
	// sync failed: the gateway is busy - will retry: false
}

func ExampleMiddleware() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	announce := func(ctx context.Context, next func(context.Context) error) error {
		fmt.Println("begin", braid.Current(ctx).Name)
		err := next(ctx)
		fmt.Println("end", err)
		return err
	}
	worker := braid.NewWorker(client, braid.WorkerOptions{Middleware: []braid.Middleware{announce}})
	hello := braid.NewJob[string, string]("hello")
	hello.Handle(worker, func(ctx context.Context, name string) (string, error) { return "hello " + name, nil })
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	fmt.Println(hello.Do(ctx, client, "Ada"))
	// Output:
	// begin hello
	// end <nil>
	// hello Ada <nil>
}

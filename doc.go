// Package braid is a background-job system: typed jobs with retries, delays,
// priorities, schedules, deduplication, cancellation and retention, kept in a store
// of your choice.
//
// A [Job] is a definition, shared by the programs that enqueue and the ones that
// work. A [Client] enqueues, looks and operates. A [Worker] runs handlers.
//
//	var Greet = braid.NewJob[string, string]("greet")
//
//	client := braid.NewClient(memstore.New())
//	worker := braid.NewWorker(client, braid.WorkerOptions{})
//	Greet.Handle(worker, func(ctx context.Context, name string) (string, error) {
//		return "hello, " + name, nil
//	})
//	go worker.Run(ctx)
//	greeting, err := Greet.Do(ctx, client, "world")
//
// # Guarantees
//
// A job runs at least once: its worker holds a lock that it renews, and when the
// worker dies the lock runs out and another worker runs the job again. What a run
// reports after it lost its lock is refused. So handlers should be idempotent;
// [Current] has the lock token, for fencing side effects.
//
// # Mistakes in options
//
// Definitions, options, clients and workers check what they are given when they
// are constructed, and never panic. The problem, which names the field, the value
// and what to write instead, is returned by the first call that can return an
// error: Enqueue, or Run before anything starts.
package braid

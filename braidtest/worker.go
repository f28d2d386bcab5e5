package braidtest

import (
	"context"
	"testing/synctest"

	"github.com/braidmq/braid"
)

// worker is a worker of the test, which may rest while time leaps.
type worker struct {
	register func(w *braid.Worker)
	options  braid.WorkerOptions

	running *braid.Worker // nil while it rests
	done    chan error    // what Run has returned
}

// Work starts a worker with the handlers that register gives it. It works until the
// test ends. While the fake clock leaps it rests; register is called again afterwards.
// Problems, such as a definition that is wrong, end the test.
func (t *T) Work(register func(w *braid.Worker), options ...braid.WorkerOptions) {
	t.Helper()
	if register == nil {
		t.Fatalf("braidtest: Work: the function is nil; give it one that registers handlers")
	}
	if len(options) > 1 {
		t.Fatalf("braidtest: Work: %d options were given; use one braid.WorkerOptions", len(options))
	}
	w := &worker{register: register}
	if len(options) > 0 {
		w.options = options[0]
	}
	t.workers = append(t.workers, w)
	t.start()
}

// start starts the workers that rest.
func (t *T) start() {
	t.Helper()
	for _, w := range t.workers {
		if w.running != nil {
			continue
		}
		running, done := braid.NewWorker(t.Client, w.options), make(chan error, 1)
		w.register(running)
		w.running, w.done = running, done
		go func() { done <- running.Run(context.WithoutCancel(t.Context())) }()
		if t.fake {
			synctest.Wait()
		}
		t.checkWorker(w)
	}
}

// checkWorker ends the test if a worker has stopped by itself.
func (t *T) checkWorker(w *worker) {
	t.Helper()
	if w.running == nil {
		return
	}
	select {
	case err := <-w.done:
		w.running = nil
		t.Fatalf("braidtest: the worker does not run: %v", err)
	default:
	}
}

// rest stops the workers.
func (t *T) rest() {
	t.Helper()
	for _, w := range t.workers {
		if w.running == nil {
			continue
		}
		if err := w.running.Stop(context.Background()); err != nil {
			t.Errorf("braidtest: stop the worker: %v", err)
		}
		w.running = nil
		if err := <-w.done; err != nil {
			t.Errorf("braidtest: the worker: %v", err)
		}
	}
}

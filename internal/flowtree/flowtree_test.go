package flowtree_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/flowtree"
	"github.com/braidmq/braid/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	visit   = braid.NewJob[string, int]("visit", braid.OnStore("far"), braid.Queue("roads"), braid.Attempts(1))
	country = braid.NewFlow("country", braid.NewJob[[]string, int]("country"), braid.Children(visit))
	tour    = braid.NewFlow("tour", braid.NewJob[int, int]("tour"), braid.Children(country, visit))
)

// start runs a flow whose "done" visits complete, whose "broken" ones fail, and whose
// other ones wait in a paused queue.
func start(t *testing.T) (near, far driver.Store, client *braid.Client) {
	t.Helper()
	near, far = memstore.New(), memstore.New()
	client = braid.NewClient(near, braid.WithStore("far", far), braid.WithLogger(slog.New(slog.DiscardHandler)))
	worker := braid.NewWorker(client, braid.WorkerOptions{})
	visit.Handle(worker, func(_ context.Context, city string) (int, error) {
		if city == "broken" {
			return 0, errors.New("no road\nto it")
		}
		return 1, nil
	})
	children := func(_ context.Context, cities []string, out *braid.FanOut) error {
		for _, city := range cities {
			opts := []braid.ChildOption{}
			if strings.HasPrefix(city, "open") {
				opts = append(opts, braid.Queue("closed roads"))
			}
			visit.Child(out, city, city, opts...)
		}
		return nil
	}
	count := func(_ context.Context, results *braid.Results) (int, error) {
		return int(results.Counts.Completed), nil
	}
	country.Handle(worker, children, func(ctx context.Context, _ []string, results *braid.Results) (int, error) { return count(ctx, results) })
	tour.Handle(worker, func(ctx context.Context, _ int, out *braid.FanOut) error {
		country.Child(out, "Italy", []string{"broken", "done", "open", "open too"})
		country.Child(out, "Nowhere", nil)
		return children(ctx, []string{"broken", "done 1", "done 2", "open"}, out)
	}, func(ctx context.Context, _ int, results *braid.Results) (int, error) { return count(ctx, results) })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	if err := client.On("far").Pause(ctx, "closed roads"); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- worker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		client.Close()
		_, _ = near.Close(), far.Close()
	})
	if _, err := tour.Enqueue(ctx, client, 1, braid.ID("t")); err != nil {
		t.Fatal(err)
	}
	for {
		job, err := client.Get(ctx, "t")
		if err != nil {
			t.Fatal(err)
		}
		if job.Flow != nil && job.Flow.Pending == 2 && settledBelow(ctx, t, client) {
			return near, far, client
		}
		time.Sleep(time.Millisecond)
	}
}

// settledBelow reports whether Italy waits for its open children only.
func settledBelow(ctx context.Context, t *testing.T, client *braid.Client) bool {
	page, err := client.Children(ctx, "t", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range page.Children {
		if child.Key == "Italy" {
			job, err := client.Get(ctx, child.JobID)
			return err == nil && job.Flow != nil && job.Flow.Pending == 2
		}
	}
	return false
}

func text(t *testing.T, client *braid.Client, options flowtree.Options) string {
	t.Helper()
	tree, err := flowtree.Read(t.Context(), client, "t", options)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tree.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheTreeTellsStatesCountsErrorsAndWhatIsWaitedFor(t *testing.T) {
	near, _, client := start(t)
	want := `t  (tour)  waiting-children  6 children: 2 pending, 3 completed, 1 failed
├─ Italy  (country)  pending  4 children: 2 pending, 1 completed, 1 failed  waiting for its own children
│  ├─ broken  (visit)  failed  "no road\nto it"
│  ├─ open  (visit)  pending  in queue "closed roads", which is paused
│  ├─ open too  (visit)  pending  in queue "closed roads", which is paused
│  └─ … and 1 completed
├─ Nowhere  (country)  completed  0 children
├─ broken  (visit)  failed  "no road\nto it"
├─ open  (visit)  pending  in queue "closed roads", which is paused
└─ … and 2 completed
`
	if got := text(t, client, flowtree.Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := text(t, client, flowtree.Options{Each: 1}); !strings.Contains(got, "… and 1 completed, 1 pending") {
		t.Errorf("a short tree does not tell what it leaves out:\n%s", got)
	}
	half := braid.NewClient(near)
	defer half.Close()
	if got := text(t, half, flowtree.Options{}); !strings.Contains(got, `its job is in store "far", which is not known here`) {
		t.Errorf("without the children's store:\n%s", got)
	}
}

func TestAJobThatIsNotThereIsAnError(t *testing.T) {
	_, _, client := start(t)
	if _, err := flowtree.Read(t.Context(), client, "x", flowtree.Options{}); !errors.Is(err, braid.ErrNotFound) {
		t.Error(fmt.Sprint(err))
	}
}

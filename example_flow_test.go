package braid_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

// A flow counts the words of a text, line by line, and adds them up.
func ExampleFlow() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	countLine := braid.NewJob[string, int]("count-line")
	countText := braid.NewFlow("count", braid.NewJob[string, int]("count-text"), braid.Children(countLine))

	countLine.Handle(worker, func(ctx context.Context, line string) (int, error) {
		return len(strings.Fields(line)), nil
	})
	countText.Handle(worker,
		func(ctx context.Context, text string, out *braid.FanOut) error {
			for i, line := range strings.Split(text, "\n") {
				countLine.Child(out, fmt.Sprintf("line-%d", i), line)
			}
			return nil
		},
		func(ctx context.Context, text string, results *braid.Results) (int, error) {
			sum := 0
			for child, err := range countLine.Results(ctx, results) {
				if err != nil {
					return 0, err
				}
				fmt.Println(child.Key, child.Value)
				sum += child.Value
			}
			return sum, nil
		})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	fmt.Println(countText.Do(ctx, client, "many strands\nmake\none braid"))
	// Output:
	// line-0 2
	// line-1 1
	// line-2 2
	// 5 <nil>
}

// By default the parent collects whatever became of its children.
func ExampleFlow_continue() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	invert := braid.NewJob[int, int]("invert", braid.Attempts(1))
	invertAll := braid.NewFlow("invert-all", braid.NewJob[[]int, string]("invert-all"), braid.Children(invert))

	invert.Handle(worker, func(ctx context.Context, n int) (int, error) {
		if n == 0 {
			return 0, errors.New("zero has no inverse")
		}
		return 100 / n, nil
	})
	invertAll.Handle(worker,
		func(ctx context.Context, numbers []int, out *braid.FanOut) error {
			for _, n := range numbers {
				invert.Child(out, fmt.Sprint(n), n)
			}
			return nil
		},
		func(ctx context.Context, numbers []int, results *braid.Results) (string, error) {
			for child, err := range invert.Results(ctx, results) {
				var failed *braid.JobError
				if errors.As(child.Err, &failed) {
					fmt.Println(child.Key, "failed:", failed.Message)
				} else {
					fmt.Println(child.Key, child.Value, err)
				}
			}
			return fmt.Sprint(results.Counts.Completed, " of ", results.Counts.Total()), nil
		})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	fmt.Println(invertAll.Do(ctx, client, []int{0, 2, 5}))
	// Output:
	// 0 failed: zero has no inverse
	// 2 50 <nil>
	// 5 20 <nil>
	// 2 of 3 <nil>
}

// With FailFast the first failed child fails the parent, and cancels the others.
func ExampleFailFast() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	deploy := braid.NewJob[string, string]("deploy", braid.Attempts(1))
	rollOut := braid.NewFlow("roll-out", braid.NewJob[[]string, int]("roll-out"), braid.Children(deploy), braid.FailFast())

	deploy.Handle(worker, func(ctx context.Context, host string) (string, error) {
		if host == "broken" {
			return "", errors.New("no route to host")
		}
		<-ctx.Done() // goes on until it is cancelled
		return "", ctx.Err()
	})
	rollOut.Handle(worker,
		func(ctx context.Context, hosts []string, out *braid.FanOut) error {
			for _, host := range hosts {
				deploy.Child(out, host, host)
			}
			return nil
		},
		func(ctx context.Context, hosts []string, results *braid.Results) (int, error) {
			return len(hosts), nil // not reached
		})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	_, err := rollOut.Do(ctx, client, []string{"one", "broken", "two"}, braid.ID("release-7"))
	fmt.Println(err)
	// Output: braid: job "release-7" failed: flow child "broken" failed
}

// Children can live in another store than their parent.
func ExampleOnStore() {
	ctx := context.Background()
	client := braid.NewClient(memstore.New(), braid.WithStore("pictures", memstore.New()),
		braid.WithLogger(slog.New(slog.DiscardHandler)))
	worker := braid.NewWorker(client, braid.WorkerOptions{})
	resize := braid.NewJob[int, string]("resize", braid.OnStore("pictures"))
	album := braid.NewFlow("album", braid.NewJob[[]int, int64]("album"), braid.Children(resize))

	resize.Handle(worker, func(ctx context.Context, width int) (string, error) { return fmt.Sprint(width, " px"), nil })
	album.Handle(worker,
		func(ctx context.Context, widths []int, out *braid.FanOut) error {
			for _, width := range widths {
				resize.Child(out, fmt.Sprint(width), width, braid.Priority(width))
			}
			return nil
		},
		func(ctx context.Context, widths []int, results *braid.Results) (int64, error) {
			return results.Counts.Completed, nil
		})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	fmt.Println(album.Do(ctx, client, []int{64, 128, 256}))
	counts, err := client.On("pictures").Counts(ctx, "")
	fmt.Println("in the store of pictures:", counts.Completed, err)
	// Output:
	// 3 <nil>
	// in the store of pictures: 3 <nil>
}

// A flow's children can be flows.
func ExampleFlow_nested() {
	ctx := context.Background()
	client, worker := newClientAndWorker()
	visit := braid.NewJob[string, int]("visit")
	country := braid.NewFlow("country", braid.NewJob[[]string, int]("country"), braid.Children(visit))
	tour := braid.NewFlow("tour", braid.NewJob[map[string][]string, int]("tour"), braid.Children(country))

	visit.Handle(worker, func(ctx context.Context, city string) (int, error) { return 1, nil })
	country.Handle(worker,
		func(ctx context.Context, cities []string, out *braid.FanOut) error {
			for _, city := range cities {
				visit.Child(out, city, city)
			}
			return nil
		},
		func(ctx context.Context, cities []string, results *braid.Results) (int, error) {
			return int(results.Counts.Completed), nil
		})
	tour.Handle(worker,
		func(ctx context.Context, countries map[string][]string, out *braid.FanOut) error {
			for name, cities := range countries {
				country.Child(out, name, cities)
			}
			return nil
		},
		func(ctx context.Context, countries map[string][]string, results *braid.Results) (int, error) {
			sum := 0
			for child, err := range country.Results(ctx, results) {
				if err != nil {
					return 0, err
				}
				sum += child.Value
			}
			return sum, nil
		})
	go worker.Run(ctx)
	defer worker.Stop(ctx)

	fmt.Println(tour.Do(ctx, client, map[string][]string{"Italy": {"Rome", "Turin"}, "Malta": {"Mdina"}, "Nowhere": {}}))
	// Output: 3 <nil>
}

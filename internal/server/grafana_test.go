package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

var (
	metricName = regexp.MustCompile(`\bbraid_\w+`)
	labelNames = regexp.MustCompile(`(\w+)\s*(?:=~|!=|=)\s*"`)
	sampleName = regexp.MustCompile(`(?m)^(braid_\w+)(?:\{(.*)\})? `)
)

// TestTheGrafanaDashboardAsksForMetricsThatThereAre holds every metric and label of the
// dashboard file against what a busy program exposes.
func TestTheGrafanaDashboardAsksForMetricsThatThereAre(t *testing.T) {
	raw, err := os.ReadFile("../../docs/grafana/braid.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	v := serve(t, func(c *Config) { c.Keeper.SweepInterval = 100 * time.Millisecond })
	v.beBusy()
	asked := 0
	wanted := func(labels map[string][]string) (missing []string) {
		for _, panel := range file.Panels {
			for _, target := range panel.Targets {
				asked++
				for _, name := range metricName.FindAllString(target.Expr, -1) {
					known, there := labels[name]
					if !there {
						missing = append(missing, panel.Title+" asks for "+name)
					}
					for _, l := range labelNames.FindAllStringSubmatch(target.Expr, -1) {
						if there && !slices.Contains(known, l[1]) {
							missing = append(missing, panel.Title+" asks for "+name+" by "+l[1])
						}
					}
				}
			}
		}
		return missing
	}
	var missing []string
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		_, text, _ := v.request("GET", "/metrics", "")
		exposed := map[string][]string{}
		for _, sample := range sampleName.FindAllStringSubmatch(text, -1) {
			for _, l := range labelNames.FindAllStringSubmatch(sample[2], -1) {
				exposed[sample[1]] = append(exposed[sample[1]], l[1])
			}
		}
		if missing = wanted(exposed); missing == nil {
			break
		}
	}
	// Errors of loops and of schedules do not come on demand. They are documented.
	documented, err := os.ReadFile("../../docs/concepts/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	missing = slices.DeleteFunc(missing, func(m string) bool {
		for series, name := range map[string]string{"braid_loop_errors_total": "braid.loop.errors", "braid_schedule_errors_total": "braid.schedule.errors"} {
			if strings.HasSuffix(m, series) && seriesName(name, "")+"_total" == series && strings.Contains(string(documented), "`"+name+"`") {
				return true
			}
		}
		return false
	})
	for _, m := range missing {
		t.Error(m)
	}
	if asked == 0 {
		t.Error("the dashboard asks for nothing")
	}
}

// beBusy lets a worker, with the server's own meters, run jobs that complete and fail, a
// flow and a schedule, and loses a lock.
func (v *serving) beBusy() {
	v.Helper()
	works := braid.NewJob[int, int]("works")
	fails := braid.NewJob[int, int]("fails", braid.Attempts(2), braid.Backoff(braid.Fixed(time.Millisecond)))
	parent := braid.NewFlow("flow", braid.NewJob[int, int]("parent"), braid.Children(works))
	worker := braid.NewWorker(v.client, braid.WorkerOptions{SweepInterval: 100 * time.Millisecond})
	works.Handle(worker, func(_ context.Context, n int) (int, error) { return n, nil })
	fails.Handle(worker, func(context.Context, int) (int, error) { return 0, errors.New("no") })
	parent.Handle(worker, func(_ context.Context, n int, out *braid.FanOut) error {
		works.Child(out, "child", n)
		return nil
	}, func(context.Context, int, *braid.Results) (int, error) { return 0, nil })
	done := make(chan error, 1)
	go func() { done <- worker.Run(context.Background()) }()
	v.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := worker.Stop(ctx); err != nil {
			v.Error(err)
		}
		if err := <-done; err != nil {
			v.Error(err)
		}
	})
	ctx := v.Context()
	must := func(err error) {
		v.Helper()
		if err != nil {
			v.Fatal(err)
		}
	}
	for range 2 {
		_, err := works.Enqueue(ctx, v.client, 1, braid.ID("one"))
		must(err)
	}
	_, err := fails.Enqueue(ctx, v.client, 1)
	must(err)
	_, err = parent.Enqueue(ctx, v.client, 1)
	must(err)
	must(works.Schedule(ctx, v.client, "often", braid.Every(time.Second), 1))
	_, err = v.client.Enqueue(ctx, "stalls", nil, braid.Queue("elsewhere"))
	must(err)
	_, err = v.client.Lease(ctx, braid.LeaseRequest{Queue: "elsewhere", Names: []string{"stalls"}, Worker: "dead", LockDuration: 100 * time.Millisecond})
	must(err)
	_, err = v.client.ExtendLeases(ctx, []braid.Lock{{ID: "one", Token: "wrong"}}, 0)
	must(err)
}

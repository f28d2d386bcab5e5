// Schedules declares a set of recurring jobs, as a program does at every start, and
// runs them until it is interrupted.
//
//	go run ./examples/schedules
package main

import (
	"context"
	"log"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/memstore"
)

type Report struct {
	Team string `json:"team"`
}

var (
	SendReport = braid.NewJob[Report, braid.None]("send-report", braid.Attempts(5))
	Heartbeat  = braid.NewJob[braid.None, braid.None]("heartbeat", braid.Attempts(1), braid.Keep(braid.KeepLast(10)))
)

func main() {
	ctx, stop := braid.SignalContext(context.Background())
	defer stop()
	client := braid.NewClient(memstore.New())
	defer client.Close()

	// What this program has declared before and does not any more is removed, ten
	// minutes later: until then a newer version may still be rolling out.
	err := braid.SyncSchedules(ctx, client, "reports",
		SendReport.Entry("weekday-report", braid.Cron("0 9 * * MON-FRI", "Europe/Berlin"), Report{Team: "core"}),
		SendReport.Entry("monthly-report", braid.Cron("@monthly"), Report{Team: "finance"}, braid.SkipOverlap()),
		Heartbeat.Entry("heartbeat", braid.Every(2*time.Second), braid.None{}),
		braid.PruneAfter(10*time.Minute),
	)
	if err != nil {
		log.Fatal(err)
	}
	schedules, err := client.Schedules(ctx, braid.ScheduleFilter{Group: "reports"})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range schedules {
		log.Printf("%-15s next at %s", s.Key, s.NextRunAt.Local().Format(time.RFC1123))
	}

	worker := braid.NewWorker(client, braid.WorkerOptions{})
	SendReport.Handle(worker, func(ctx context.Context, r Report) (braid.None, error) {
		log.Print("report for ", r.Team, ", due ", braid.Current(ctx).Metadata["scheduledFor"])
		return braid.None{}, nil
	})
	Heartbeat.Handle(worker, func(ctx context.Context, _ braid.None) (braid.None, error) {
		log.Print("heartbeat of ", braid.Current(ctx).Metadata["scheduledFor"])
		return braid.None{}, nil
	})
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

package braid_test

import (
	"context"
	"fmt"
	"time"

	"github.com/braidmq/braid"
)

type Report struct {
	Team string `json:"team"`
}

func ExampleJob_Schedule() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	digest := braid.NewJob[Report, braid.None]("digest")

	err := digest.Schedule(ctx, client, "daily-digest", braid.Cron("0 9 * * MON-FRI", "America/New_York"), Report{Team: "core"})
	if err != nil {
		fmt.Println(err)
		return
	}
	schedule, err := client.GetSchedule(ctx, "daily-digest")
	if err != nil {
		fmt.Println(err)
		return
	}
	newYork, err := time.LoadLocation(schedule.Zone)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schedule.JobName, schedule.Cron, schedule.NextRunAt.In(newYork).Format("15:04"))
	// Output: digest 0 9 * * MON-FRI 09:00
}

// A set declares all schedules of a group; what is no longer declared is pruned.
func ExampleSyncSchedules() {
	ctx := context.Background()
	client, _ := newClientAndWorker()
	clean := braid.NewJob[string, braid.None]("clean")
	declare := func(entries ...braid.SyncItem) {
		if err := braid.SyncSchedules(ctx, client, "housekeeping", append(entries, braid.Prune())...); err != nil {
			fmt.Println(err)
		}
		schedules, err := client.Schedules(ctx, braid.ScheduleFilter{Group: "housekeeping"})
		for _, schedule := range schedules {
			fmt.Print(schedule.Key, " ")
		}
		fmt.Println(err)
	}
	declare(clean.Entry("clean-tmp", braid.Every(time.Hour), "/tmp"), clean.Entry("clean-cache", braid.Every(time.Hour), "/cache"))
	declare(clean.Entry("clean-cache", braid.Every(time.Hour), "/cache"))
	// Output:
	// clean-cache clean-tmp <nil>
	// clean-cache <nil>
}

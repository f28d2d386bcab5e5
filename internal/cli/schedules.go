package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/internal/apiclient"
)

func newSchedules() *cobra.Command {
	var (
		at                target
		job, queue, group string
	)
	cmd := &cobra.Command{
		Use: "schedules", Short: "Show the schedules; declare, run and remove them",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return at.with(cmd, func(s *session) error {
				query := url.Values{}
				for name, value := range map[string]string{"jobName": job, "queue": queue, "group": group} {
					if value != "" {
						query.Set(name, value)
					}
				}
				var all httpapi.Schedules
				if err := s.Get(s.ctx, "schedules", query, &all); err != nil {
					return err
				}
				return s.print(all, func() error { return writeSchedules(s.out, all) })
			})
		},
	}
	at.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&job, "job", "", "only schedules of this job")
	flags.StringVar(&queue, "queue", "", "only schedules of this queue")
	flags.StringVar(&group, "group", "", "only schedules of this declared set")
	cmd.AddCommand(newSchedulePut(), newScheduleRun(), newScheduleRemove())
	return cmd
}

func writeSchedules(w io.Writer, all httpapi.Schedules) error {
	t := newTable("KEY", "JOB", "QUEUE", "CADENCE", "NEXT RUN", "GROUP")
	for _, s := range all.Schedules {
		cadence := s.Cron
		switch {
		case s.Cron == "":
			cadence = "every " + (time.Duration(s.EveryMs) * time.Millisecond).String()
		case s.Zone != "":
			cadence += " " + s.Zone
		}
		next := moment(s.NextRunAt)
		if len(s.Upcoming) > 0 {
			next = s.Upcoming[0]
		}
		t.add(plain(s.Key), plain(s.JobName), plain(s.Queue), plain(cadence), next, plain(s.Group))
	}
	return t.write(w)
}

func schedulePath(key string) string { return "schedules/" + apiclient.Segment(key) }

func newSchedulePut() *cobra.Command {
	var (
		at      target
		put     httpapi.PutSchedule
		every   time.Duration
		payload string
		labels  []string
	)
	cmd := &cobra.Command{
		Use: "put KEY", Short: "Declare a schedule, or replace it",
		Example: `  braid schedules put daily --job report --cron '0 9 * * *' --zone Europe/Berlin
  braid schedules put poll --job poll --every 30s`,
		Args: exactlyOne("schedule"), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if put.Payload, err = payloadArgument(cmd, payload); err != nil {
				return err
			}
			if put.Metadata, err = pairs("metadata", labels); err != nil {
				return err
			}
			put.EveryMs = every.Milliseconds()
			return at.with(cmd, func(s *session) error {
				var stored httpapi.Schedule
				if err := s.Send(s.ctx, http.MethodPut, schedulePath(args[0]), put, &stored); err != nil {
					return err
				}
				return s.print(stored, func() error { return writeSchedules(s.out, httpapi.Schedules{Schedules: []httpapi.Schedule{stored}}) })
			})
		},
	}
	at.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&put.JobName, "job", "", "the name of the job")
	flags.StringVar(&put.Queue, "queue", "", "the queue (default \"default\")")
	flags.StringVar(&put.Cron, "cron", "", "a cron `expression`")
	flags.StringVar(&put.Zone, "zone", "", "the IANA time zone of --cron (default UTC)")
	flags.DurationVar(&every, "every", 0, "a fixed distance, in place of --cron")
	flags.StringVar(&payload, "payload", "", "JSON, @file, or - for standard input")
	flags.IntVar(&put.Priority, "priority", 0, "higher runs first")
	flags.IntVar(&put.Attempts, "attempts", 0, "how often a job may run (default 10)")
	flags.BoolVar(&put.SkipOverlap, "skip-overlap", false, "skip a slot while the job of an earlier one has not finished")
	flags.StringArrayVar(&labels, "metadata", nil, "searchable strings of the jobs, `key=value`; repeatable")
	return cmd
}

func newScheduleRun() *cobra.Command {
	var at target
	cmd := &cobra.Command{
		Use: "run KEY", Short: "Enqueue a job of a schedule now; print its id",
		Args: exactlyOne("schedule"), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(cmd, func(s *session) error {
				var run httpapi.Enqueued
				if err := s.Send(s.ctx, http.MethodPost, schedulePath(args[0])+"/run", nil, &run); err != nil {
					return err
				}
				return s.print(run, func() error {
					_, err := fmt.Fprintln(s.out, plain(run.ID))
					return err
				})
			})
		},
	}
	at.addFlags(cmd)
	return cmd
}

func newScheduleRemove() *cobra.Command {
	var at target
	cmd := &cobra.Command{
		Use: "remove KEY", Short: "Remove a schedule; its jobs stay",
		Args: exactlyOne("schedule"), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(cmd, func(s *session) error {
				var reply httpapi.Removed
				if err := s.Send(s.ctx, http.MethodDelete, schedulePath(args[0]), nil, &reply); err != nil {
					return err
				}
				if !reply.Removed {
					return fmt.Errorf("braid: there is no schedule %q", args[0])
				}
				return s.print(reply, func() error {
					_, err := fmt.Fprintf(s.out, "%s: removed\n", plain(args[0]))
					return err
				})
			})
		},
	}
	at.addFlags(cmd)
	return cmd
}

package cli

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
)

func newEnqueue() *cobra.Command {
	var (
		at            target
		job           httpapi.NewJob
		metadata      []string
		delay, window time.Duration
		timeout       time.Duration
		runAt, key    string
	)
	cmd := &cobra.Command{
		Use:   "enqueue NAME [PAYLOAD]",
		Short: "Enqueue a job; print its id",
		Long: `enqueue adds a job of that name. The payload is JSON: an argument, @file, or - for
standard input. The id of the job is printed; if an earlier job stood in its way, that
job's id, and a note.`,
		Example: `  braid enqueue send-email '{"to":"ann@example.com"}' --queue mail --delay 10m
  braid enqueue report --id report-2026-08 --metadata month=2026-08`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := atLeastOne("job")(cmd, args); err != nil {
				return err
			}
			return atMost(2)(cmd, args)
		},
		ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			job.Name = args[0]
			var err error
			if len(args) > 1 {
				if job.Payload, err = payloadArgument(cmd, args[1]); err != nil {
					return err
				}
			}
			if job.Metadata, err = pairs("metadata", metadata); err != nil {
				return err
			}
			job.DelayMs = delay.Milliseconds()
			if runAt != "" {
				when, err := time.Parse(time.RFC3339, runAt)
				if err != nil {
					return usagef("invalid --at %q: use a time such as %s", runAt, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
				}
				job.RunAt = &httpapi.Time{Time: when}
			}
			if cmd.Flags().Changed("timeout") {
				ms := timeout.Milliseconds()
				job.TimeoutMs = &ms
			}
			if key == "" && cmd.Flags().Changed("dedupe-window") {
				return usagef("--dedupe-window is how long a key holds; give --dedupe-key, too, or leave it out")
			}
			if key != "" {
				job.Dedupe = &httpapi.Dedupe{Key: key}
				if window > 0 {
					ms := window.Milliseconds()
					job.Dedupe.TTLMs = &ms
				}
			}
			return at.with(cmd, func(s *session) error {
				var reply httpapi.EnqueueReply
				if err := s.Send(s.ctx, http.MethodPost, "jobs", httpapi.EnqueueRequest{Jobs: []httpapi.NewJob{job}}, &reply); err != nil {
					return err
				}
				return s.print(reply.Results[0], func() error {
					if reply.Results[0].Duplicate {
						fmt.Fprintln(s.errs, "duplicate: nothing was added")
					}
					_, err := fmt.Fprintln(s.out, plain(reply.Results[0].ID))
					return err
				})
			})
		},
	}
	at.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&job.Queue, "queue", "", "the queue (default \"default\")")
	flags.StringVar(&job.ID, "id", "", "the id, which makes the enqueue idempotent")
	flags.IntVar(&job.Priority, "priority", 0, "higher runs first")
	flags.IntVar(&job.Attempts, "attempts", 0, "how often it may run (default 10)")
	flags.DurationVar(&delay, "delay", 0, "run no sooner than this from now")
	flags.StringVar(&runAt, "at", "", "run no sooner than this `time`, in RFC 3339")
	flags.DurationVar(&timeout, "timeout", 0, "of one run; 0: none (default: the worker's)")
	flags.StringArrayVar(&metadata, "metadata", nil, "searchable strings, `key=value`; repeatable")
	flags.StringVar(&key, "dedupe-key", "", "a duplicate while another job of the name holds this key")
	flags.DurationVar(&window, "dedupe-window", 0, "how long the key holds (default: until its job has finished)")
	return cmd
}

package cli

import (
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/internal/apiclient"
)

func newQueues() *cobra.Command {
	var at target
	cmd := &cobra.Command{
		Use: "queues", Short: "Show the queues with their numbers of jobs; pause and resume them",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return at.with(cmd, func(s *session) error {
				var queues httpapi.Queues
				if err := s.Get(s.ctx, "queues", nil, &queues); err != nil {
					return err
				}
				return s.print(queues, func() error { return writeQueues(s.out, queues) })
			})
		},
	}
	at.addFlags(cmd)
	cmd.AddCommand(
		newQueueAct("pause", "Keep the jobs of queues from being started; running ones go on"),
		newQueueAct("resume", "End the pause of queues"))
	return cmd
}

func writeQueues(w io.Writer, queues httpapi.Queues) error {
	t := newTable("QUEUE", "WAITING", "DELAYED", "ACTIVE", "CHILDREN", "COMPLETED", "FAILED", "CANCELLED", "")
	row := func(name string, q httpapi.Queue) {
		paused := ""
		if q.Paused {
			paused = "paused"
		}
		c := q.Counts
		t.add(name, count(c.Waiting), count(c.Delayed), count(c.Active), count(c.WaitingChildren), count(c.Completed), count(c.Failed), count(c.Cancelled), paused)
	}
	for _, q := range queues.Queues {
		row(plain(q.Name), q)
	}
	row("(all)", httpapi.Queue{Counts: queues.Total})
	return t.write(w)
}

func newQueueAct(verb, about string) *cobra.Command {
	var at target
	cmd := &cobra.Command{
		Use: verb + " QUEUE…", Short: about,
		Args: atLeastOne("queue"), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(cmd, func(s *session) error {
				done := make([]httpapi.Queue, len(args))
				for i, name := range args {
					if err := s.Send(s.ctx, http.MethodPost, "queues/"+apiclient.Segment(name)+"/"+verb, nil, &done[i]); err != nil {
						return err
					}
				}
				return s.print(done, func() error {
					for _, q := range done {
						state := "runs"
						if q.Paused {
							state = "paused"
						}
						fmt.Fprintf(s.out, "%s: %s, %d waiting\n", plain(q.Name), state, q.Counts.Waiting)
					}
					return nil
				})
			})
		},
	}
	at.addFlags(cmd)
	return cmd
}

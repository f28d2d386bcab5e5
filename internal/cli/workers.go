package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
)

func newWorkers() *cobra.Command {
	var at target
	cmd := &cobra.Command{
		Use: "workers", Short: "Show the workers that are alive, with what they work on",
		Args: atMost(0), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.with(cmd, func(s *session) error {
				var workers httpapi.Workers
				if err := s.Get(s.ctx, "workers", nil, &workers); err != nil {
					return err
				}
				return s.print(workers, func() error { return writeWorkers(s.out, workers, time.Now()) })
			})
		},
	}
	at.addFlags(cmd)
	return cmd
}

func writeWorkers(w io.Writer, workers httpapi.Workers, now time.Time) error {
	if len(workers.Workers) == 0 {
		_, err := fmt.Fprintln(w, "no worker is alive")
		return err
	}
	t := newTable("WORKER", "SINCE", "LAST SEEN", "IN FLIGHT", "QUEUES", "JOBS", "VERSION")
	for _, worker := range workers.Workers {
		inFlight, slots := 0, 0
		var queues []string
		for _, q := range worker.Queues {
			inFlight, slots = inFlight+q.InFlight, slots+q.Slots
			queues = append(queues, fmt.Sprintf("%s %d/%d", plain(q.Name), q.InFlight, q.Slots))
		}
		names := make([]string, len(worker.Names))
		for i, name := range worker.Names {
			names[i] = plain(name)
		}
		t.add(plain(worker.ID), ago(worker.Since.Time, now), ago(worker.BeatAt.Time, now), fmt.Sprintf("%d of %d", inFlight, slots),
			short(strings.Join(queues, ", "), 40), short(strings.Join(names, ", "), 40), plain(worker.Version))
	}
	return t.write(w)
}

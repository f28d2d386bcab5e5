package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
)

func newTop() *cobra.Command {
	var (
		at       target
		interval time.Duration
		once     bool
	)
	cmd := &cobra.Command{
		Use: "top", Short: "Watch the queues, live in the terminal",
		Long: `top shows the queues with their numbers of jobs, the busiest first, and how the numbers
have changed since the look before, until Ctrl-C. Where the output is no terminal, and
with --once or --json, it looks once.`,
		Args: atMost(0), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < 100*time.Millisecond {
				return usagef("invalid --interval %v: use 100ms or more", interval)
			}
			return at.with(cmd, func(s *session) error {
				_, terminal := terminalWidth(s.out)
				if once || s.asJSON || !terminal {
					var queues httpapi.Queues
					if err := s.Get(s.ctx, "queues", nil, &queues); err != nil {
						return err
					}
					return s.print(queues, func() error { return writeTop(s.out, queues, nil, 0) })
				}
				return watchTop(s, interval)
			})
		},
	}
	at.addFlags(cmd)
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "how often to look")
	cmd.Flags().BoolVar(&once, "once", false, "look once")
	return cmd
}

// watchTop redraws until the command is interrupted. A look that fails is shown, and
// made again.
func watchTop(s *session, interval time.Duration) error {
	const home, clearLine, clearRest = "\x1b[H", "\x1b[K", "\x1b[J"
	fmt.Fprint(s.out, "\x1b[?1049h\x1b[?25l") // the other screen, without a cursor
	defer fmt.Fprint(s.out, "\x1b[?25h\x1b[?1049l")
	var before *httpapi.Queues
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		var screen strings.Builder
		var queues httpapi.Queues
		looking, cancel := context.WithTimeout(s.ctx, 5*time.Second)
		err := s.Get(looking, "queues", nil, &queues)
		cancel()
		fmt.Fprintf(&screen, "braid top  %s  Ctrl-C ends\n\n", time.Now().Format(time.TimeOnly))
		if err != nil {
			screen.WriteString(lines(err.Error(), ""))
		} else {
			if err := writeTop(&screen, queues, before, interval); err != nil {
				return err
			}
			before = &queues
		}
		fmt.Fprint(s.out, home+strings.ReplaceAll(screen.String(), "\n", clearLine+"\n")+clearRest)
		select {
		case <-s.ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// writeTop prints the busiest queues first, with their changes.
func writeTop(w io.Writer, queues httpapi.Queues, before *httpapi.Queues, interval time.Duration) error {
	known := map[string]httpapi.Queue{}
	if before != nil {
		for _, q := range before.Queues {
			known[q.Name] = q
		}
	}
	busy := func(q httpapi.Queue) int64 { return q.Counts.Active*1000 + q.Counts.Waiting }
	slices.SortStableFunc(queues.Queues, func(a, b httpapi.Queue) int { return int(min(max(busy(b)-busy(a), -1), 1)) })
	t := newTable("QUEUE", "WAITING", "ACTIVE", "DELAYED", "CHILDREN", "COMPLETED", "FAILED", "")
	for _, q := range queues.Queues {
		c, old, note := q.Counts, q.Counts, ""
		if last, ok := known[q.Name]; ok {
			old = last.Counts
		}
		if q.Paused {
			note = "paused"
		}
		t.add(short(plain(q.Name), 30), changed(c.Waiting, old.Waiting), changed(c.Active, old.Active), changed(c.Delayed, old.Delayed),
			changed(c.WaitingChildren, old.WaitingChildren), changed(c.Completed, old.Completed), changed(c.Failed, old.Failed), note)
	}
	if err := t.write(w); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	finished := func(q *httpapi.Queues) int64 { return q.Total.Completed + q.Total.Failed + q.Total.Cancelled }
	rate := float64(finished(&queues)-finished(before)) / interval.Seconds()
	_, err := fmt.Fprintf(w, "\n%d jobs stored; finished jobs %+.0f per second, less what retention deletes\n", queues.Total.Total(), rate)
	return err
}

// changed tells a number, and its change.
func changed(now, before int64) string {
	if now == before {
		return count(now)
	}
	return fmt.Sprintf("%d %+d", now, now-before)
}

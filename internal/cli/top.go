package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/internal/plural"
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
have changed since the look before, until Ctrl-C; above them, what the workers have done
in the last whole minute, as far as the store counts it. Where the output is no terminal,
and with --once or --json, it looks once.`,
		Args: atMost(0), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < 100*time.Millisecond {
				return usagef("invalid --interval %v: use 100ms or more", interval)
			}
			return at.with(cmd, func(s *session) error {
				_, terminal := terminalWidth(s.out)
				if once || s.asJSON || !terminal {
					look, err := lookTop(s.ctx, s)
					if err != nil {
						return err
					}
					return s.print(look, func() error { return writeTop(s.out, look, nil, 0) })
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

// topLook is what top sees in one look.
type topLook struct {
	httpapi.Queues
	httpapi.Workers
	httpapi.Stats // of the last whole minute, and of the one that goes on
	since         time.Time
	until         time.Time
}

func lookTop(ctx context.Context, s *session) (topLook, error) {
	var look topLook
	if err := s.Get(ctx, "queues", nil, &look.Queues); err != nil {
		return look, err
	}
	if err := s.Get(ctx, "workers", nil, &look.Workers); err != nil {
		return look, err
	}
	look.until = time.Now()
	minute := look.until.Truncate(time.Minute)
	look.since = minute.Add(-time.Minute)
	return look, s.Get(ctx, "stats", url.Values{
		"from": {look.since.UTC().Format(time.RFC3339)}, "to": {minute.Add(time.Minute).UTC().Format(time.RFC3339)},
	}, &look.Stats)
}

// watchTop redraws until the command is interrupted. A look that fails is shown, and
// made again.
func watchTop(s *session, interval time.Duration) error {
	const home, clearLine, clearRest = "\x1b[H", "\x1b[K", "\x1b[J"
	fmt.Fprint(s.out, "\x1b[?1049h\x1b[?25l") // the other screen, without a cursor
	defer fmt.Fprint(s.out, "\x1b[?25h\x1b[?1049l")
	var before *topLook
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		var screen strings.Builder
		looking, cancel := context.WithTimeout(s.ctx, 5*time.Second)
		look, err := lookTop(looking, s)
		cancel()
		fmt.Fprintf(&screen, "braid top  %s  Ctrl-C ends\n\n", time.Now().Format(time.TimeOnly))
		if err != nil {
			screen.WriteString(lines(err.Error(), ""))
		} else {
			if err := writeTop(&screen, look, before, interval); err != nil {
				return err
			}
			before = &look
		}
		fmt.Fprint(s.out, home+strings.ReplaceAll(screen.String(), "\n", clearLine+"\n")+clearRest)
		select {
		case <-s.ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// writeTop prints what the workers did, and the busiest queues first, with their changes.
func writeTop(w io.Writer, look topLook, before *topLook, interval time.Duration) error {
	if _, err := fmt.Fprintf(w, "%s\n%s\n\n", workersLine(look.Workers.Workers), statsLine(look)); err != nil {
		return err
	}
	queues := look.Queues
	known := map[string]httpapi.Queue{}
	if before != nil {
		for _, q := range before.Queues.Queues {
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
	rate := float64(finished(&queues)-finished(&before.Queues)) / interval.Seconds()
	_, err := fmt.Fprintf(w, "\n%s stored; finished jobs %+.0f per second, less what retention deletes\n",
		plural.Of(queues.Total.Total(), "job", "jobs"), rate)
	return err
}

func workersLine(workers []httpapi.Worker) string {
	inFlight, slots := 0, 0
	for _, w := range workers {
		for _, q := range w.Queues {
			inFlight, slots = inFlight+q.InFlight, slots+q.Slots
		}
	}
	return fmt.Sprintf("workers     %d alive, %d of %s taken", len(workers), inFlight, plural.Of(slots, "slot", "slots"))
}

func statsLine(look topLook) string {
	var runs, failed, runMs, waitMs int64
	for _, s := range look.Stats.Stats {
		runs, runMs, waitMs = runs+s.Count, runMs+s.RunMs, waitMs+s.WaitMs
		if s.Outcome == braid.OutcomeFailed || s.Outcome == braid.OutcomeRetried {
			failed += s.Count
		}
	}
	if runs == 0 {
		return "since " + look.since.Format("15:04") + " no runs"
	}
	mean := func(sum int64) string { return span(time.Duration(sum/runs) * time.Millisecond) }
	return fmt.Sprintf("since %s %s (%.1f per second), %d failed; on average %s of run time, after a wait of %s", look.since.Format("15:04"),
		plural.Of(runs, "run", "runs"), float64(runs)/look.until.Sub(look.since).Seconds(), failed, mean(runMs), mean(waitMs))
}

// changed tells a number, and its change.
func changed(now, before int64) string {
	if now == before {
		return count(now)
	}
	return fmt.Sprintf("%d %+d", now, now-before)
}

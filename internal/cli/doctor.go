package cli

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/internal/demo"
	"github.com/braidmq/braid/internal/plural"
	"github.com/braidmq/braid/internal/shop"
	"github.com/braidmq/braid/internal/storeurl"
)

// finding is one thing that the doctor looked at.
type finding struct {
	Check string `json:"check"`
	Level string `json:"level"` // ok, warn or bad
	Text  string `json:"text"`
}

func newDoctor() *cobra.Command {
	var (
		at     target
		others []string
		deep   bool
	)
	cmd := &cobra.Command{
		Use: "doctor", Short: "Tell whether a store is healthy",
		Long: `doctor looks at what usually goes wrong: whether the store answers, and how fast; how far
this machine's clock is from the store's; queues that are paused; jobs that wait, or are
due, for long, or in queues that no worker works on; jobs whose worker was lost; failed jobs.

--deep reads every job and every flow of stores themselves, and checks that they agree:
counters with rows, children with their parents, counts with lists. It takes long on a large
store, and calls what is under way at the moment a fault, so stop the workers first.

The exit code is 1 if something is bad; warnings do not count.`,
		Args: atMost(0), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if deep {
				return examineDeep(cmd, at.address(), others, at.asJSON)
			}
			if others != nil {
				return usagef("--with goes with --deep; leave it out")
			}
			at.warns = true
			return consult(cmd, &at)
		},
	}
	at.addFlags(cmd)
	cmd.Flags().BoolVar(&deep, "deep", false, "read every job and flow, and check that they agree")
	cmd.Flags().StringArrayVar(&others, "with", nil, "with --deep: `NAME=URL` of another store of the program; may be repeated")
	return cmd
}

// consult examines what at names, and reports. A store that does not answer is a
// finding, too.
func consult(cmd *cobra.Command, at *target) error {
	d := &doctor{session: &session{out: cmd.OutOrStdout(), asJSON: at.asJSON}}
	err := at.with(cmd, func(s *session) error {
		d.session = s
		return d.examine()
	})
	if err != nil {
		var refusal *httpapi.Error
		if exitCode(err) == exitUsage || errors.As(err, &refusal) && refusal.Code != httpapi.CodeUnavailable || cmd.Context().Err() != nil {
			return err
		}
		where, _, _ := strings.Cut(storeurl.Redact(at.url), "?")
		advice := ""
		if refusal != nil && isServer(at.url) {
			advice = " (the server's log tells why)"
		}
		d.found("store", "bad", "%s: %s%s", where, errorText(err), advice)
	}
	err = d.print(d.findings, func() error {
		for _, f := range d.findings {
			fmt.Fprintf(d.out, "%-4s  %-9s  %s\n", f.Level, f.Check, plain(f.Text))
		}
		return nil
	})
	if err == nil && d.bad > 0 {
		return fmt.Errorf("braid: the store is not healthy: %d of %s %s bad", d.bad,
			plural.Of(len(d.findings), "check", "checks"), plural.Word(d.bad, "is", "are"))
	}
	return err
}

type doctor struct {
	*session
	now      time.Time
	findings []finding
	bad      int
}

// What the doctor takes to be long.
const (
	slowAnswer = 250 * time.Millisecond
	clockWarn  = 2 * time.Second
	longWait   = 5 * time.Minute
	overdue    = time.Minute
	lockGrace  = 2 * time.Minute
)

func (d *doctor) found(check, level, format string, args ...any) {
	if level == "bad" {
		d.bad++
	}
	d.findings = append(d.findings, finding{check, level, fmt.Sprintf(format, args...)})
}

func (d *doctor) examine() error {
	if err := d.store(); err != nil {
		return err
	}
	var queues httpapi.Queues
	if err := d.Get(d.ctx, "queues", nil, &queues); err != nil {
		return err
	}
	d.backlog(queues)
	if err := d.unclaimed(queues); err != nil {
		return err
	}
	for _, q := range queues.Queues {
		if err := d.queue(q); err != nil {
			return err
		}
	}
	if err := d.locks(); err != nil {
		return err
	}
	return d.schedules()
}

func (d *doctor) store() error {
	var info httpapi.Info
	if err := d.Get(d.ctx, "info", nil, &info); err != nil {
		return err
	}
	// The first answer may have opened connections and measured the clock.
	began := time.Now()
	if err := d.Get(d.ctx, "queues", nil, nil); err != nil {
		return err
	}
	took := time.Since(began)
	level := "ok"
	if took > slowAnswer {
		level = "warn"
	}
	d.found("store", level, "%s at %s, format %d, answers in %v", info.Kind, info.Location, info.Format, took.Round(time.Millisecond))
	var again httpapi.Info
	before := time.Now()
	if err := d.Get(d.ctx, "info", nil, &again); err != nil {
		return err
	}
	after := time.Now()
	d.now = again.Now.Time
	distance := d.now.Sub(before.Add(after.Sub(before) / 2)).Round(time.Millisecond)
	level = "ok"
	if distance.Abs() > clockWarn {
		level = "warn"
	}
	d.found("clock", level, "this machine's clock is %v from the store's (Braid goes by the store's)", distance.Abs())
	return nil
}

func (d *doctor) backlog(queues httpapi.Queues) {
	c := queues.Total
	d.found("backlog", "ok", "%s; %s waiting, %d delayed, %d active, %d parked", plural.Of(len(queues.Queues), "queue", "queues"),
		plural.Of(c.Waiting, "job", "jobs"), c.Delayed, c.Active, c.WaitingChildren)
	if c.Failed > 0 {
		d.found("failed", "warn", "%s %s failed; braid jobs list --state failed shows %s", plural.Of(c.Failed, "job", "jobs"),
			plural.Word(c.Failed, "has", "have"), plural.Word(c.Failed, "it", "them"))
	}
}

// unclaimed looks for jobs that wait in queues on which no worker that is alive works.
func (d *doctor) unclaimed(queues httpapi.Queues) error {
	var workers httpapi.Workers
	if err := d.Get(d.ctx, "workers", nil, &workers); err != nil {
		return err
	}
	worked := make(map[string]bool)
	for _, worker := range workers.Workers {
		for _, q := range worker.Queues {
			worked[q.Name] = true
		}
	}
	for _, q := range queues.Queues {
		if left := q.Counts.Waiting + q.Counts.Delayed; left > 0 && !worked[q.Name] {
			advice := "start one"
			if strings.HasPrefix(q.Name, demo.QueuePrefix) && !worked[shop.Billing] { // an open shop has a queue that nobody works on
				advice = "a braid demo that was killed left them; braid jobs cancel --queue " + q.Name + " clears them"
			}
			d.found("unclaimed", "warn", "queue %q: no worker that is alive works on it (waiting or delayed jobs: %d); %s", q.Name, left, advice)
		}
	}
	return nil
}

// queue looks at the oldest jobs of a queue.
func (d *doctor) queue(q httpapi.Queue) error {
	if q.Paused {
		d.found("paused", "warn", "queue %q is paused, with %s waiting", q.Name, plural.Of(q.Counts.Waiting, "job", "jobs"))
		return nil
	}
	if q.Counts.Waiting > 0 {
		job, err := d.first(url.Values{"queue": {q.Name}, "state": {"waiting"}})
		if err != nil {
			return err
		}
		if job != nil && d.now.Sub(job.RunAt.Time) > longWait {
			level := "warn"
			if q.Counts.Active == 0 {
				level = "bad"
			}
			d.found("waiting", level, "queue %q: job %q of %q waits since %s, and of its queue %d are running; does a worker handle it?",
				q.Name, job.ID, job.Name, span(d.now.Sub(job.RunAt.Time)), q.Counts.Active)
		}
	}
	if q.Counts.Delayed > 0 {
		job, err := d.first(url.Values{"queue": {q.Name}, "state": {"delayed"}, "orderBy": {"runAt"}})
		if err != nil {
			return err
		}
		if job != nil && d.now.Sub(job.RunAt.Time) > overdue {
			d.found("due", "bad", "queue %q: job %q is due since %s; no worker looks at this queue", q.Name, job.ID, span(d.now.Sub(job.RunAt.Time)))
		}
	}
	return nil
}

// first returns the oldest job of a list; nil if there is none.
func (d *doctor) first(query url.Values) (*httpapi.Job, error) {
	query.Set("order", "asc")
	query.Set("limit", "1")
	var page httpapi.JobPage
	if err := d.Get(d.ctx, "jobs", query, &page); err != nil || len(page.Jobs) == 0 {
		return nil, err
	}
	return page.Jobs[0], nil
}

// locks looks for jobs whose worker was lost and that nobody has recovered.
func (d *doctor) locks() error {
	var page httpapi.JobPage
	if err := d.Get(d.ctx, "jobs", url.Values{"state": {"active"}, "order": {"asc"}, "limit": {"1000"}}, &page); err != nil {
		return err
	}
	var lost []string
	for _, job := range page.Jobs {
		if d.now.Sub(job.LockExpiresAt.Time) > lockGrace {
			lost = append(lost, job.ID)
		}
	}
	if len(lost) > 0 {
		d.found("locks", "bad", "%s for more than %v, and nothing recovers %s; run a worker or braid server (%s)",
			plural.Of(len(lost), "job has lost its worker", "jobs have lost their workers"), lockGrace, plural.Word(len(lost), "it", "them"), short(strings.Join(lost, ", "), 200))
	} else {
		d.found("locks", "ok", "%s looked at, none without its worker", plural.Of(len(page.Jobs), "running job", "running jobs"))
	}
	return nil
}

// schedules looks for slots that nobody fires.
func (d *doctor) schedules() error {
	var all httpapi.Schedules
	if err := d.Get(d.ctx, "schedules", nil, &all); err != nil {
		return err
	}
	late := 0
	for _, s := range all.Schedules {
		if d.now.Sub(s.NextRunAt.Time) > overdue {
			late++
		}
	}
	if late > 0 {
		d.found("schedule", "bad", "%d of %s %s overdue; run a worker or braid server", late,
			plural.Of(len(all.Schedules), "schedule", "schedules"), plural.Word(late, "is", "are"))
	} else {
		d.found("schedule", "ok", "%s, none of them overdue", plural.Of(len(all.Schedules), "schedule", "schedules"))
	}
	return nil
}

package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/internal/apiclient"
	"github.com/braidmq/braid/internal/plural"
)

func newJobs() *cobra.Command {
	return group("jobs", "List jobs, look at them, and act on them", "",
		newJobsList(), newJobsGet(),
		newJobsAct("retry", "Make failed jobs wait again, with a fresh budget of attempts"),
		newJobsAct("cancel", "Cancel jobs that have not finished"),
		newJobsAct("promote", "Make delayed jobs run now"),
		newJobsAct("remove", "Remove jobs that neither run nor wait for their children"))
}

var stateNames = []string{"waiting", "delayed", "active", "waiting-children", "completed", "failed", "cancelled"}

// selection are the flags that select jobs.
type selection struct {
	queue, name string
	states      []string
	metadata    []string
}

func (s *selection) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.queue, "queue", "", "only jobs of this queue")
	flags.StringVar(&s.name, "name", "", "only jobs of this name")
	flags.StringSliceVar(&s.states, "state", nil, "only jobs in these `states`")
	flags.StringArrayVar(&s.metadata, "metadata", nil, "only jobs with this metadata, `key=value`; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateNames, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
}

func (s *selection) empty() bool {
	return s.queue == "" && s.name == "" && s.states == nil && s.metadata == nil
}

func newJobsList() *cobra.Command {
	var (
		at             target
		pick           selection
		orderBy, after string
		ascending, all bool
		limit          int
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, the newest first",
		Example: `  braid jobs list --state failed --queue mail
  braid jobs list --metadata tenant=acme --all --json | jq .jobs[].id`,
		Args: atMost(0), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, _ []string) error {
			metadata, err := pairs("metadata", pick.metadata)
			if err != nil {
				return err
			}
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			for name, value := range map[string]string{"queue": pick.queue, "name": pick.name, "orderBy": orderBy, "cursor": after} {
				if value != "" {
					query.Set(name, value)
				}
			}
			for key, value := range metadata {
				query.Set("metadata["+key+"]", value)
			}
			if pick.states != nil {
				query["state"] = pick.states
			}
			if ascending {
				query.Set("order", "asc")
			}
			return at.with(cmd, func(s *session) error { return listJobs(s, query, all) })
		},
	}
	at.addFlags(cmd)
	pick.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&orderBy, "order-by", "", "the time that orders the list: enqueuedAt, runAt or finishedAt")
	flags.BoolVar(&ascending, "ascending", false, "the oldest first")
	flags.StringVar(&after, "cursor", "", "the cursor of the page before")
	flags.IntVar(&limit, "limit", 50, "the most jobs of a page")
	flags.BoolVar(&all, "all", false, "go through all pages")
	return cmd
}

func listJobs(s *session, query url.Values, all bool) error {
	var page httpapi.JobPage
	for {
		var next httpapi.JobPage
		if err := s.Get(s.ctx, "jobs", query, &next); err != nil {
			return err
		}
		page.Jobs, page.Cursor = append(page.Jobs, next.Jobs...), next.Cursor
		if !all || next.Cursor == "" {
			break
		}
		query.Set("cursor", next.Cursor)
	}
	if page.Jobs == nil {
		page.Jobs = []*httpapi.Job{}
	}
	return s.print(page, func() error {
		now, err := s.now()
		if err != nil {
			return err
		}
		t := newTable("ID", "NAME", "QUEUE", "STATE", "ATTEMPTS", "ENQUEUED", "NOTE")
		for _, job := range page.Jobs {
			note := ""
			switch {
			case job.Error != nil:
				note, _, _ = strings.Cut(job.Error.Message, "\n")
			case job.State.String() == "delayed":
				note = "due " + ago(job.RunAt.Time, now)
			case job.LockedBy != "":
				note = "on " + job.LockedBy
			}
			t.add(plain(job.ID), plain(job.Name), plain(job.Queue), job.State.String(),
				fmt.Sprintf("%d/%d", job.AttemptsMade, job.AttemptsMax), ago(job.EnqueuedAt.Time, now), short(plain(note), 60))
		}
		if page.Cursor != "" {
			fmt.Fprintf(s.errs, "more: --cursor %s\n", page.Cursor)
		}
		return t.write(s.out)
	})
}

func newJobsGet() *cobra.Command {
	var at target
	cmd := &cobra.Command{
		Use: "get ID", Short: "Show a job, its runs, and why it is where it is",
		Args: exactlyOne("job"), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(cmd, func(s *session) error { return showJob(s, args[0]) })
		},
	}
	at.addFlags(cmd)
	return cmd
}

// act says what an operation did to jobs.
func newJobsAct(verb, about string) *cobra.Command {
	var (
		at     target
		pick   selection
		dryRun bool
	)
	cmd := &cobra.Command{
		Use: verb + " [ID…]", Short: about,
		Long: about + `.

Name jobs, or select them with --queue, --name, --state and --metadata; --dry-run
counts what would be done. The exit code is 1 if a job that was named could not be changed.`,
		Example: fmt.Sprintf("  braid jobs %s j-17 j-18\n  braid jobs %s --queue mail --dry-run", verb, verb),
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && pick.empty():
				return usagef("no job is named; name jobs, or select them with --queue, --name, --state or --metadata")
			case len(args) > 0 && (!pick.empty() || dryRun):
				return usagef("jobs are named, and --queue, --name, --state, --metadata or --dry-run is given; use one way")
			case len(args) > 0:
				return at.with(cmd, func(s *session) error { return actOnNamed(s, verb, args) })
			}
			metadata, err := pairs("metadata", pick.metadata)
			if err != nil {
				return err
			}
			filter := &httpapi.Filter{Queue: pick.queue, Name: pick.name, States: pick.states, Metadata: metadata}
			return at.with(cmd, func(s *session) error {
				return actOnSelected(s, verb, httpapi.BatchRequest{Filter: filter, DryRun: dryRun})
			})
		},
	}
	at.addFlags(cmd)
	pick.addFlags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only count")
	return cmd
}

func actOnNamed(s *session, verb string, ids []string) error {
	var reply httpapi.BatchReply
	if err := s.Send(s.ctx, http.MethodPost, "jobs/"+verb, httpapi.BatchRequest{IDs: ids}, &reply); err != nil {
		return err
	}
	err := s.print(reply, func() error {
		for _, result := range reply.Results {
			switch {
			case result.Error != nil:
				fmt.Fprintf(s.errs, "%s: %s\n", plain(result.ID), plain(strings.TrimPrefix(result.Error.Message, "braid: ")))
			case result.State != "":
				fmt.Fprintf(s.out, "%s: %s\n", plain(result.ID), result.State)
			default:
				fmt.Fprintf(s.out, "%s: removed\n", plain(result.ID))
			}
		}
		return nil
	})
	if left := reply.Matched - reply.Changed; err == nil && left > 0 {
		return fmt.Errorf("braid: %d of %s %s not changed", left, plural.Of(reply.Matched, "job", "jobs"), plural.Word(left, "was", "were"))
	}
	return err
}

func actOnSelected(s *session, verb string, request httpapi.BatchRequest) error {
	var total httpapi.BatchReply
	for {
		var reply httpapi.BatchReply
		if err := s.Send(s.ctx, http.MethodPost, "jobs/"+verb, request, &reply); err != nil {
			if total.Changed > 0 {
				return fmt.Errorf("braid: %s changed before: %w", plural.Of(total.Changed, "job was", "jobs were"), err)
			}
			return err
		}
		total.Matched += reply.Matched
		total.Changed += reply.Changed
		if request.Cursor = reply.Cursor; reply.Cursor == "" {
			break
		}
	}
	return s.print(total, func() error {
		did := "changed"
		if request.DryRun {
			did = "would be changed"
		}
		_, err := fmt.Fprintf(s.out, "%s: %s selected, %d %s\n", verb, plural.Of(total.Matched, "job", "jobs"), total.Changed, did)
		return err
	})
}

// jobPath is the path of a job in the API.
func jobPath(id string) string { return "jobs/" + apiclient.Segment(id) }

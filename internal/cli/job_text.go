package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/httpapi"
)

// jobDetails is what braid jobs get prints as JSON.
type jobDetails struct {
	Job      httpapi.Job       `json:"job"`
	Attempts []httpapi.Attempt `json:"attempts"`
	Why      []httpapi.Reason  `json:"why"`
}

func showJob(s *session, id string) error {
	var details jobDetails
	if err := s.Get(s.ctx, jobPath(id), nil, &details.Job); err != nil {
		return err
	}
	var attempts httpapi.Attempts
	if err := s.Get(s.ctx, jobPath(id)+"/attempts", nil, &attempts); err != nil {
		return err
	}
	var why httpapi.Why
	if err := s.Get(s.ctx, jobPath(id)+"/why", nil, &why); err != nil {
		return err
	}
	details.Attempts, details.Why = attempts.Attempts, why.Reasons
	return s.print(details, func() error { return details.write(s.out) })
}

func (d *jobDetails) write(w io.Writer) error {
	var out strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&out, "%-10s %s\n", name, value)
		}
	}
	j := &d.Job
	field("id", plain(j.ID))
	field("name", plain(j.Name))
	field("queue", plain(j.Queue))
	field("state", j.State.String())
	field("attempts", fmt.Sprintf("%d of %d", j.AttemptsMade, j.AttemptsMax))
	field("priority", fmt.Sprint(j.Priority))
	for _, key := range slices.Sorted(maps.Keys(j.Metadata)) {
		field("metadata", plain(key)+"="+plain(j.Metadata[key]))
	}
	field("dedupe key", plain(j.DedupeKey))
	field("enqueued", moment(j.EnqueuedAt))
	field("due", moment(j.RunAt))
	field("started", moment(j.ProcessedAt))
	field("finished", moment(j.FinishedAt))
	field("worker", plain(j.LockedBy))
	if j.Parent != nil {
		field("parent", fmt.Sprintf("%s (flow %s, child %s)", plain(j.Parent.ID), plain(j.Parent.Flow), plain(j.Parent.ChildKey)))
	}
	if f := j.Flow; f != nil {
		field("children", fmt.Sprintf("%d pending, %d completed, %d failed, %d cancelled", f.Pending, f.Completed, f.Failed, f.Cancelled))
	}
	if j.Trace != nil {
		field("trace", plain(j.Trace.TraceID))
	}
	if j.Redacted {
		field("payload", "(hidden by the server)")
	}
	writeJSON(&out, "payload", j.Payload)
	writeJSON(&out, "result", j.Result)
	if j.Error != nil {
		out.WriteString("error      " + strings.TrimPrefix(lines(j.Error.Message, "           "), "           "))
		out.WriteString(stackText(j.Error.Stack))
	}
	for _, reason := range d.Why {
		field("why", plain(reason.Text))
	}
	if len(d.Attempts) > 0 {
		out.WriteString("\n")
		t := newTable("RUN", "OUTCOME", "FINISHED", "TOOK", "WORKER", "ERROR")
		for _, a := range d.Attempts {
			took, message := "", ""
			if !a.StartedAt.IsZero() {
				took = span(a.FinishedAt.Sub(a.StartedAt.Time))
			}
			if a.Error != nil {
				message, _, _ = strings.Cut(a.Error.Message, "\n")
			}
			t.add(fmt.Sprint(a.Attempt), a.Outcome.String(), moment(a.FinishedAt), took, plain(a.Worker), short(plain(message), 80))
		}
		if err := t.write(&out); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func stackText(stack string) string {
	if stack == "" {
		return ""
	}
	return lines(stack, "             ")
}

// writeJSON prints a value on one line, or indented if it is long.
func writeJSON(out *strings.Builder, name string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	const wide = 100
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil && compact.Len() <= wide {
		fmt.Fprintf(out, "%-10s %s\n", name, plain(compact.String()))
		return
	}
	var indented bytes.Buffer
	if json.Indent(&indented, raw, "", "  ") != nil {
		indented.Write(raw)
	}
	out.WriteString(name + "\n" + lines(indented.String(), "  "))
}

func moment(t httpapi.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// now is the time of the store.
func (s *session) now() (time.Time, error) {
	var info httpapi.Info
	err := s.Get(s.ctx, "info", nil, &info)
	return info.Now.Time, err
}

func newWhy() *cobra.Command {
	var at target
	cmd := &cobra.Command{
		Use: "why ID", Short: "Tell why a job is waiting",
		Example: "  braid why j-17",
		Args:    exactlyOne("job"), ValidArgsFunction: noneOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.with(cmd, func(s *session) error {
				var why httpapi.Why
				if err := s.Get(s.ctx, jobPath(args[0])+"/why", nil, &why); err != nil {
					return err
				}
				return s.print(why, func() error {
					fmt.Fprintf(s.out, "%s is %s.\n", plain(why.ID), why.State)
					for _, reason := range why.Reasons {
						fmt.Fprintln(s.out, plain(reason.Text))
					}
					return nil
				})
			})
		},
	}
	at.addFlags(cmd)
	return cmd
}

package braidtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/braidmq/braid"
)

// examples lists some jobs of these states, a line each, with why they are in it.
func (t *T) examples(states ...braid.State) string {
	const most = 5 // of a store
	ctx := context.Background()
	var text strings.Builder
	for _, client := range t.stores() {
		page, err := client.List(ctx, braid.ListFilter{States: states, Ascending: true, Limit: most})
		if err != nil {
			return err.Error()
		}
		for _, job := range page.Jobs {
			fmt.Fprintf(&text, "\n  %s %s (%s)", job.Name, job.ID, job.State)
			why, err := client.Why(ctx, job.ID)
			if err != nil {
				fmt.Fprintf(&text, " %v", err)
			}
			for _, reason := range why.Reasons {
				text.WriteString(" " + reason.Text)
			}
		}
		if page.Cursor != "" {
			text.WriteString("\n  …")
		}
	}
	return text.String()
}

// dueSchedules lists the schedules that should have fired until then, a line each.
func (t *T) dueSchedules(until time.Time) string {
	var text strings.Builder
	for _, client := range t.stores() {
		schedules, err := client.Schedules(context.Background(), braid.ScheduleFilter{})
		if err != nil {
			return err.Error()
		}
		for _, s := range schedules {
			if !s.NextRunAt.After(until) {
				fmt.Fprintf(&text, "\n  schedule %s of store %s", s.Key, client.StoreName())
			}
		}
	}
	return text.String()
}

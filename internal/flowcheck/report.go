package flowcheck

import (
	"fmt"
	"strings"
)

// Problem is one place where a rule does not hold.
type Problem struct {
	Rule   string `json:"rule"`          // one of the constants
	Store  string `json:"store"`         // by its key
	Job    string `json:"job,omitempty"` // the id of the job it is about; empty: the whole store
	Detail string `json:"detail"`
}

func (p Problem) String() string {
	if p.Job == "" {
		return fmt.Sprintf("%s: store %s: %s", p.Rule, p.Store, p.Detail)
	}
	return fmt.Sprintf("%s: store %s, job %q: %s", p.Rule, p.Store, p.Job, p.Detail)
}

// mostProblems bounds the problems that a report lists.
const mostProblems = 1000

// Report is what a check saw.
type Report struct {
	Jobs     int64 `json:"jobs"`
	Flows    int64 `json:"flows"`    // jobs with a manifest
	Children int64 `json:"children"` // dependency rows
	Pending  int64 `json:"pending"`  // of those, not settled
	Owed     int64 `json:"owed"`     // of those, cancelled early and not cascaded yet
	Outbox   int64 `json:"outbox"`   // outcomes on their way
	// Problems are the first thousand, store by store; More is how many others there are.
	Problems []Problem `json:"problems"`
	More     int64     `json:"more,omitempty"`
}

// Clean reports whether every rule holds.
func (r *Report) Clean() bool { return len(r.Problems) == 0 }

// Idle reports whether nothing is on its way either: no child pending, no cascade
// owed, no outcome in an outbox.
func (r *Report) Idle() bool { return r.Pending == 0 && r.Owed == 0 && r.Outbox == 0 }

// String tells the report's numbers and problems, a line each.
func (r *Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d jobs, %d flows, %d children (%d pending, %d owed), %d outcomes on their way, %d problems",
		r.Jobs, r.Flows, r.Children, r.Pending, r.Owed, r.Outbox, int64(len(r.Problems))+r.More)
	for _, p := range r.Problems {
		text.WriteString("\n  " + p.String())
	}
	return text.String()
}

func (r *Report) add(rule, store, job, format string, args ...any) {
	if len(r.Problems) == mostProblems {
		r.More++
		return
	}
	r.Problems = append(r.Problems, Problem{Rule: rule, Store: store, Job: job, Detail: fmt.Sprintf(format, args...)})
}

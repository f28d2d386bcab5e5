package flowcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/braidmq/braid/internal/plural"
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
	// Unseen are the stores that flows name and the check was not given, by key.
	Unseen []Unseen `json:"unseen,omitempty"`
}

// Unseen says what could not be compared, for a store was not given. All of it has
// ended, so nothing waits for that store; where something does, it is a [Problem].
type Unseen struct {
	Store    string `json:"store"`
	Children int64  `json:"children"` // settled children of flows, whose jobs are there
	Parents  int64  `json:"parents"`  // finished jobs, whose parents are there
}

func (u Unseen) String() string {
	return fmt.Sprintf("cannot be checked: store %q is not among those given (%s and %s of it)", u.Store,
		plural.Of(u.Children, "settled child", "settled children"), plural.Of(u.Parents, "finished job with a parent", "finished jobs with parents"))
}

// Clean reports whether every rule holds.
func (r *Report) Clean() bool { return len(r.Problems) == 0 }

// Idle reports whether nothing is on its way either: no child pending, no cascade
// owed, no outcome in an outbox.
func (r *Report) Idle() bool { return r.Pending == 0 && r.Owed == 0 && r.Outbox == 0 }

// String tells the report's numbers and problems, a line each.
func (r *Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s, %s (%d pending, %d owed), %s on the way, %s",
		plural.Of(r.Jobs, "job", "jobs"), plural.Of(r.Flows, "flow", "flows"), plural.Of(r.Children, "child", "children"),
		r.Pending, r.Owed, plural.Of(r.Outbox, "outcome", "outcomes"), plural.Of(int64(len(r.Problems))+r.More, "problem", "problems"))
	for _, p := range r.Problems {
		text.WriteString("\n  " + p.String())
	}
	for _, u := range r.Unseen {
		text.WriteString("\n  " + u.String())
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

// unseen returns what is counted of a store that was not given.
func (r *Report) unseen(store string) *Unseen {
	at, found := slices.BinarySearchFunc(r.Unseen, store, func(u Unseen, key string) int { return strings.Compare(u.Store, key) })
	if !found {
		r.Unseen = slices.Insert(r.Unseen, at, Unseen{Store: store})
	}
	return &r.Unseen[at]
}

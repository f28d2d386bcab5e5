package braid

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/plural"
)

// Why tells why a job is where it is; see [Client.Why].
type Why struct {
	ID      string   `json:"id"`
	State   State    `json:"state"`
	Reasons []Reason `json:"reasons"` // the most telling first; at least one
}

// Reason is one thing that a job waits for, or that ended it. Only the fields that
// belong to its code are set.
type Reason struct {
	Code ReasonCode `json:"code"`
	Text string     `json:"text"` // a sentence for people
	// Until is when a delayed job falls due, or a lock runs out.
	Until time.Time `json:"until,omitzero"`
	// Ahead is how many jobs of the queue are before this one, counted to 1,000.
	Ahead int `json:"ahead,omitempty"`
	// Worker is who holds the lock.
	Worker string `json:"worker,omitempty"`
	// Children is how many of a flow's children are open; Open names up to ten.
	Children int64      `json:"children,omitempty"`
	Open     []ChildRef `json:"open,omitempty"`
}

// ChildRef names a child of a flow.
type ChildRef struct {
	Key   string `json:"key"`
	JobID string `json:"jobId"`
	Store string `json:"store"` // where it lives
}

// ReasonCode tells the kinds of [Reason] apart.
type ReasonCode string

// The kinds of reasons.
const (
	ReasonPaused          ReasonCode = "paused"           // its queue is paused
	ReasonNotDue          ReasonCode = "not-due"          // delayed, until a time
	ReasonDue             ReasonCode = "due"              // delayed, and due: the next claim of its queue takes it in
	ReasonJobsAhead       ReasonCode = "jobs-ahead"       // others of its queue come first
	ReasonNext            ReasonCode = "next"             // first in line: it waits for a free slot of a worker that knows it
	ReasonNoWorker        ReasonCode = "no-worker"        // no worker that is alive works on its queue, or handles its name there
	ReasonRunning         ReasonCode = "running"          // a worker holds its lock, until a time
	ReasonLockExpired     ReasonCode = "lock-expired"     // its worker is gone, and a sweep has yet to find it
	ReasonCancelRequested ReasonCode = "cancel-requested" // its worker was asked to end it
	ReasonChildren        ReasonCode = "children"         // children of the flow are open
	ReasonFinished        ReasonCode = "finished"         // it waits for nothing
)

// Why answers "why is this job waiting?": for what, and until when, as far as the
// store knows. It costs a few reads. An unknown job is ErrNotFound.
func (c *Client) Why(ctx context.Context, id string) (Why, error) {
	job, err := c.Get(ctx, id)
	if err != nil {
		return Why{}, err
	}
	now, err := c.Now()
	if err != nil {
		return Why{}, err
	}
	why := Why{ID: job.ID, State: job.State}
	switch job.State {
	case Waiting, Delayed:
		why.Reasons, err = c.whyQueued(ctx, job, now)
	case Active:
		why.Reasons = whyActive(job, now)
	case WaitingChildren:
		why.Reasons, err = c.whyParked(ctx, job)
	default:
		why.Reasons = []Reason{{Code: ReasonFinished, Text: "It is " + job.State.String() + " since " + clock(job.FinishedAt) + "."}}
	}
	return why, err
}

func (c *Client) whyQueued(ctx context.Context, job *JobInfo, now time.Time) ([]Reason, error) {
	var reasons []Reason
	paused, err := c.PausedQueues(ctx)
	if err != nil {
		return nil, err
	}
	if slices.Contains(paused, job.Queue) {
		reasons = append(reasons, Reason{Code: ReasonPaused,
			Text: "Its queue " + strconv.Quote(job.Queue) + " is paused; resume it to let its jobs start."})
	}
	if job.State == Delayed && job.RunAt.After(now) {
		return append(reasons, whyDelayed(job, now)), nil
	}
	nobody, err := c.whyNobody(ctx, job)
	if err != nil {
		return nil, err
	}
	reasons = append(reasons, nobody...)
	if job.State == Delayed {
		return append(reasons, whyDelayed(job, now)), nil
	}
	ahead, waiting, err := c.Position(ctx, job.ID)
	switch {
	case err != nil:
		return nil, err
	case !waiting: // it left between the two reads
		return append(reasons, Reason{Code: ReasonNext, Text: "It was about to leave its queue; look again."}), nil
	case ahead > 0:
		return append(reasons, Reason{Code: ReasonJobsAhead, Ahead: ahead, Text: aheadText(ahead, job.Queue)}), nil
	case len(reasons) > 0:
		return reasons, nil
	}
	return append(reasons, Reason{Code: ReasonNext,
		Text: "It is the first of its queue, and waits for a free slot of a worker that handles " + strconv.Quote(job.Name) +
			" in " + strconv.Quote(job.Queue) + "."}), nil
}

// whyNobody tells if no worker that is alive would take a job.
func (c *Client) whyNobody(ctx context.Context, job *JobInfo) ([]Reason, error) {
	queue, name := strconv.Quote(job.Queue), strconv.Quote(job.Name)
	text := "No worker that is alive works on its queue " + queue + "; start one that handles " + name + "."
	runs := false
	err := c.eachWorker(ctx, func(w WorkerInfo) bool {
		if w.WorksOn(job.Queue) {
			text = "No worker that is alive handles " + name + " in its queue " + queue + ", though some work on that queue; start one that does."
			runs = runs || w.Runs(job.Queue, job.Name)
		}
		return !runs
	})
	if err != nil || runs {
		return nil, err
	}
	return []Reason{{Code: ReasonNoWorker, Text: text}}, nil
}

func whyDelayed(job *JobInfo, now time.Time) Reason {
	if !job.RunAt.After(now) {
		return Reason{Code: ReasonDue, Until: job.RunAt,
			Text: "It is due since " + clock(job.RunAt) + ", and joins the waiting jobs when a worker next looks at its queue."}
	}
	text := "It is not due before " + clock(job.RunAt) + "."
	if job.AttemptsMade > 0 {
		text = fmt.Sprintf("It rests before attempt %d of %d, until %s.", job.AttemptsMade+1, job.AttemptsMax, clock(job.RunAt))
	}
	return Reason{Code: ReasonNotDue, Until: job.RunAt, Text: text}
}

func aheadText(ahead int, queue string) string {
	if ahead >= driver.PositionLimit {
		return fmt.Sprintf("At least %d jobs of its queue %q come before it.", ahead, queue)
	}
	return fmt.Sprintf("%s of its queue %q %s before it.", plural.Of(ahead, "job", "jobs"), queue, plural.Word(ahead, "comes", "come"))
}

func whyActive(job *JobInfo, now time.Time) []Reason {
	var reasons []Reason
	if job.CancelRequested {
		reasons = append(reasons, Reason{Code: ReasonCancelRequested, Worker: job.LockedBy,
			Text: "Its worker was asked to cancel it, and has not answered yet."})
	}
	if !job.LockExpiresAt.After(now) {
		return append(reasons, Reason{Code: ReasonLockExpired, Worker: job.LockedBy, Until: job.LockExpiresAt,
			Text: "The lock of worker " + strconv.Quote(job.LockedBy) + " ran out at " + clock(job.LockExpiresAt) +
				"; the next sweep of a worker or server sends it back."})
	}
	return append(reasons, Reason{Code: ReasonRunning, Worker: job.LockedBy, Until: job.LockExpiresAt,
		Text: "Worker " + strconv.Quote(job.LockedBy) + " runs it since " + clock(job.ProcessedAt) + "; its lock holds until " +
			clock(job.LockExpiresAt) + " and is renewed while the worker lives."})
}

const (
	whyOpenChildren = 10
	whyChildPages   = 5 // looked through for open ones
)

func (c *Client) whyParked(ctx context.Context, job *JobInfo) ([]Reason, error) {
	reason := Reason{Code: ReasonChildren}
	if job.Flow != nil {
		reason.Children = job.Flow.Pending
	}
	cursor := ""
	for range whyChildPages {
		page, err := c.Children(ctx, job.ID, cursor)
		if err != nil {
			return nil, err
		}
		for _, child := range page.Children {
			if child.Status == ChildPending && len(reason.Open) < whyOpenChildren {
				reason.Open = append(reason.Open, ChildRef{Key: child.Key, JobID: child.JobID, Store: child.Store})
			}
		}
		if cursor = page.Cursor; cursor == "" || len(reason.Open) == whyOpenChildren {
			break
		}
	}
	reason.Text = fmt.Sprintf("It waits for %d of its children", reason.Children)
	for i, child := range reason.Open {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		reason.Text += separator + strconv.Quote(child.Key)
	}
	if reason.Children > int64(len(reason.Open)) && len(reason.Open) > 0 {
		reason.Text += ", …"
	}
	reason.Text += "."
	return []Reason{reason}, nil
}

// clock is how a sentence tells a time.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

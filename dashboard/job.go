package dashboard

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/braidmq/braid"
)

// jobData is what the page of a job shows.
type jobData struct {
	Job      *braid.JobInfo
	Why      []braid.Reason
	Error    *braid.JobError
	Attempts []attemptRow
	Earlier  int // attempts that are not shown
	Metadata []pair
	Payload  string
	Result   string
	Hidden   bool // payload or result is hidden
	Timeout  string
	Flow     *progress

	CanRetry, CanCancel, CanPromote, CanRemove bool
}

type pair struct{ Key, Value string }

// Filter is what lists the jobs with this metadata.
func (p pair) Filter() string { return keyEscaper.Replace(p.Key) + "=" + p.Value }

type attemptRow struct {
	braid.AttemptInfo
	Took   time.Duration
	Error  *braid.JobError
	Result string
}

// mostAttempts bounds how many runs of one job are shown, the latest ones.
const mostAttempts = 100

func job(c *call) (*page, error) {
	id := c.query.Get("id")
	info, err := c.client.Get(c.ctx, id)
	if err != nil {
		return nil, err
	}
	data := jobData{Job: info, Payload: pretty(info.Payload), Flow: progressOf(info.Flow)}
	why, err := c.client.Why(c.ctx, id)
	if err != nil {
		return nil, err
	}
	if !info.State.Terminal() {
		data.Why = why.Reasons
	}
	errors.As(info.Err(), &data.Error)
	if info.State == braid.Completed {
		data.Result = pretty(info.Exit)
	}
	if c.h.redact && (data.Payload != "" || data.Result != "") {
		data.Payload, data.Result, data.Hidden = "", "", true
	}
	for _, key := range slices.Sorted(maps.Keys(info.Metadata)) {
		data.Metadata = append(data.Metadata, pair{key, info.Metadata[key]})
	}
	if info.Timeout != nil {
		data.Timeout = "none"
		if *info.Timeout > 0 {
			data.Timeout = span(*info.Timeout)
		}
	}
	if err := data.addAttempts(c); err != nil {
		return nil, err
	}
	switch info.State {
	case braid.Failed:
		data.CanRetry, data.CanRemove = true, true
	case braid.Waiting, braid.Delayed:
		data.CanCancel, data.CanRemove, data.CanPromote = true, true, info.State == braid.Delayed
	case braid.Active, braid.WaitingChildren:
		data.CanCancel = !info.CancelRequested
	default:
		data.CanRemove = true
	}
	return &page{name: "job", Title: shown(info.Name) + " " + shown(info.ID), Tab: "jobs", Data: data}, nil
}

// addAttempts adds the runs so far, the latest first.
func (d *jobData) addAttempts(c *call) error {
	attempts, err := c.client.Attempts(c.ctx, d.Job.ID)
	if err != nil {
		return err
	}
	d.Earlier = max(len(attempts)-mostAttempts, 0)
	for _, info := range slices.Backward(attempts[d.Earlier:]) {
		row := attemptRow{AttemptInfo: info}
		if !info.StartedAt.IsZero() {
			row.Took = max(info.FinishedAt.Sub(info.StartedAt), 0)
		}
		errors.As(info.Err(), &row.Error)
		d.Attempts = append(d.Attempts, row)
	}
	return nil
}

// progress is how far the children of a flow are, as a bar.
type progress struct {
	braid.FlowProgress
	Done int // of 100
	Bar  []part
}

func progressOf(f *braid.FlowProgress) *progress {
	if f == nil {
		return nil
	}
	p := &progress{FlowProgress: *f, Done: 100}
	total := f.Total()
	if total == 0 {
		return p
	}
	p.Done = int((total - f.Pending) * 100 / total)
	x := 0.0
	for _, s := range []struct {
		class string
		n     int64
	}{{"completed", f.Completed}, {"failed", f.Failed}, {"cancelled", f.Cancelled}} {
		if s.n > 0 {
			width := float64(s.n) / float64(total) * 100
			p.Bar = append(p.Bar, part{Class: s.class, X: coordinate(x), Width: coordinate(width)})
			x += width
		}
	}
	return p
}

package braid

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
)

// StatsFilter selects stats. Its zero value is the last hour of all queues, by minute.
type StatsFilter struct {
	Queues []string // nil: all
	// From and To select the minutes that begin in [From, To). A zero To is now, a zero
	// From an hour before To. Stats are kept for 24 hours.
	From, To time.Time
	// Step is how much time one [Stat] covers: whole minutes, up to a day; 0 is one
	// minute. Steps are counted from midnight UTC, so the first may begin before From.
	Step time.Duration
	// ByQueue tells the queues apart. Without it, each Stat sums them up.
	ByQueue bool
}

// Stat sums up the runs that ended within one step with one outcome.
type Stat struct {
	Time     time.Time     `json:"time"`            // the beginning of the step
	Queue    string        `json:"queue,omitempty"` // empty unless [StatsFilter].ByQueue
	Outcome  Outcome       `json:"outcome"`
	Count    int64         `json:"count"`
	RunTime  time.Duration `json:"runTime"`  // the sum over all runs, from claim to result
	WaitTime time.Duration `json:"waitTime"` // the sum over all runs, from when the job could run to its claim
}

// Stats returns what became of the runs of the last hours, in order of time, queue and
// outcome: only what the store's workers counted, so nothing if its option switched
// that off. A step without runs is left out.
func (c *Client) Stats(ctx context.Context, filter StatsFilter) ([]Stat, error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	req, step, err := filter.request(c.now())
	if err != nil {
		return nil, err
	}
	sums := make(map[driver.Stat]*driver.Stat) // by what is not summed
	for {
		page, err := c.statsPage(ctx, req)
		if err != nil {
			return nil, err
		}
		for _, stat := range page.Stats {
			key := driver.Stat{Minute: stat.Minute - stat.Minute%driver.Time(step), Outcome: stat.Outcome}
			if filter.ByQueue {
				key.Queue = stat.Queue
			}
			sum := sums[key]
			if sum == nil {
				sum = &driver.Stat{}
				sums[key] = sum
			}
			sum.Add(stat)
		}
		next, more := page.Next.Get()
		if !more {
			break
		}
		req.From = next
	}
	stats := make([]Stat, 0, len(sums))
	for key, sum := range sums {
		stats = append(stats, Stat{Time: key.Minute.Std(), Queue: key.Queue, Outcome: key.Outcome,
			Count: sum.Count, RunTime: sum.RunTime.Std(), WaitTime: sum.WaitTime.Std()})
	}
	slices.SortFunc(stats, func(a, b Stat) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Outcome, b.Outcome))
	})
	return stats, nil
}

// Depth is how many jobs a store held in each state at some time of a minute.
type Depth struct {
	Time   time.Time `json:"time"` // the beginning of the minute
	Counts Counts    `json:"counts"`
}

// Depths returns how many jobs there were in the minutes that begin in [from, to), as
// far as a worker or keeper ran then to look. They are kept for 24 hours.
func (c *Client) Depths(ctx context.Context, from, to time.Time) ([]Depth, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	records, err := c.store.driver.Depths(ctx, driver.TimeOf(from), driver.TimeOf(to))
	if err != nil {
		return nil, err
	}
	depths := make([]Depth, len(records))
	for i, record := range records {
		depths[i] = Depth{Time: record.Minute.Std(), Counts: record.Counts}
	}
	return depths, nil
}

const minute = driver.Millis(time.Minute / time.Millisecond)

// request checks the filter, and fills in what it leaves out.
func (f *StatsFilter) request(now driver.Time) (driver.StatsRequest, driver.Millis, error) {
	refuse := func(field, value, reason string) (driver.StatsRequest, driver.Millis, error) {
		return driver.StatsRequest{}, 0, &driver.InvalidError{Field: field, Value: value, Reason: reason}
	}
	for _, queue := range f.Queues {
		if err := driver.CheckText("queues", queue, driver.MaxNameBytes); err != nil {
			return driver.StatsRequest{}, 0, err
		}
	}
	step := cmp.Or(f.Step, time.Minute)
	if step < time.Minute || step%time.Minute != 0 || step > 24*time.Hour {
		return refuse("step", f.Step.String(), "use whole minutes, up to 24h, or 0 for one minute")
	}
	req := driver.StatsRequest{Queues: f.Queues, To: now + 1}
	if !f.To.IsZero() {
		req.To = driver.TimeOf(f.To)
	}
	req.From = req.To.Add(-driver.MillisOf(time.Hour))
	if !f.From.IsZero() {
		req.From = driver.TimeOf(f.From)
	}
	if req.From > req.To {
		return refuse("from", f.From.Format(time.RFC3339), "is after to; write the earlier time here")
	}
	if most := driver.StatsKept + 60*minute; req.To.Sub(req.From) > most {
		return refuse("from", strconv.FormatInt(int64(req.To.Sub(req.From)/(60*minute)), 10)+" hours before to",
			"is too far back; stats are kept for 24 hours")
	}
	return req, driver.MillisOf(step), nil
}

func (c *Client) statsPage(ctx context.Context, req driver.StatsRequest) (driver.StatsResult, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return driver.StatsResult{}, err
	}
	defer cancel()
	return c.store.driver.Stats(ctx, req)
}

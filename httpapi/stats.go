package httpapi

import (
	"time"

	"github.com/braidmq/braid"
)

// Stat sums up the runs that ended within one step with one outcome.
type Stat struct {
	Time    Time          `json:"time" doc:"The beginning of the step."`
	Queue   string        `json:"queue,omitempty" doc:"With byQueue only."`
	Outcome braid.Outcome `json:"outcome"`
	Count   int64         `json:"count"`
	RunMs   int64         `json:"runMs" doc:"The sum over all runs, from claim to result."`
	WaitMs  int64         `json:"waitMs" doc:"The sum over all runs, from when the job could run to its claim."`
}

// Stats are in order of time, queue and outcome. Steps without runs are left out.
type Stats struct {
	Stats []Stat `json:"stats"`
}

// Depth is how many jobs the store held at some time of a minute.
type Depth struct {
	Time   Time         `json:"time" doc:"The beginning of the minute."`
	Counts braid.Counts `json:"counts"`
}

// Depths are in order of time. Minutes in which no worker or server ran to look are
// left out.
type Depths struct {
	Depths []Depth `json:"depths"`
}

func statsEndpoints() []*endpoint {
	return []*endpoint{
		{method: get, path: "stats", role: RoleRead, tag: "stats", summary: "Sum up the runs of the last hours, as far as the store counts them",
			query: []param{
				{"queue", listParam, "Only runs of these queues.", nil},
				{"from", textParam, "The first minute, as a time; an hour before to without it. Stats are kept for 24 hours.", nil},
				{"to", textParam, "The end, as a time; now without it.", nil},
				{"stepMinutes", numParam, "How many minutes are summed up, counted from midnight UTC; 1 without it, at most 1,440.", nil},
				{"byQueue", textParam, "Whether to tell the queues apart.", []string{"true", "false"}},
			}, reply: Stats{}, serve: readStats},
		{method: get, path: "stats/depth", role: RoleRead, tag: "stats", summary: "Tell how many jobs there were in the minutes of the last hours",
			query: []param{
				{"from", textParam, "The first minute, as a time; an hour before to without it. Samples are kept for 24 hours.", nil},
				{"to", textParam, "The end, as a time; now without it.", nil},
			}, reply: Depths{}, serve: readDepths},
	}
}

func readStats(c *call) (any, error) {
	step, err := c.query.number("stepMinutes", 1, 1, 1440)
	if err != nil {
		return nil, err
	}
	filter := braid.StatsFilter{
		Queues: c.query.list("queue"), Step: time.Duration(step) * time.Minute, ByQueue: c.query.text("byQueue") == "true",
	}
	if filter.From, err = c.query.time("from"); err != nil {
		return nil, err
	}
	if filter.To, err = c.query.time("to"); err != nil {
		return nil, err
	}
	found, err := c.client.Stats(c.ctx, filter)
	if err != nil {
		return nil, err
	}
	reply := Stats{Stats: make([]Stat, len(found))}
	for i, s := range found {
		reply.Stats[i] = Stat{Time: timeOf(s.Time), Queue: s.Queue, Outcome: s.Outcome, Count: s.Count,
			RunMs: s.RunTime.Milliseconds(), WaitMs: s.WaitTime.Milliseconds()}
	}
	return reply, nil
}

func readDepths(c *call) (any, error) {
	to, err := c.query.time("to")
	if err != nil {
		return nil, err
	}
	if to.IsZero() {
		if to, err = c.client.Now(); err != nil {
			return nil, err
		}
		to = to.Add(time.Millisecond)
	}
	from, err := c.query.time("from")
	if err != nil {
		return nil, err
	}
	if from.IsZero() {
		from = to.Add(-time.Hour)
	}
	found, err := c.client.Depths(c.ctx, from, to)
	if err != nil {
		return nil, err
	}
	reply := Depths{Depths: make([]Depth, len(found))}
	for i, d := range found {
		reply.Depths[i] = Depth{Time: timeOf(d.Time), Counts: d.Counts}
	}
	return reply, nil
}

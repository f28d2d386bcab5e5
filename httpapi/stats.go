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

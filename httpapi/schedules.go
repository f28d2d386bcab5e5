package httpapi

import (
	"encoding/json"
	"time"

	"github.com/braidmq/braid"
)

// Schedule is a recurring job.
type Schedule struct {
	Key         string            `json:"key"`
	JobName     string            `json:"jobName"`
	Queue       string            `json:"queue"`
	Cron        string            `json:"cron,omitempty" doc:"Either this or everyMs is set."`
	Zone        string            `json:"zone,omitempty" doc:"The IANA time zone of cron; UTC without it."`
	EveryMs     int64             `json:"everyMs,omitempty"`
	Payload     json.RawMessage   `json:"payload,omitempty"`
	Redacted    bool              `json:"redacted,omitempty" doc:"The server hides payloads and results."`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Priority    int               `json:"priority"`
	AttemptsMax int               `json:"attemptsMax"`
	TimeoutMs   *int64            `json:"timeoutMs,omitempty"`
	SkipOverlap bool              `json:"skipOverlap" doc:"A slot is skipped while the job of an earlier one has not finished."`
	Group       string            `json:"group,omitempty" doc:"The declared set that it belongs to."`
	NextRunAt   Time              `json:"nextRunAt"`
	Upcoming    []string          `json:"upcoming" doc:"The next slots, with the offset of its zone."`
	LastJobID   string            `json:"lastJobId,omitempty" doc:"Of its latest slot that was not skipped."`
}

// Schedules are in the order of their keys.
type Schedules struct {
	Schedules []Schedule `json:"schedules"`
}

// PutSchedule declares a schedule.
type PutSchedule struct {
	JobName     string          `json:"jobName"`
	Cron        string          `json:"cron,omitempty" doc:"Five fields, or six with the second in front. Either this or everyMs."`
	Zone        string          `json:"zone,omitempty" doc:"The IANA time zone of cron; UTC without it."`
	EveryMs     int64           `json:"everyMs,omitempty" doc:"At least 1,000."`
	Payload     json.RawMessage `json:"payload,omitempty" doc:"Any JSON."`
	SkipOverlap bool            `json:"skipOverlap,omitempty" doc:"Skip a slot while the job of an earlier one has not finished."`
	JobOptions
}

const upcomingSlots = 5

func scheduleEndpoints() []*endpoint {
	return []*endpoint{
		{method: get, path: "schedules", role: RoleRead, heavy: true, tag: "schedules", summary: "List the schedules", query: []param{
			{"jobName", textParam, "Only schedules of this job.", nil},
			{"queue", textParam, "Only schedules of this queue.", nil},
			{"group", textParam, "Only schedules of this declared set.", nil},
		}, reply: Schedules{}, serve: listSchedules},
		{method: get, path: "schedules/{key}", role: RoleRead, tag: "schedules", summary: "Get a schedule",
			reply: Schedule{}, serve: func(c *call) (any, error) {
				info, err := c.client.GetSchedule(c.ctx, c.path("key"))
				if err != nil {
					return nil, err
				}
				return c.h.schedule(info), nil
			}},
		{method: put, path: "schedules/{key}", role: RoleOperate, tag: "schedules", summary: "Declare a schedule; with an unchanged cadence it keeps its next slot",
			body: PutSchedule{}, reply: Schedule{}, serve: withBody(putSchedule)},
		{method: remove, path: "schedules/{key}", role: RoleOperate, tag: "schedules", summary: "Remove a schedule; its jobs stay",
			reply: Removed{}, serve: func(c *call) (any, error) {
				removed, err := c.client.Unschedule(c.ctx, c.path("key"))
				return Removed{removed}, err
			}},
		{method: post, path: "schedules/{key}/run", role: RoleOperate, tag: "schedules", summary: "Enqueue a job of a schedule now, besides those of its slots",
			reply: Enqueued{}, serve: func(c *call) (any, error) {
				handle, err := c.client.RunSchedule(c.ctx, c.path("key"))
				if err != nil {
					return nil, err
				}
				return Enqueued{ID: handle.ID, Duplicate: handle.Duplicate}, nil
			}},
	}
}

func listSchedules(c *call) (any, error) {
	infos, err := c.client.Schedules(c.ctx, braid.ScheduleFilter{
		JobName: c.query.text("jobName"), Queue: c.query.text("queue"), Group: c.query.text("group"),
	})
	if err != nil {
		return nil, err
	}
	reply := Schedules{Schedules: make([]Schedule, len(infos))}
	for i, info := range infos {
		reply.Schedules[i] = c.h.schedule(info)
	}
	return reply, nil
}

func putSchedule(c *call, body *PutSchedule) (any, error) {
	shared, err := body.JobOptions.options()
	if err != nil {
		return nil, err
	}
	options := make([]braid.ScheduleOption, 0, len(shared)+2)
	for _, option := range shared {
		options = append(options, option)
	}
	if len(body.Metadata) > 0 {
		options = append(options, braid.Metadata(body.Metadata))
	}
	if body.SkipOverlap {
		options = append(options, braid.SkipOverlap())
	}
	cadence, err := body.cadence()
	if err != nil {
		return nil, err
	}
	info, err := c.client.Schedule(c.ctx, c.path("key"), body.JobName, cadence, body.Payload, options...)
	if err != nil {
		return nil, named(err, "", scheduleFields)
	}
	return c.h.schedule(info), nil
}

func (s *PutSchedule) cadence() (braid.Cadence, error) {
	switch {
	case s.Cron != "" && s.EveryMs != 0:
		return braid.Cadence{}, invalid("everyMs", "is given, and so is cron; give one of them")
	case s.Cron == "" && s.EveryMs == 0:
		return braid.Cadence{}, invalid("cron", "is missing, and so is everyMs; give one of them")
	case s.Cron == "" && s.Zone != "":
		return braid.Cadence{}, invalid("zone", "goes with cron; leave it out")
	case s.Cron == "":
		every, err := millis("everyMs", s.EveryMs, 1000)
		return braid.Every(every), err
	}
	var zone []string
	if s.Zone != "" {
		zone = []string{s.Zone}
	}
	return braid.CronSeconds(s.Cron, zone...), nil // which takes five fields, too
}

func (h *Handler) schedule(info braid.ScheduleInfo) Schedule {
	s := Schedule{
		Key: info.Key, JobName: info.JobName, Queue: info.Queue, Cron: info.Cron, Zone: info.Zone, EveryMs: info.Every.Milliseconds(),
		Payload: shown(info.Payload), Metadata: info.Metadata, Priority: info.Priority, AttemptsMax: info.Attempts,
		TimeoutMs: inMillis(info.Timeout), SkipOverlap: info.SkipOverlap, Group: info.Group,
		NextRunAt: timeOf(info.NextRunAt), LastJobID: info.LastJobID, Upcoming: []string{},
	}
	for _, slot := range info.Upcoming(upcomingSlots) {
		s.Upcoming = append(s.Upcoming, slot.Format(time.RFC3339))
	}
	if h.redact && s.Payload != nil {
		s.Payload, s.Redacted = nil, true
	}
	return s
}

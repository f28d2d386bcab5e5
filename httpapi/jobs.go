package httpapi

import (
	"github.com/braidmq/braid"
)

// JobPage is a page of jobs.
type JobPage struct {
	Jobs   []*Job `json:"jobs"`
	Cursor string `json:"cursor,omitempty" doc:"Set if more are left, or may be left: repeat the request with it. A page may be short, or empty, and have one."`
}

// Attempts are the runs of a job, oldest first.
type Attempts struct {
	Attempts []Attempt `json:"attempts"`
}

var states = []string{"waiting", "delayed", "active", "waiting-children", "completed", "failed", "cancelled"}

func jobEndpoints() []*endpoint {
	return []*endpoint{
		{method: post, path: "jobs", role: RoleProduce, tag: "jobs", summary: "Enqueue a batch of jobs",
			body: EnqueueRequest{}, reply: EnqueueReply{}, serve: withBody(enqueue)},
		{method: get, path: "jobs", role: RoleRead, heavy: true, tag: "jobs", summary: "List jobs", query: []param{
			{"queue", textParam, "Only jobs of this queue.", nil},
			{"name", textParam, "Only jobs of this name.", nil},
			{"state", listParam, "Only jobs in one of these states.", states},
			{"metadata", mapParam, "Only jobs with this metadata: metadata[key]=value, as often as needed.", nil},
			{"orderBy", textParam, "The time that orders the list; enqueuedAt without it. runAt is for the delayed jobs of a queue, finishedAt for finished states.", []string{"enqueuedAt", "runAt", "finishedAt"}},
			{"order", textParam, "desc, the newest first, without it.", []string{"asc", "desc"}},
			{"cursor", textParam, "The cursor of the page before.", nil},
			{"limit", numParam, "The most jobs of a page; 50 without it.", nil},
		}, reply: JobPage{}, serve: listJobs},
		{method: get, path: "jobs/{id}", role: RoleRead, heavy: true, tag: "jobs", summary: "Get a job",
			reply: Job{}, serve: func(c *call) (any, error) {
				info, err := c.client.Get(c.ctx, c.path("id"))
				if err != nil {
					return nil, err
				}
				return c.h.job(info), nil
			}},
		{method: get, path: "jobs/{id}/attempts", role: RoleRead, heavy: true, tag: "jobs", summary: "Get the runs of a job so far, oldest first",
			reply: Attempts{}, serve: listAttempts},
		{method: get, path: "jobs/{id}/why", role: RoleRead, tag: "jobs", summary: "Tell why a job is waiting",
			reply: Why{}, serve: func(c *call) (any, error) {
				why, err := c.client.Why(c.ctx, c.path("id"))
				return whyOf(why), err
			}},
	}
}

func listJobs(c *call) (any, error) {
	filter := braid.ListFilter{
		Queue: c.query.text("queue"), Name: c.query.text("name"), Metadata: c.query.fields("metadata"),
		Ascending: c.query.text("order") == "asc", Cursor: c.query.text("cursor"),
	}
	var err error
	if filter.Limit, err = c.query.number("limit", min(50, c.h.limits.Page), 1, c.h.limits.Page); err != nil {
		return nil, err
	}
	if filter.States, err = parseStates(c.query.list("state")); err != nil {
		return nil, err
	}
	for _, order := range []braid.ListOrder{braid.ByEnqueuedAt, braid.ByRunAt, braid.ByFinishedAt} {
		if order.String() == c.query.text("orderBy") {
			filter.OrderBy = order
		}
	}
	page, err := c.client.List(c.ctx, filter)
	if err != nil {
		return nil, err
	}
	reply := JobPage{Jobs: make([]*Job, len(page.Jobs)), Cursor: page.Cursor}
	for i, info := range page.Jobs {
		reply.Jobs[i] = c.h.job(info)
	}
	return reply, nil
}

// parseStates reads names of states. Nil, which means any, stays nil; an empty list,
// which means none, stays empty.
func parseStates(names []string) ([]braid.State, error) {
	if names == nil {
		return nil, nil
	}
	parsed := make([]braid.State, 0, len(names))
	for _, name := range names {
		var state braid.State
		if err := state.UnmarshalText([]byte(name)); err != nil {
			return nil, err
		}
		parsed = append(parsed, state)
	}
	return parsed, nil
}

func listAttempts(c *call) (any, error) {
	if _, err := c.client.Get(c.ctx, c.path("id")); err != nil {
		return nil, err
	}
	infos, err := c.client.Attempts(c.ctx, c.path("id"))
	if err != nil {
		return nil, err
	}
	reply := Attempts{Attempts: make([]Attempt, len(infos))}
	for i, info := range infos {
		reply.Attempts[i] = c.h.attempt(info)
	}
	return reply, nil
}

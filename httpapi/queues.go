package httpapi

import (
	"context"
	"slices"

	"github.com/braidmq/braid"
)

// Queue is a queue with its numbers of jobs.
type Queue struct {
	Name   string       `json:"name"`
	Paused bool         `json:"paused"`
	Counts braid.Counts `json:"counts"`
}

// Queues are all queues that hold jobs or are paused, sorted by name.
type Queues struct {
	Queues []Queue      `json:"queues"`
	Total  braid.Counts `json:"total" doc:"Of the whole store."`
}

func queueEndpoints() []*endpoint {
	return []*endpoint{
		{method: get, path: "queues", role: RoleRead, tag: "queues", summary: "List the queues with their numbers of jobs",
			reply: Queues{}, serve: func(c *call) (any, error) { return readQueues(c.ctx, c.client) }},
		{method: get, path: "queues/{queue}", role: RoleRead, tag: "queues", summary: "Get a queue; one that nobody has used is empty",
			reply: Queue{}, serve: readQueue},
		{method: post, path: "queues/{queue}/pause", role: RoleOperate, tag: "queues", summary: "Keep the jobs of a queue from being started",
			reply: Queue{}, serve: func(c *call) (any, error) {
				if err := c.client.Pause(c.ctx, c.path("queue")); err != nil {
					return nil, err
				}
				return readQueue(c)
			}},
		{method: post, path: "queues/{queue}/resume", role: RoleOperate, tag: "queues", summary: "End the pause of a queue",
			reply: Queue{}, serve: func(c *call) (any, error) {
				if err := c.client.Resume(c.ctx, c.path("queue")); err != nil {
					return nil, err
				}
				return readQueue(c)
			}},
	}
}

func readQueue(c *call) (any, error) {
	name := c.path("queue")
	counts, err := c.client.Counts(c.ctx, name)
	if err != nil {
		return nil, err
	}
	paused, err := c.client.PausedQueues(c.ctx)
	if err != nil {
		return nil, err
	}
	return Queue{Name: name, Paused: slices.Contains(paused, name), Counts: counts}, nil
}

// readQueues reads all queues, at a constant cost for each.
func readQueues(ctx context.Context, client *braid.Client) (Queues, error) {
	names, err := client.Queues(ctx)
	if err != nil {
		return Queues{}, err
	}
	paused, err := client.PausedQueues(ctx)
	if err != nil {
		return Queues{}, err
	}
	reply := Queues{Queues: make([]Queue, len(names))}
	for i, name := range names {
		counts, err := client.Counts(ctx, name)
		if err != nil {
			return Queues{}, err
		}
		_, isPaused := slices.BinarySearch(paused, name)
		reply.Queues[i] = Queue{Name: name, Paused: isPaused, Counts: counts}
	}
	reply.Total, err = client.Counts(ctx, "")
	return reply, err
}

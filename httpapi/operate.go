package httpapi

import (
	"context"
	"net/http"

	"github.com/braidmq/braid"
)

// StateReply tells what an operation made of a job.
type StateReply struct {
	ID    string      `json:"id"`
	State braid.State `json:"state" doc:"After the operation. Active after a cancel: the worker was asked to end it."`
}

// Removed tells whether something was removed.
type Removed struct {
	Removed bool `json:"removed"`
}

// BatchRequest says which jobs to act on: either ids, or a filter.
type BatchRequest struct {
	IDs    []string `json:"ids,omitempty"`
	Filter *Filter  `json:"filter,omitempty" doc:"All jobs that it selects, oldest first, limit of them per call."`
	DryRun bool     `json:"dryRun,omitempty" doc:"With a filter: only count."`
	Cursor string   `json:"cursor,omitempty" doc:"With a filter: of the call before, to go on."`
	Limit  int      `json:"limit,omitempty" doc:"With a filter: the most jobs of this call; 1,000 without it, at most 10,000."`
}

// Filter selects jobs. At least one part is needed.
type Filter struct {
	Queue    string            `json:"queue,omitempty"`
	Name     string            `json:"name,omitempty"`
	States   []string          `json:"states,omitempty" doc:"Without it: those that the operation applies to. Remove takes finished jobs only, unless they are named here." enum:"waiting,delayed,active,waiting-children,completed,failed,cancelled"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// BatchReply is what became of the jobs.
type BatchReply struct {
	Results []BatchResult `json:"results,omitempty" doc:"With ids: one per id. With a filter: up to 100 of those that were refused."`
	Matched int           `json:"matched" doc:"How many jobs were looked at."`
	Changed int           `json:"changed" doc:"How many of them changed, or would."`
	Cursor  string        `json:"cursor,omitempty" doc:"Set if more are left, or may be left: repeat the request with it."`
}

// BatchResult is what became of one job.
type BatchResult struct {
	ID    string `json:"id"`
	State string `json:"state,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// KeyRequest names the holder of a dedup key.
type KeyRequest struct {
	Name string `json:"name" doc:"The job's name."`
	Key  string `json:"key"`
}

// Cancelled tells whether a job was cancelled.
type Cancelled struct {
	Cancelled bool `json:"cancelled"`
}

type batchVerb = func(*braid.Client, context.Context, ...string) ([]braid.OperateResult, error)

func operateEndpoints() []*endpoint {
	var all []*endpoint
	for _, verb := range []struct {
		action  braid.BulkAction
		one     string
		many    string
		operate batchVerb
	}{
		{braid.BulkRetry, "Make a failed job wait again, with a fresh budget of attempts", "Retry many failed jobs", (*braid.Client).RetryMany},
		{braid.BulkCancel, "Cancel a job that has not finished", "Cancel many jobs", (*braid.Client).CancelMany},
		{braid.BulkPromote, "Make a delayed job run now", "Promote many delayed jobs", (*braid.Client).PromoteMany},
	} {
		all = append(all,
			&endpoint{method: post, path: "jobs/{id}/" + string(verb.action), role: RoleOperate, tag: "operate", summary: verb.one,
				reply: StateReply{}, serve: operateOne(verb.operate)},
			&endpoint{method: post, path: "jobs/" + string(verb.action), role: RoleOperate, tag: "operate", summary: verb.many,
				body: BatchRequest{}, reply: BatchReply{}, serve: withBody(operateMany(verb.action, verb.operate))})
	}
	return append(all,
		&endpoint{method: remove, path: "jobs/{id}", role: RoleOperate, tag: "operate", summary: "Remove a job that neither runs nor waits for its children",
			reply: Removed{}, serve: removeJob},
		&endpoint{method: post, path: "jobs/remove", role: RoleOperate, tag: "operate", summary: "Remove many jobs",
			body: BatchRequest{}, reply: BatchReply{}, serve: withBody(operateMany(braid.BulkRemove, removeMany))},
		&endpoint{method: post, path: "jobs/cancel-by-key", role: RoleOperate, tag: "operate", summary: "Cancel the pending job that holds a dedup key",
			body: KeyRequest{}, reply: Cancelled{}, serve: withBody(func(c *call, body *KeyRequest) (any, error) {
				done, err := c.client.CancelByKey(c.ctx, body.Name, body.Key)
				return Cancelled{done}, named(err, "", keyFields)
			})},
	)
}

func operateOne(operate batchVerb) func(*call) (any, error) {
	return func(c *call) (any, error) {
		results, err := operate(c.client, c.ctx, c.path("id"))
		if err == nil {
			err = results[0].Err
		}
		if err != nil {
			return nil, err
		}
		return StateReply{ID: results[0].ID, State: results[0].State}, nil
	}
}

func removeJob(c *call) (any, error) {
	id := c.path("id")
	removed, err := c.client.Remove(c.ctx, id)
	if err != nil || removed {
		return Removed{removed}, err
	}
	info, err := c.client.Get(c.ctx, id)
	if err != nil {
		return nil, err
	}
	return nil, &Error{Status: http.StatusConflict, Code: CodeConflict, State: info.State.String(),
		Message: "the job is " + info.State.String() + "; cancel it first"}
}

// removeMany answers like the other verbs.
func removeMany(client *braid.Client, ctx context.Context, ids ...string) ([]braid.OperateResult, error) {
	removed, err := client.RemoveMany(ctx, ids...)
	results := make([]braid.OperateResult, len(removed))
	for i, done := range removed {
		results[i].ID = ids[i]
		if !done {
			results[i].Err = errNotRemoved
		}
	}
	return results, err
}

var errNotRemoved = &Error{Status: http.StatusConflict, Code: CodeConflict,
	Message: "the job runs, waits for its children, or is not there"}

func operateMany(action braid.BulkAction, operate batchVerb) func(*call, *BatchRequest) (any, error) {
	return func(c *call, body *BatchRequest) (any, error) {
		if (body.IDs == nil) == (body.Filter == nil) {
			return nil, invalid("ids", "and filter cannot both be given, or both be missing; give one of them")
		}
		if body.Filter != nil {
			return bulk(c, action, body)
		}
		if len(body.IDs) == 0 || len(body.IDs) > c.h.limits.Batch {
			return nil, invalid("ids", "has %d items; use 1 to %d", len(body.IDs), c.h.limits.Batch)
		}
		if body.DryRun || body.Cursor != "" || body.Limit != 0 {
			return nil, invalid("ids", "cannot go with dryRun, cursor or limit; those are for a filter")
		}
		results, err := operate(c.client, c.ctx, body.IDs...)
		if err != nil {
			return nil, err
		}
		reply := BatchReply{Results: batchResults(results), Matched: len(results)}
		for _, result := range results {
			if result.Err == nil {
				reply.Changed++
			}
		}
		return reply, nil
	}
}

func bulk(c *call, action braid.BulkAction, body *BatchRequest) (any, error) {
	request := braid.BulkRequest{
		Action: action, Queue: body.Filter.Queue, Name: body.Filter.Name, Metadata: body.Filter.Metadata,
		DryRun: body.DryRun, Cursor: body.Cursor, Limit: body.Limit,
	}
	var err error
	if request.States, err = parseStates(body.Filter.States); err != nil {
		return nil, named(err, "", fieldNames{"state": "filter.states"})
	}
	result, err := c.client.Bulk(c.ctx, request)
	if err != nil {
		return nil, named(err, "", filterFields)
	}
	return BatchReply{Matched: result.Matched, Changed: result.Changed, Cursor: result.Cursor, Results: batchResults(result.Refused)}, nil
}

func batchResults(results []braid.OperateResult) []BatchResult {
	replies := make([]BatchResult, len(results))
	for i, result := range results {
		replies[i].ID = result.ID
		if result.State.Valid() {
			replies[i].State = result.State.String()
		}
		if result.Err != nil {
			replies[i].Error = errorOf(result.Err)
		}
	}
	return replies
}

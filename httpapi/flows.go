package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/braidmq/braid"
)

// FlowTree is a flow's parent with its children, and theirs where they are flows
// themselves.
type FlowTree struct {
	Job      *Job        `json:"job" doc:"The parent."`
	Children []FlowChild `json:"children" doc:"In the byte order of their keys."`
	Cursor   string      `json:"cursor,omitempty" doc:"Set if the parent has more children: repeat the request with it."`
}

// FlowChild is a child of a flow: what the flow knows of it, and its job.
type FlowChild struct {
	Key          string          `json:"key"`
	Name         string          `json:"name" doc:"Of its job."`
	Store        string          `json:"store" doc:"Where it lives."`
	JobID        string          `json:"jobId"`
	Status       string          `json:"status" enum:"pending,completed,failed,cancelled" doc:"As the flow knows it."`
	State        string          `json:"state,omitempty" doc:"Of its job; absent if that is not stored yet, or no more, or its store is not reached from here."`
	Result       json.RawMessage `json:"result,omitempty"`
	Redacted     bool            `json:"redacted,omitempty" doc:"The server hides payloads and results."`
	Error        *RunError       `json:"error,omitempty"`
	Flow         *FlowProgress   `json:"flow,omitempty" doc:"If it is a flow that has handed out its children."`
	Children     []FlowChild     `json:"children,omitempty" doc:"Its own children, the first of them."`
	MoreChildren bool            `json:"moreChildren,omitempty" doc:"It has more children than are shown: ask for its own tree."`
}

const (
	defaultFlowPage = 100
	nestedFlowPage  = 20
	mostFlowNodes   = 1000 // of one tree
)

func flowEndpoints() []*endpoint {
	return []*endpoint{
		{method: get, path: "flows/{id}", role: RoleRead, heavy: true, tag: "flows", summary: "Get a flow as a tree, up to 1,000 jobs of it", query: []param{
			{"depth", numParam, "How many levels of children; 3 without it, at most 8.", nil},
			{"limit", numParam, "The most children of the parent; 100 without it, at most 1,000. Of each nested flow the first 20 are shown.", nil},
			{"cursor", textParam, "The cursor of the page before.", nil},
		}, reply: FlowTree{}, serve: flowTree},
	}
}

func flowTree(c *call) (any, error) {
	depth, err := c.query.number("depth", 3, 1, 8)
	if err != nil {
		return nil, err
	}
	limit, err := c.query.number("limit", defaultFlowPage, 1, mostFlowNodes)
	if err != nil {
		return nil, err
	}
	info, err := c.client.Get(c.ctx, c.path("id"))
	if err != nil {
		return nil, err
	}
	walk := &flowWalk{h: c.h, nodes: mostFlowNodes}
	children, cursor, err := walk.children(c.ctx, c.client, info.ID, c.query.text("cursor"), limit, depth)
	if err != nil {
		return nil, err
	}
	return FlowTree{Job: c.h.job(info), Children: children, Cursor: cursor}, nil
}

// flowWalk builds one tree. It reads a page of rows per flow, and a batch of jobs per
// store and page.
type flowWalk struct {
	h     *Handler
	nodes int // that it may still add
}

func (w *flowWalk) children(ctx context.Context, client *braid.Client, id, cursor string, limit, depth int) ([]FlowChild, string, error) {
	page, err := client.ListChildren(ctx, id, cursor, min(limit, max(w.nodes, 1)))
	if err != nil {
		return nil, "", err
	}
	w.nodes -= len(page.Children)
	children := make([]FlowChild, len(page.Children))
	byStore := map[string][]int{}
	for i, info := range page.Children {
		children[i] = w.child(info)
		byStore[info.Store] = append(byStore[info.Store], i)
	}
	for store, positions := range byStore {
		if !slices.Contains(client.Stores(), store) {
			continue
		}
		if err := w.addJobs(ctx, client.On(store), children, positions, depth); err != nil {
			return nil, "", err
		}
	}
	return children, page.Cursor, nil
}

func (w *flowWalk) child(info braid.ChildInfo) FlowChild {
	child := FlowChild{Key: info.Key, Name: info.Name, Store: info.Store, JobID: info.JobID, Status: info.Status.String()}
	var failed *braid.JobError
	switch {
	case errors.As(info.Err(), &failed):
		child.Error = runError(failed)
	case len(info.Exit) > 0 && w.h.redact:
		child.Redacted = true
	default:
		child.Result = shown(info.Exit)
	}
	return child
}

// addJobs adds what the jobs of one store tell, and the children of those that are
// flows.
func (w *flowWalk) addJobs(ctx context.Context, client *braid.Client, children []FlowChild, positions []int, depth int) error {
	ids := make([]string, len(positions))
	for n, i := range positions {
		ids[n] = children[i].JobID
	}
	infos, err := client.GetMany(ctx, ids...)
	if err != nil {
		return err
	}
	for n, i := range positions {
		if infos[n] == nil {
			continue
		}
		child := &children[i]
		child.State = infos[n].State.String()
		if child.Flow = w.h.job(infos[n]).Flow; child.Flow == nil {
			continue
		}
		if depth <= 1 || w.nodes <= 0 {
			child.MoreChildren = infos[n].Flow.Total() > 0
			continue
		}
		nested, more, err := w.children(ctx, client, child.JobID, "", nestedFlowPage, depth-1)
		if err != nil {
			return err
		}
		child.Children, child.MoreChildren = nested, more != ""
	}
	return nil
}

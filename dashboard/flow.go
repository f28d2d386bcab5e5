package dashboard

import (
	"context"
	"errors"
	"slices"

	"github.com/braidmq/braid"
)

// flowData is what the page of a flow shows.
type flowData struct {
	Job      *braid.JobInfo
	Progress *progress
	Children []flowNode
	Next     string // the address of the next children
	First    string // of the first, from a page further on
}

// flowNode is a child of a flow.
type flowNode struct {
	Key, Name, JobID, Store string
	Elsewhere               bool // its store is not one of the dashboard's
	Status                  braid.ChildStatus
	State                   string // of its job; empty if that is not there
	Error                   string
	Progress                *progress // of a flow
	Children                []flowNode
	More                    bool // it has more children than are shown
}

const (
	flowPage   = 100 // children of the parent
	nestedPage = 20  // of each flow among them
	flowDepth  = 3
	flowNodes  = 500 // of one page
)

func flow(c *call) (*page, error) {
	info, err := c.client.Get(c.ctx, c.query.Get("id"))
	if err != nil {
		return nil, err
	}
	data := flowData{Job: info, Progress: progressOf(info.Flow)}
	cursor := c.query.Get("cursor")
	walk := &flowWalk{left: flowNodes}
	var next string
	if data.Children, next, err = walk.children(c.ctx, c.client, info.ID, cursor, flowPage, flowDepth); err != nil {
		return nil, err
	}
	if next != "" {
		data.Next = c.link("/flow", "id", info.ID, "cursor", next)
	}
	if cursor != "" {
		data.First = c.link("/flow", "id", info.ID)
	}
	return &page{name: "flow", Title: "Flow " + shown(info.ID), Tab: "jobs", Data: data}, nil
}

// flowWalk builds one tree: a page of rows per flow, and a batch of jobs per store and
// page.
type flowWalk struct {
	left int // how many nodes it may still add
}

func (w *flowWalk) children(ctx context.Context, client *braid.Client, id, cursor string, limit, depth int) ([]flowNode, string, error) {
	rows, err := client.ListChildren(ctx, id, cursor, min(limit, max(w.left, 1)))
	if err != nil {
		return nil, "", err
	}
	w.left -= len(rows.Children)
	nodes := make([]flowNode, len(rows.Children))
	byStore := map[string][]int{}
	for i, row := range rows.Children {
		nodes[i] = flowNode{Key: row.Key, Name: row.Name, JobID: row.JobID, Store: row.Store, Status: row.Status}
		var failed *braid.JobError
		if errors.As(row.Err(), &failed) {
			nodes[i].Error = failed.Message
		}
		if nodes[i].Elsewhere = !slices.Contains(client.Stores(), row.Store); !nodes[i].Elsewhere {
			byStore[row.Store] = append(byStore[row.Store], i)
		}
	}
	for store, positions := range byStore {
		if err := w.addJobs(ctx, client.On(store), nodes, positions, depth); err != nil {
			return nil, "", err
		}
	}
	return nodes, rows.Cursor, nil
}

// addJobs adds what the jobs of one store tell, and the children of those that are
// flows.
func (w *flowWalk) addJobs(ctx context.Context, client *braid.Client, nodes []flowNode, positions []int, depth int) error {
	ids := make([]string, len(positions))
	for n, i := range positions {
		ids[n] = nodes[i].JobID
	}
	infos, err := client.GetMany(ctx, ids...)
	if err != nil {
		return err
	}
	for n, i := range positions {
		if infos[n] == nil {
			continue
		}
		node := &nodes[i]
		node.State, node.Progress = infos[n].State.String(), progressOf(infos[n].Flow)
		if node.Progress == nil {
			continue
		}
		if depth <= 1 || w.left <= 0 {
			node.More = node.Progress.Total() > 0
			continue
		}
		nested, more, err := w.children(ctx, client, node.JobID, "", nestedPage, depth-1)
		if err != nil {
			return err
		}
		node.Children, node.More = nested, more != ""
	}
	return nil
}

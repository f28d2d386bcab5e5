// Package flowtree tells how a flow stands, as a tree: its states and counts, which
// children failed and with what, and what it is still waiting for and why.
package flowtree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/internal/plural"
)

// Node is a job of the tree.
type Node struct {
	Key     string              `json:"key,omitempty"` // a child's, in its flow
	ID      string              `json:"id"`
	Name    string              `json:"name"`
	Store   string              `json:"store,omitempty"`   // a child's
	Outcome string              `json:"outcome,omitempty"` // a child's, as its parent knows it
	State   string              `json:"state,omitempty"`   // of the job; empty: it is not there, or its store is not known
	Flow    *braid.FlowProgress `json:"flow,omitempty"`    // of a flow that has handed out its children
	Error   string              `json:"error,omitempty"`   // of a failed job
	Waits   string              `json:"waits,omitempty"`   // why a child is pending
	// Children are those that failed, are pending, or are flows, in the order of their
	// keys. More counts the ones that were left out, by outcome.
	Children []*Node        `json:"children,omitempty"`
	More     map[string]int `json:"more,omitempty"`
}

// Options bounds what is read and shown.
type Options struct {
	// Each is how many failed, and how many pending, children of a flow are in the tree,
	// and how many flows among the others. 0 is 20.
	Each int
}

// Read reads the flow of a job id. The client's stores are where its children are
// looked for, by the names that the workers gave them.
func Read(ctx context.Context, client *braid.Client, id string, options Options) (*Node, error) {
	if options.Each == 0 {
		options.Each = 20
	}
	r := reader{client: client, options: options}
	job, err := client.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	node := &Node{ID: job.ID, Name: job.Name}
	return node, r.describe(ctx, client, node, job)
}

type reader struct {
	client  *braid.Client
	options Options
}

// describe fills in what the job says, and its children.
func (r *reader) describe(ctx context.Context, client *braid.Client, node *Node, job *braid.JobInfo) error {
	node.State, node.Flow = job.State.String(), job.Flow
	var failed *braid.JobError
	if errors.As(job.Err(), &failed) {
		node.Error = failed.Message
	}
	if job.Flow == nil {
		return nil
	}
	taken := make(map[string]int)
	for cursor := ""; ; {
		page, err := client.Children(ctx, node.ID, cursor)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(page.Children, 250) {
			if err := r.children(ctx, node, some, taken); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == "" {
			return nil
		}
	}
}

// children adds some of a flow's children.
func (r *reader) children(ctx context.Context, parent *Node, page []braid.ChildInfo, taken map[string]int) error {
	jobs, err := r.jobs(ctx, page)
	if err != nil {
		return err
	}
	for _, child := range page {
		job := jobs[child.JobID]
		outcome, kind := child.Status.String(), child.Status.String()
		if job != nil && job.Flow != nil {
			kind = "flow"
		}
		if kind == "completed" || kind == "cancelled" || taken[kind] == r.options.Each {
			if parent.More == nil {
				parent.More = make(map[string]int)
			}
			parent.More[outcome]++
			continue
		}
		taken[kind]++
		node := &Node{Key: child.Key, ID: child.JobID, Name: child.Name, Store: child.Store, Outcome: outcome}
		parent.Children = append(parent.Children, node)
		if job != nil {
			if err := r.describe(ctx, r.client.On(child.Store), node, job); err != nil {
				return err
			}
		}
		var failed *braid.JobError
		if errors.As(child.Err(), &failed) {
			node.Error = failed.Message
		}
		if child.Status == braid.ChildPending {
			if node.Waits, err = r.waits(ctx, child, job); err != nil {
				return err
			}
		}
	}
	return nil
}

// jobs returns the jobs of children, by id, as far as their stores are known.
func (r *reader) jobs(ctx context.Context, page []braid.ChildInfo) (map[string]*braid.JobInfo, error) {
	byStore := make(map[string][]string)
	for _, child := range page {
		if r.knows(child.Store) {
			byStore[child.Store] = append(byStore[child.Store], child.JobID)
		}
	}
	found := make(map[string]*braid.JobInfo, len(page))
	for store, ids := range byStore {
		jobs, err := r.client.On(store).GetMany(ctx, ids...)
		if err != nil {
			return nil, fmt.Errorf("braid: children in store %q: %w", store, err)
		}
		for _, job := range jobs {
			if job != nil {
				found[job.ID] = job
			}
		}
	}
	return found, nil
}

func (r *reader) knows(store string) bool { return slices.Contains(r.client.Stores(), store) }

// waits says why a child is pending.
func (r *reader) waits(ctx context.Context, child braid.ChildInfo, job *braid.JobInfo) (string, error) {
	switch {
	case !r.knows(child.Store):
		return fmt.Sprintf("its job is in store %q, which is not known here", child.Store), nil
	case job == nil:
		return "it is not enqueued yet, or its outcome is on its way; the next flow sweep sees to it", nil
	}
	switch job.State {
	case braid.Waiting:
		return r.waitsInQueue(ctx, child.Store, job)
	case braid.Delayed:
		text := "delayed until " + job.RunAt.Format(time.RFC3339)
		if job.AttemptsMade > 0 {
			text += fmt.Sprintf(", after %d of %s", job.AttemptsMade, plural.Of(job.AttemptsMax, "attempt", "attempts"))
		}
		return text, nil
	case braid.Active:
		return fmt.Sprintf("running on %s since %s", job.LockedBy, job.ProcessedAt.Format(time.RFC3339)), nil
	case braid.WaitingChildren:
		return "waiting for its own children", nil
	}
	return "it has ended, and its outcome is on its way", nil
}

func (r *reader) waitsInQueue(ctx context.Context, store string, job *braid.JobInfo) (string, error) {
	client := r.client.On(store)
	paused, err := client.PausedQueues(ctx)
	if err != nil {
		return "", err
	}
	if slices.Contains(paused, job.Queue) {
		return fmt.Sprintf("in queue %q, which is paused", job.Queue), nil
	}
	ahead, _, err := client.Position(ctx, job.ID)
	if err != nil && !errors.Is(err, braid.ErrNotFound) {
		return "", err
	}
	return fmt.Sprintf("in queue %q, %d ahead", job.Queue, ahead), nil
}

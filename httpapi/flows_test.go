package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

func TestAFlowIsShownAsATree(t *testing.T) {
	b := newBench(t)
	leaf := braid.NewJob[int, int]("leaf", braid.Queue("leaves"))
	far := braid.NewJob[int, int]("far", braid.Queue("leaves"), braid.OnStore("other"))
	inner := braid.NewFlow("inner", braid.NewJob[int, int]("inner", braid.Queue("flows")), braid.Children(leaf))
	outer := braid.NewFlow("outer", braid.NewJob[int, int]("outer", braid.Queue("flows")), braid.Children(leaf, far, inner))
	worker := braid.NewWorker(b.client, braid.WorkerOptions{Queues: map[string]int{"flows": 2}})
	collect := func(_ context.Context, n int, _ *braid.Results) (int, error) { return n, nil }
	inner.Handle(worker, func(_ context.Context, n int, out *braid.FanOut) error {
		for i := range 25 {
			leaf.Child(out, fmt.Sprintf("leaf%02d", i), i)
		}
		return nil
	}, collect)
	outer.Handle(worker, func(_ context.Context, n int, out *braid.FanOut) error {
		leaf.Child(out, "a", 1)
		far.Child(out, "b", 2)
		inner.Child(out, "c", 3)
		return nil
	}, collect)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	h, err := outer.Enqueue(t.Context(), b.client, 0)
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/flows/" + url.PathEscape(h.ID)
	var tree FlowTree
	deadline := time.Now().Add(15 * time.Second)
	for time.Now().Before(deadline) {
		tree = FlowTree{}
		b.do("GET", path, nil).ok(&tree)
		if tree.Job.Flow != nil && tree.Job.State == braid.WaitingChildren && len(tree.Children) == 3 && len(tree.Children[2].Children) == 20 && tree.Children[1].State != "" &&
			tree.Children[2].Flow.Pending == 25 && tree.Children[2].State == "waiting-children" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if tree.Job.State != braid.WaitingChildren || tree.Job.Flow.Pending != 3 || len(tree.Children) != 3 {
		t.Fatalf("tree %+v", tree)
	}
	if c := tree.Children[2]; c.Key != "c" || c.Flow == nil || c.Flow.Pending != 25 || len(c.Children) != 20 || !c.MoreChildren || c.Children[0].Key != "leaf00" {
		t.Errorf("the inner flow %+v", c)
	}
	if c := tree.Children[1]; c.Store != "other" || c.State != "waiting" || c.Status != "pending" {
		t.Errorf("the child in another store %+v", c)
	}
	b.do("GET", path+"?depth=1&limit=2", nil).ok(&tree)
	if len(tree.Children) != 2 || tree.Cursor == "" {
		t.Errorf("the first page %+v", tree)
	}
	var rest FlowTree
	b.do("GET", path+"?depth=1&limit=2&cursor="+url.QueryEscape(tree.Cursor), nil).ok(&rest)
	if len(rest.Children) != 1 || !rest.Children[0].MoreChildren || rest.Children[0].Children != nil || rest.Cursor != "" {
		t.Errorf("the second page %+v", rest)
	}
	b.do("GET", "/api/v1/flows/none", nil).refused(http.StatusNotFound, CodeNotFound, "")
	b.do("GET", path+"?depth=9", nil).refused(http.StatusBadRequest, CodeInvalid, "depth")
	b.do("GET", path+"?cursor=%00", nil).refused(http.StatusBadRequest, CodeInvalid, "cursor")

	// A child that a worker of another language settles counts like any other.
	for range 26 {
		job := b.claim(ClaimRequest{Queue: "leaves", Names: []string{"leaf"}, WaitMs: 10_000})[0]
		b.ack(Ack{ID: job.ID, Token: job.Token, Outcome: "completed"})
	}
	var reply Claimed
	b.do("POST", "/api/v1/work/claim?store=other", ClaimRequest{Queue: "leaves", Names: []string{"far"}, Worker: "w", WaitMs: 10_000}).ok(&reply)
	b.do("POST", "/api/v1/work/ack?store=other", AckRequest{[]Ack{{ID: reply.Jobs[0].ID, Token: reply.Jobs[0].Token, Outcome: "failed", NoRetry: true, Error: &RunError{Message: "far away"}}}}).ok(nil)
	for time.Now().Before(deadline) && b.get(h.ID).State != braid.Completed {
		time.Sleep(10 * time.Millisecond)
	}
	b.do("GET", path, nil).ok(&tree)
	if tree.Job.State != braid.Completed || tree.Children[1].Status != "failed" || tree.Children[1].Error.Message != "far away" {
		t.Errorf("in the end %+v", tree)
	}
}

package main

import (
	"fmt"
	"strconv"

	"github.com/braidmq/braid/driver"
)

// flows adds a large flow and many small ones, half of whose children have ended.
func (f *filler) flows() error {
	for i := range smallFlows {
		if _, err := f.flow("small-"+strconv.Itoa(i), 100); err != nil {
			return err
		}
	}
	id, err := f.flow("large", largeFlow)
	f.load.flow, f.load.byState[driver.WaitingChildren] = id, id
	return err
}

// flow parks a parent with its children, and ends half of them. They have a queue of their
// own, so that none of another flow is ended.
func (f *filler) flow(id string, children int) (string, error) {
	parent := driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: "newsletter", Queue: "news", AttemptsMax: 3, Payload: []byte(`{"issue":48}`)}}
	if _, err := f.store.Enqueue(f.ctx, f.now, []driver.EnqueueRequest{parent}); err != nil {
		return "", err
	}
	jobs, token, err := f.claim("news", []string{"newsletter"}, 1, lock)
	if err != nil || len(jobs) != 1 {
		return "", fmt.Errorf("the parent %s was not claimed: %w", id, err)
	}
	for first := 0; first < children; first += enqueueBatch {
		var staged []driver.StagedChild
		var requests []driver.EnqueueRequest
		for i := first; i < min(first+enqueueBatch, children); i++ {
			request := driver.EnqueueRequest{ID: driver.FlowIDPrefix + id + "/" + strconv.Itoa(i), Spec: driver.Spec{
				Name: "send-issue", Queue: "issues-" + id, AttemptsMax: 3, Payload: []byte(`{"to":"reader@example.com"}`),
				Parent: &driver.Envelope{FlowName: "newsletter", FlowID: id, Run: token, ChildKey: strconv.Itoa(i), ParentStoreKey: "default", Depth: 1},
			}}
			requests = append(requests, request)
			staged = append(staged, driver.StagedChild{ChildKey: request.Parent.ChildKey, StoreKey: "default", Request: request})
		}
		if err := f.store.StageChildren(f.ctx, id, token, staged); err != nil {
			return "", err
		}
		if _, err := f.store.Enqueue(f.ctx, f.now, requests); err != nil {
			return "", err
		}
	}
	if err := f.ack(f.now, []driver.Ack{{ID: id, Token: token, Kind: driver.AckFanOut, Children: int64(children)}}); err != nil {
		return "", err
	}
	return id, f.endChildren("issues-"+id, children/2)
}

// endChildren ends children that wait in a queue, and reports that to their parents.
func (f *filler) endChildren(queue string, n int) error {
	for n > 0 {
		jobs, token, err := f.claim(queue, []string{"send-issue"}, min(n, workBatch), lock)
		if err != nil || len(jobs) == 0 {
			return err
		}
		n -= len(jobs)
		f.now += 10 // not all end in one millisecond
		acks := make([]driver.Ack, len(jobs))
		for i, job := range jobs {
			acks[i] = driver.Ack{ID: job.ID, Token: token, Kind: driver.AckComplete, Exit: []byte(`{"sent":true}`)}
			if i%20 == 0 {
				acks[i].Kind, acks[i].Exit = driver.AckFail, []byte(`{"message":"550 5.1.1 mailbox does not exist"}`)
			}
		}
		if err := f.ack(f.now, acks); err != nil {
			return err
		}
		if err := f.report(); err != nil {
			return err
		}
	}
	return nil
}

// report brings outcomes to the parents.
func (f *filler) report() error {
	for {
		entries, err := f.store.PeekOutbox(f.ctx, f.now, driver.PeekRequest{Limit: workBatch})
		if err != nil || len(entries) == 0 {
			return err
		}
		reports, ids := make([]driver.ChildReport, len(entries)), make([]string, len(entries))
		for i, e := range entries {
			reports[i], ids[i] = e.Report, e.ID
		}
		if _, err := f.store.RecordChildResults(f.ctx, f.now, reports); err != nil {
			return err
		}
		if err := f.store.DeleteOutbox(f.ctx, ids); err != nil {
			return err
		}
	}
}

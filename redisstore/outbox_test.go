package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/memstore"
	"github.com/braidmq/braid/redisstore"
)

// outboxSide is a store whose outbox is compared with another's.
type outboxSide struct {
	driver.Store
	ids map[string]string // child's job id → entry's id
}

// peek returns a page without its ids, which it remembers.
func (s *outboxSide) peek(ctx context.Context, now driver.Time, req driver.PeekRequest) ([]driver.OutboxEntry, error) {
	page, err := s.PeekOutbox(ctx, now, req)
	for i := range page {
		s.ids[page[i].Report.ChildJobID] = page[i].ID
		page[i].ID = ""
	}
	return page, err
}

// TestBlocksOfTheOutboxAreReadAndDeletedInParts lets single calls report many children to
// several stores, and then peeks and deletes at random: a page and a delete end anywhere
// in what was written together.
func TestBlocksOfTheOutboxAreReadAndDeletedInParts(t *testing.T) {
	url := testserver.SharedRedis(t)
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			store, err := redisstore.Open(t.Context(), url, redisstore.WithPrefix(freshPrefix("blocks")), redisstore.WithLogger(quiet))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = store.Close() }()
			compareOutboxes(t, rand.New(rand.NewPCG(seed, 0)), store, memstore.New())
		})
	}
}

func compareOutboxes(t *testing.T, r *rand.Rand, stores ...driver.Store) {
	var sides []*outboxSide
	for _, store := range stores {
		sides = append(sides, &outboxSide{Store: store, ids: map[string]string{}})
	}
	// same fails the test unless both sides answer alike.
	same := func(what string, do func(s *outboxSide) (any, error)) any {
		t.Helper()
		var answers []any
		for _, s := range sides {
			answer, err := do(s)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			answers = append(answers, answer)
		}
		if !reflect.DeepEqual(answers[0], answers[1]) {
			t.Fatalf("%s:\n%v, want\n%v", what, answers[0], answers[1])
		}
		return answers[1]
	}
	var seen []string
	now := driver.Time(0)
	for step := range 80 {
		now += driver.Time(r.IntN(20))
		switch r.IntN(4) {
		case 0:
			ids, mixed := make([]string, 1+r.IntN(30)), r.IntN(3)+1
			batch := make([]driver.EnqueueRequest, len(ids))
			for i := range ids {
				ids[i] = fmt.Sprintf("child-%d-%d", step, i)
				batch[i] = driver.EnqueueRequest{ID: ids[i], Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1, Parent: &driver.Envelope{
					FlowName: "f", FlowID: "p", ChildKey: ids[i], ParentStoreKey: string(rune('a' + r.IntN(mixed))), Depth: 1}}}
			}
			same("ending children", func(s *outboxSide) (any, error) {
				if _, err := s.Enqueue(t.Context(), now, batch); err != nil {
					return nil, err
				}
				return s.Cancel(t.Context(), now, ids)
			})
		case 1, 2:
			req := driver.PeekRequest{Limit: 1 + r.IntN(40), Hold: driver.Millis(r.IntN(2) * r.IntN(100))}
			req.StoreKeys = [][]string{nil, {"a"}, {"b"}, {"c", "a"}, {"b", "b"}}[r.IntN(5)]
			behind := ""
			if len(seen) > 0 && r.IntN(3) == 0 {
				behind = seen[r.IntN(len(seen))]
			}
			page := same(fmt.Sprintf("step %d, peeking %+v behind %q at %d", step, req, behind, now), func(s *outboxSide) (any, error) {
				req := req
				req.After = s.ids[behind]
				return s.peek(t.Context(), now, req)
			})
			for _, entry := range page.([]driver.OutboxEntry) {
				seen = append(seen, entry.Report.ChildJobID)
			}
		case 3:
			if len(seen) == 0 {
				continue
			}
			from := r.IntN(len(seen))
			chosen := seen[from:min(from+r.IntN(50), len(seen))]
			if r.IntN(2) == 0 {
				chosen = []string{seen[from], seen[r.IntN(len(seen))], "none"}
			}
			same("deleting", func(s *outboxSide) (any, error) {
				ids := make([]string, len(chosen))
				for i, id := range chosen {
					ids[i] = s.ids[id]
				}
				return nil, s.DeleteOutbox(t.Context(), ids)
			})
		}
		same("the backlog", func(s *outboxSide) (any, error) { return s.OutboxBacklog(t.Context()) })
	}
}

func TestABadIDOfAnOutboxEntryIsRefused(t *testing.T) {
	store, err := redisstore.Open(t.Context(), testserver.SharedRedis(t), redisstore.WithLogger(quiet))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for _, after := range []string{"x", "1", "+000000000000001", "00000000000000001"} {
		_, err := store.PeekOutbox(t.Context(), 0, driver.PeekRequest{Limit: 1, After: after})
		if !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("a page behind %q: %v; want an InvalidError", after, err)
		}
	}
}

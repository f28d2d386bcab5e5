package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
)

// everyState fills a store with a job in each place that one can lie in.
func everyState(t *testing.T, store driver.Store) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	spec := func(name string) driver.Spec {
		return driver.Spec{Name: name, Queue: "q", AttemptsMax: 3, Priority: 2}
	}
	aged := spec("aged")
	aged.Keep = &driver.Keep{Completed: driver.Retention{Age: driver.Some(driver.Millis(900_000))}}
	_, err := store.Enqueue(ctx, 100, []driver.EnqueueRequest{
		{ID: "done", Spec: aged},
		{ID: "failed", Spec: spec("plain")},
		{ID: "active", Spec: spec("plain")},
	})
	must(err)
	claimed, err := store.Claim(ctx, 200, driver.ClaimRequest{Queue: "q", Names: []string{"aged", "plain"},
		Worker: "w", Token: "t", Limit: 3, LockDuration: 1_000_000_000})
	must(err)
	if len(claimed.Jobs) != 3 {
		t.Fatalf("claimed %d jobs, want 3", len(claimed.Jobs))
	}
	_, err = store.Ack(ctx, 300, []driver.Ack{{ID: "done", Token: "t", Kind: driver.AckComplete}, {ID: "failed", Token: "t", Kind: driver.AckFail}})
	must(err)
	_, err = store.Enqueue(ctx, 400, []driver.EnqueueRequest{
		{ID: "waiting", Spec: spec("plain"), Dedupe: &driver.Dedupe{Key: "k"}},
		{ID: "delayed", Spec: spec("plain"), Delay: 5_000_000_000, Dedupe: &driver.Dedupe{Key: "w", TTL: driver.Some(driver.Millis(9_000_000_000))}},
	})
	must(err)
}

// entries returns what the orders of a store hold: each sorted set's and set's members,
// and dedup keys.
func entries(t *testing.T, client *redis.Client, prefix string) map[string][]string {
	t.Helper()
	ctx := t.Context()
	found := map[string][]string{}
	keys, err := client.Keys(ctx, "{"+prefix+"}:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		short := strings.TrimPrefix(key, "{"+prefix+"}:")
		switch client.Type(ctx, key).Val() {
		case "zset":
			for _, z := range client.ZRangeWithScores(ctx, key, 0, -1).Val() {
				found[short] = append(found[short], fmt.Sprintf("%q %v", z.Member, z.Score))
			}
		case "set":
			found[short] = client.SMembers(ctx, key).Val()
			slices.Sort(found[short])
		case "string":
			if strings.HasPrefix(short, "u:") {
				found[short] = []string{client.Get(ctx, key).Val()}
			}
		}
	}
	return found
}

func TestEachLostEntryOfAJobIsEnteredAnew(t *testing.T) {
	url := testserver.Redis(t).URL()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	prefix := freshPrefix("")
	store := stores{url: url}.open(t, prefix)
	everyState(t, store)
	whole := entries(t, client, prefix)
	if len(whole) < 18 {
		t.Fatalf("the store has only the orders %v", whole)
	}
	for short := range whole {
		key := "{" + prefix + "}:" + short
		kind := client.Type(t.Context(), key).Val()
		members := []string{""}
		switch kind {
		case "zset":
			members = client.ZRange(t.Context(), key, 0, -1).Val()
		case "set":
			members = client.SMembers(t.Context(), key).Val()
		}
		for _, member := range members {
			if short == "u:5:plain:w" || short == "n:q" && member == "aged" {
				continue // the end of a window is told nowhere else; no aged job waits
			}
			t.Run(fmt.Sprintf("%s/%q", short, member), func(t *testing.T) {
				lose(t, client, kind, key, member)
				heal(t, store)
				for key, want := range whole {
					if got := entries(t, client, prefix)[key]; !slices.Equal(got, want) {
						t.Errorf("%s holds %q, want %q", key, got, want)
					}
				}
			})
		}
	}
}

func lose(t *testing.T, client *redis.Client, kind, key, member string) {
	t.Helper()
	var lost int64
	switch kind {
	case "zset":
		lost = client.ZRem(t.Context(), key, member).Val()
	case "set":
		lost = client.SRem(t.Context(), key, member).Val()
	default:
		lost = client.Del(t.Context(), key).Val()
	}
	if lost != 1 {
		t.Fatalf("%s has no %q to lose", key, member)
	}
}

// heal lets stall recoveries look at every record.
func heal(t *testing.T, store driver.Store) {
	t.Helper()
	for range 60 {
		if _, err := store.RecoverStalled(t.Context(), 1000, driver.RecoverRequest{MaxStalled: 1, Limit: 10}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEntriesWithoutAJobAreTakenOut(t *testing.T) {
	ctx := context.Background()
	url := testserver.SharedRedis(t)
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	prefix := freshPrefix("")
	store := stores{url: url}.open(t, prefix)
	everyState(t, store)
	_, err = store.Enqueue(ctx, 500, []driver.EnqueueRequest{{ID: "left", Spec: driver.Spec{Name: "plain", Queue: "q", AttemptsMax: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"done", "failed", "active", "waiting", "delayed"} {
		if client.Del(ctx, "{"+prefix+"}:h:"+id).Val() != 1 {
			t.Fatalf("there is no head of %q", id)
		}
	}
	const late = 20_000_000_000
	claimed, err := store.Claim(ctx, late, driver.ClaimRequest{Queue: "q", Names: []string{"plain", "aged"},
		Worker: "w", Token: "t2", Limit: 10, LockDuration: 1})
	if err != nil || len(claimed.Jobs) != 1 || claimed.Jobs[0].ID != "left" {
		t.Fatalf("claimed %v (%v), want the job that is left", claimed.Jobs, err)
	}
	if _, err := store.RecoverStalled(ctx, late, driver.RecoverRequest{MaxStalled: 1, Limit: 10}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.SweepHistory(ctx, late, 10); err != nil {
		t.Fatal(err)
	}
	for _, r := range []driver.ListRequest{{}, {Queue: "q"}, {Name: "plain"}, {Name: "aged"},
		{States: []driver.State{driver.Completed, driver.Failed}, OrderBy: driver.ByFinishedAt},
		{Queue: "q", States: []driver.State{driver.Delayed}, OrderBy: driver.ByRunAt}} {
		if _, err := store.List(ctx, r); err != nil {
			t.Errorf("List(%+v): %v", r, err)
		}
	}
	for key, members := range entries(t, client, prefix) {
		for _, member := range members {
			for _, id := range []string{"done", "failed", "active", "waiting", "delayed"} {
				if strings.Contains(member, id+`"`) && !strings.HasPrefix(key, "g:") {
					t.Errorf("%s still holds %s", key, member)
				}
			}
		}
	}
}

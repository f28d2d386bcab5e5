package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
)

// wakeCursor returns the point in the wakes at which a store is now.
func wakeCursor(t *testing.T, store driver.Store) driver.WakeCursor {
	t.Helper()
	result, err := store.Claim(t.Context(), 0, driver.ClaimRequest{Queue: "q", Worker: "w", Token: "none", Limit: 1, LockDuration: 1})
	if err != nil {
		t.Fatal(err)
	}
	return result.Cursor
}

func TestABurstOfEnqueuesIsNoBurstOfMessages(t *testing.T) {
	url, prefix := testserver.SharedRedis(t), freshPrefix("")
	store := stores{url: url}.open(t, prefix)
	client := clientOf(t, url)
	channel := "{" + prefix + "}:wake:q"
	subscription := client.Subscribe(t.Context(), channel)
	defer subscription.Close()
	if _, err := subscription.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}

	for round := range 2 {
		woken := make(chan error, 1)
		cursor := wakeCursor(t, store)
		go func() { woken <- store.(driver.Waker).AwaitWake(t.Context(), []string{"q"}, cursor) }()
		armed(t, prefix, url)
		for i := range 100 {
			enqueue(t, store, fmt.Sprintf("%d-%d", round, i))
		}
		select {
		case err := <-woken:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("nobody was woken")
		}
	}
	// What was published comes before this.
	if err := client.Publish(t.Context(), channel, "the end").Err(); err != nil {
		t.Fatal(err)
	}
	messages := 0
	for message := range subscription.Channel() {
		if message.Payload == "the end" {
			break
		}
		messages++
	}
	if messages != 2 {
		t.Errorf("200 enqueues published %d messages, want one per wait", messages)
	}
}

// armed returns when somebody waits for the queue q.
func armed(t *testing.T, prefix, url string) {
	t.Helper()
	client := clientOf(t, url)
	deadline := time.Now().Add(20 * time.Second)
	for !client.SIsMember(t.Context(), "{"+prefix+"}:armed", "q").Val() {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the queue")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestNoWakeIsLost lets waiters claim and wait in turn, as workers do, while another
// store enqueues one job at a time: each must be claimed before the next is enqueued.
func TestNoWakeIsLost(t *testing.T) {
	url, prefix := testserver.SharedRedis(t), freshPrefix("")
	producer, consumer := stores{url: url}.open(t, prefix), stores{url: url}.open(t, prefix)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	claimed := make(chan string)
	for worker := range 4 {
		go func() {
			for n := 0; ctx.Err() == nil; n++ {
				result, err := consumer.Claim(ctx, 0, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Worker: "w",
					Token: fmt.Sprintf("%d/%d", worker, n), Limit: 10, LockDuration: 1000})
				if err != nil {
					continue
				}
				for _, job := range result.Jobs {
					select {
					case claimed <- job.ID:
					case <-ctx.Done():
					}
				}
				if len(result.Jobs) == 0 {
					_ = consumer.(driver.Waker).AwaitWake(ctx, []string{"other", "q"}, result.Cursor)
				}
			}
		}()
	}
	for i := range 300 {
		id := fmt.Sprint("job-", i)
		enqueue(t, producer, id)
		select {
		case got := <-claimed:
			if got != id {
				t.Fatalf("claimed %s, want %s", got, id)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s is not claimed: its wake was lost", id)
		}
	}
}

func TestAWatchThatNobodyNeedsIsTakenBack(t *testing.T) {
	url, prefix := testserver.SharedRedis(t), freshPrefix("")
	store := stores{url: url}.open(t, prefix)
	client := clientOf(t, url)
	watched := "{" + prefix + "}:watched"
	enqueue(t, store, "a")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := store.(driver.FinishWatcher).WatchFinished(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if n := client.HLen(t.Context(), watched).Val(); n != 1 {
		t.Fatalf("%d watches are noted, want 1", n)
	}
	cancel()
	deadline := time.Now().Add(20 * time.Second)
	for client.HLen(t.Context(), watched).Val() != 0 {
		if time.Now().After(deadline) {
			t.Fatal("the watch is still noted")
		}
		time.Sleep(time.Millisecond)
	}
}

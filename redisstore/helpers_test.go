package redisstore_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
)

// quiet swallows the log.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// clientOf returns a client of a server, which the test closes.
func clientOf(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// enqueue inserts jobs named n into the queue q, at the time 0.
func enqueue(t *testing.T, store driver.Store, ids ...string) {
	t.Helper()
	batch := make([]driver.EnqueueRequest, len(ids))
	for i, id := range ids {
		batch[i] = driver.EnqueueRequest{ID: id, Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1}}
	}
	if _, err := store.Enqueue(t.Context(), 0, batch); err != nil {
		t.Fatal(err)
	}
}

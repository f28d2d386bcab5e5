package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

// BenchmarkLife takes jobs through their lives, in batches of each size, and reports
// what the server spends in the scripts, and the whole time, per job and step.
func BenchmarkLife(b *testing.B) {
	for _, size := range []int{1, 10, 50, 250} {
		b.Run(fmt.Sprintf("Batch%d", size), func(b *testing.B) { benchmarkLife(b, size) })
	}
}

func benchmarkLife(b *testing.B, size int) {
	server := testserver.Redis(b)
	ctx := context.Background()
	store, err := redisstore.Open(ctx, server.URL(), redisstore.WithLogger(quiet))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()

	jobs := max(b.N/size, 1) * size
	now := driver.Time(1_700_000_000_000)
	phase := func(name string, step func() error) {
		before, start := scriptTime(b, client), time.Now()
		for n := 0; n < jobs; n += size {
			if err := step(); err != nil {
				b.Fatal(err)
			}
		}
		took, spent := time.Since(start), scriptTime(b, client)-before
		b.ReportMetric(float64(spent.Nanoseconds())/1000/float64(jobs), "µs-"+name)
		b.ReportMetric(float64(took.Nanoseconds())/1000/float64(jobs), "wall-µs-"+name)
	}

	batch := make([]driver.EnqueueRequest, size)
	for i := range batch {
		batch[i].Spec = driver.Spec{Name: "bench", Queue: "bench", AttemptsMax: 25,
			Payload: []byte(`"0123456789abcdefghijklmnopqrstuvwxy"`)}
	}
	acks := make([]driver.Ack, 0, jobs)
	claims := 0
	b.ResetTimer()
	phase("enqueue", func() error {
		_, err := store.Enqueue(ctx, now, batch)
		return err
	})
	phase("claim", func() error {
		claims++
		token := fmt.Sprintf("0123456789abcdef-%d", claims)
		result, err := store.Claim(ctx, now, driver.ClaimRequest{Queue: "bench", Names: []string{"bench"},
			Worker: "host-12345-abcdef", Token: token, Limit: size, LockDuration: 30_000})
		for _, job := range result.Jobs {
			acks = append(acks, driver.Ack{ID: job.ID, Token: token, Kind: driver.AckComplete, Exit: []byte("null")})
		}
		return err
	})
	if len(acks) != jobs {
		b.Fatalf("%d jobs were claimed of %d", len(acks), jobs)
	}
	phase("ack", func() error {
		_, err := store.Ack(ctx, now, acks[:size])
		acks = acks[size:]
		return err
	})
}

// scriptTime returns how long the server has been in scripts.
func scriptTime(b *testing.B, client *redis.Client) time.Duration {
	b.Helper()
	info, err := client.Info(context.Background(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(info, "cmdstat_evalsha:")
	_, after, _ = strings.Cut(after, "usec=")
	text, _, _ := strings.Cut(after, ",")
	spent, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(spent) * time.Microsecond
}

package redisstore_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

func TestRedisStoreConformsOnACluster(t *testing.T) {
	t.Parallel()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: testserver.NewRedisCluster(t, 3).Addrs(), MaxRetries: -1})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	open := func(t drivertest.TB, prefix string, o drivertest.StoreOptions) driver.Store {
		opts := []redisstore.Option{redisstore.WithPrefix(prefix), redisstore.WithLogger(quiet)}
		if ceiling, ok := o.HistoryCeiling.Get(); ok {
			opts = append(opts, redisstore.WithHistoryCeiling(ceiling))
		}
		if o.IDGenerator != nil {
			opts = append(opts, redisstore.WithIDGenerator(o.IDGenerator))
		}
		if o.WithoutStats {
			opts = append(opts, redisstore.WithoutStats())
		}
		store, err := redisstore.New(context.Background(), client, opts...)
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return namedStore{store, prefix}
	}
	drivertest.Run(t, drivertest.Harness{
		Open: func(t drivertest.TB, o drivertest.StoreOptions) driver.Store { return open(t, freshPrefix(""), o) },
		Reopen: func(t drivertest.TB, store driver.Store) driver.Store {
			return open(t, store.(namedStore).prefix, drivertest.StoreOptions{})
		},
		// Beyond what it must, the store serves lists that match nothing.
		Lists:  func(r driver.ListRequest) bool { return r.States != nil && len(r.States) == 0 },
		Remote: true,
	})
}

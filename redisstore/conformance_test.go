package redisstore_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testserver.Main(m)) }

// prefixes numbers the prefixes of the tests, so that stores share nothing.
var prefixes atomic.Int64

// freshPrefix returns a prefix that nothing uses, which ends with suffix.
func freshPrefix(suffix string) string {
	return fmt.Sprintf("test-%d-%d%s", time.Now().UnixNano(), prefixes.Add(1), suffix)
}

// stores opens stores on the shared server.
type stores struct {
	url    string
	suffix string
	opts   []redisstore.Option
}

// namedStore is a store that knows its prefix, for Reopen.
type namedStore struct {
	*redisstore.Store
	prefix string
}

func (s stores) open(t drivertest.TB, prefix string, opts ...redisstore.Option) driver.Store {
	t.Helper()
	opts = append(append([]redisstore.Option{redisstore.WithPrefix(prefix), redisstore.WithLogger(quiet)}, s.opts...), opts...)
	store, err := redisstore.Open(context.Background(), s.url, opts...)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return namedStore{store, prefix}
}

// harness tells the suite how to use these stores.
func (s stores) harness() drivertest.Harness {
	return drivertest.Harness{
		Open: func(t drivertest.TB, o drivertest.StoreOptions) driver.Store {
			var opts []redisstore.Option
			if ceiling, ok := o.HistoryCeiling.Get(); ok {
				opts = append(opts, redisstore.WithHistoryCeiling(ceiling))
			}
			if o.IDGenerator != nil {
				opts = append(opts, redisstore.WithIDGenerator(o.IDGenerator))
			}
			if o.WithoutStats {
				opts = append(opts, redisstore.WithoutStats())
			}
			return s.open(t, freshPrefix(s.suffix), opts...)
		},
		Reopen: func(t drivertest.TB, store driver.Store) driver.Store {
			return s.open(t, store.(namedStore).prefix)
		},
		// Beyond what it must, the store serves lists that match nothing.
		Lists:  func(r driver.ListRequest) bool { return r.States != nil && len(r.States) == 0 },
		Remote: true,
		DropConnections: func(t drivertest.TB, _ driver.Store) {
			killConnections(t, s.url)
		},
	}
}

// killConnections ends all connections of a server but its own.
func killConnections(t drivertest.TB, url string) {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("%v", err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	for _, kind := range []string{"pubsub", "normal"} {
		if err := client.ClientKillByFilter(context.Background(), "TYPE", kind, "SKIPME", "yes").Err(); err != nil {
			t.Fatalf("CLIENT KILL TYPE %s: %v", kind, err)
		}
	}
}

// serverOfItsOwn returns the URL of a server that the test has for itself, and lets it run
// beside others. If the environment names a server, they take turns there.
func serverOfItsOwn(t *testing.T) string {
	t.Helper()
	if os.Getenv("BRAID_TEST_REDIS_URL") != "" {
		return testserver.SharedRedis(t)
	}
	t.Parallel()
	return testserver.Redis(t).URL()
}

func TestRedisStoreConforms(t *testing.T) {
	drivertest.Run(t, stores{url: serverOfItsOwn(t)}.harness())
}

func TestRedisStoreConformsWithoutListIndexes(t *testing.T) {
	for _, off := range []struct {
		name          string
		names, queues bool
	}{{"Names", true, false}, {"Queues", false, true}, {"Both", true, true}} {
		t.Run(off.name, func(t *testing.T) {
			s := stores{url: serverOfItsOwn(t)}
			if off.names {
				s.opts = append(s.opts, redisstore.WithoutNameIndex())
			}
			if off.queues {
				s.opts = append(s.opts, redisstore.WithoutQueueIndex())
			}
			h := s.harness()
			h.NameIndexOff, h.QueueIndexOff = off.names, off.queues
			drivertest.Run(t, h)
		})
	}
}

func TestRedisStoreConformsWithAnOddPrefix(t *testing.T) {
	drivertest.Run(t, stores{url: serverOfItsOwn(t), suffix: ` */[a-z]?\"'%s:ключ🙂`}.harness())
}

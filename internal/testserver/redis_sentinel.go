package testserver

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// sentinelTimeout is how long a sentinel may take to find the replicas.
const sentinelTimeout = 30 * time.Second

// Sentinel starts a sentinel that ends with the test. It watches a primary under a name,
// knows its replicas, which must be in step, and fails over, alone, when the primary has
// not answered for 2.5 s: a server that was only slow on a busy machine must not be taken
// for dead.
func Sentinel(t testing.TB, name string, primary *RedisServer, replicas int) *RedisServer {
	t.Helper()
	skipIfAsked(t, "redis")
	program, err := find("redis", "redis-server", "valkey-server")
	if err != nil {
		t.Fatal(err)
	}
	// A sentinel keeps what it learns in its file, so that it needs one.
	config := fmt.Sprintf(`bind 127.0.0.1
logfile redis.log
sentinel monitor %[1]s 127.0.0.1 %[2]d 1
sentinel down-after-milliseconds %[1]s 2500
sentinel failover-timeout %[1]s 10000
sentinel parallel-syncs %[1]s %[3]d
`, name, primary.port, replicas)
	s, err := startRedis(program, config, []string{"--sentinel"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the sentinel's log:\n%s", s.log())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	deadline := time.Now().Add(sentinelTimeout)
	for {
		found, err := s.Do("SENTINEL", "REPLICAS", name)
		if err == nil && strings.Count(found, "master-link-status\nok") == replicas {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sentinel does not find %d replicas within %v: %v\n%s", replicas, sentinelTimeout, err, found)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

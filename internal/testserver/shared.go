package testserver

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// redisVariable and postgresVariable are the URLs of running servers for [SharedRedis]
// and [SharedPostgres] to use.
const (
	redisVariable    = "BRAID_TEST_REDIS_URL"
	postgresVariable = "BRAID_TEST_PG_URL"
)

var shared struct {
	sync.Mutex
	redis          *RedisServer
	failed         error
	postgres       *PostgresServer
	postgresFailed error
}

// SharedRedis returns the URL of a server, without persistence, that the tests of one
// package share: the one of BRAID_TEST_REDIS_URL, or one that the first caller starts.
// Tests keep apart by prefix, and delete nothing that is not theirs. TestMain ends it:
// see [Main].
func SharedRedis(t testing.TB) string {
	t.Helper()
	skipIfAsked(t, "redis")
	if url := os.Getenv(redisVariable); url != "" {
		return url
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.redis == nil && shared.failed == nil {
		shared.redis, shared.failed = StartRedis()
	}
	if shared.failed != nil {
		t.Fatal(shared.failed)
	}
	return shared.redis.URL()
}

// SharedPostgres returns the URL of a server that the tests of one package share: the one
// of BRAID_TEST_PG_URL, or one that the first caller starts. Tests keep apart by schema,
// and delete nothing that is not theirs. TestMain ends it: see [Main].
func SharedPostgres(t testing.TB) string {
	t.Helper()
	skipIfAsked(t, "postgres")
	url, err := SharedPostgresURL()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// SharedPostgresURL is [SharedPostgres] for examples, which have no test at hand.
func SharedPostgresURL() (string, error) {
	if url := os.Getenv(postgresVariable); url != "" {
		return url, nil
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.postgres == nil && shared.postgresFailed == nil {
		shared.postgres, shared.postgresFailed = StartPostgres()
	}
	if shared.postgresFailed != nil {
		return "", shared.postgresFailed
	}
	return shared.postgres.URL(), nil
}

// Main runs a package's tests and then ends the servers that they shared. It stands
// where a *testing.M would:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(testserver.Main(m)) }
func Main(m *testing.M) interface{ Run() int } { return run{m} }

type run struct{ m *testing.M }

// Run runs the tests and returns the exit code.
func (r run) Run() int {
	code := r.m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "braid: testserver:", err)
		return max(code, 1)
	}
	return code
}

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	var failed error
	if shared.redis != nil {
		failed = shared.redis.Close()
		shared.redis = nil
	}
	if shared.postgres != nil {
		failed = errors.Join(failed, shared.postgres.Close())
		shared.postgres = nil
	}
	return failed
}

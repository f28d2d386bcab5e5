package flowtest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

var prefixes atomic.Int64

// emptyRedis returns the address of a part of the server that nothing uses.
func emptyRedis(t testing.TB) string {
	return fmt.Sprintf("%s flow-%d-%d", testserver.SharedRedis(t), time.Now().UnixNano(), prefixes.Add(1))
}

func openRedis(address string) (driver.Store, error) {
	url, prefix, _ := strings.Cut(address, " ")
	return redisstore.Open(context.Background(), url, redisstore.WithPrefix(prefix), redisstore.WithLogger(slog.New(slog.DiscardHandler)))
}

func redis(t testing.TB) driver.Store {
	store, err := openRedis(emptyRedis(t))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestFlowsInRedis(t *testing.T)          { Run(t, Pair{Parents: redis}) }
func TestFlowsInMemoryAndRedis(t *testing.T) { Run(t, Pair{Parents: memory, Children: redis}) }
func TestFlowsOfKilledProcesses(t *testing.T) {
	RunProcesses(t, Shared{Parents: emptyRedis, Children: emptyRedis, Open: openRedis})
}

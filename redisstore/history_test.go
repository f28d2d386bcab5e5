package redisstore_test

import (
	"testing"

	"github.com/braidmq/braid/drivertest"
	"github.com/braidmq/braid/internal/testserver"
)

func TestHistoriesAgreeWithTheMemoryStore(t *testing.T) {
	h := stores{url: testserver.SharedRedis(t)}.harness()
	drivertest.RunHistories(t, h, drivertest.HistoryOptions{Seeds: 200, Steps: 500, FirstSeed: 1000, CheckEvery: 250})
}

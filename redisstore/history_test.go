package redisstore_test

import (
	"fmt"
	"testing"

	"github.com/braidmq/braid/drivertest"
)

func TestHistoriesAgreeWithTheMemoryStore(t *testing.T) {
	const parts, seeds = 4, 50
	for part := range parts {
		first := uint64(1000 + part*seeds)
		t.Run(fmt.Sprintf("From%d", first), func(t *testing.T) {
			h := stores{url: serverOfItsOwn(t)}.harness()
			drivertest.RunHistories(t, h, drivertest.HistoryOptions{Seeds: seeds, Steps: 500, FirstSeed: first, CheckEvery: 250})
		})
	}
}

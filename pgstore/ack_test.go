package pgstore

import (
	"sync"
	"testing"

	"github.com/braidmq/braid/driver"
)

// A heartbeat rewrites the row that an ack has just looked up. The lock is held all the
// while, so the ack is good.
func TestAcksAreGoodWhileHeartbeatsRewriteTheirRows(t *testing.T) {
	const jobs, batch = 2000, 20
	_, n := connectToTables(t)
	s := openOn(t, n, nil)
	acks := startRuns(t, s, 1, "q", jobs)
	locks := make([]driver.Lock, jobs)
	for i, a := range acks {
		locks[i] = driver.Lock{ID: a.ID, Token: a.Token}
	}
	done := make(chan struct{})
	var beating sync.WaitGroup
	for range 2 {
		beating.Go(func() {
			for now := driver.Time(2); ; now++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.Heartbeat(t.Context(), now, locks, 60_000); err != nil {
					t.Errorf("Heartbeat: %v", err)
					return
				}
			}
		})
	}
	for from := 0; from < jobs; from += batch {
		results, err := s.Ack(t.Context(), 2, acks[from:from+batch])
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range results {
			if result.Err != nil || result.State != driver.Completed {
				t.Errorf("ack %d: %v, %v", from+i, result.State, result.Err)
			}
		}
	}
	close(done)
	beating.Wait()
}

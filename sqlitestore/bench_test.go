package sqlitestore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

func openForBenchmark(b *testing.B) *sqlitestore.Store {
	b.Helper()
	s, err := sqlitestore.Open(filepath.Join(b.TempDir(), "jobs.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// One job per call, from 20 goroutines.
func BenchmarkEnqueueOneByOne(b *testing.B) {
	s := openForBenchmark(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var producing sync.WaitGroup
	for range 20 {
		producing.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := s.Enqueue(context.Background(), 1, []driver.EnqueueRequest{job("")}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	producing.Wait()
}

func batch(n int) []driver.EnqueueRequest {
	batch := make([]driver.EnqueueRequest, n)
	for i := range batch {
		batch[i] = job("")
	}
	return batch
}

// A time is that of one job in a batch of 100.
func BenchmarkEnqueueBatch(b *testing.B) {
	s := openForBenchmark(b)
	for n := 0; b.Loop(); n++ {
		if n%100 == 0 {
			if _, err := s.Enqueue(b.Context(), 1, batch(100)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A time is that of one job in claims and acks of 50.
func BenchmarkClaimAndAck(b *testing.B) {
	for _, kept := range []bool{true, false} {
		b.Run(fmt.Sprintf("kept=%v", kept), func(b *testing.B) {
			s := openForBenchmark(b)
			reqs := batch(b.N)
			if !kept {
				for i := range reqs {
					reqs[i].Keep = &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}}
				}
			}
			if _, err := s.Enqueue(b.Context(), 1, reqs); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for n := 0; n < b.N; {
				token := fmt.Sprint(n)
				claimed, err := s.Claim(b.Context(), 2, driver.ClaimRequest{Queue: "q", Names: []string{"work"}, Worker: "w", Token: token, Limit: 50, LockDuration: 1000})
				if err != nil {
					b.Fatal(err)
				}
				acks := make([]driver.Ack, len(claimed.Jobs))
				for i, job := range claimed.Jobs {
					acks[i] = driver.Ack{ID: job.ID, Token: token, Kind: driver.AckComplete, Exit: []byte(`{"ok":true}`)}
				}
				if _, err := s.Ack(b.Context(), 3, acks); err != nil {
					b.Fatal(err)
				}
				n += len(acks)
			}
		})
	}
}

package memstore

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/braidmq/braid/driver"
)

var payload = []byte(`{"to":"someone@example.org","n":12345}`)

// clock makes up a time at which 500 jobs a millisecond go by.
type clock struct{ jobs int64 }

func (c *clock) pass(jobs int) driver.Time {
	c.jobs += int64(jobs)
	return driver.Time(1_700_000_000_000 + c.jobs/500)
}

func benchBatch(size int, keep *driver.Keep) []driver.EnqueueRequest {
	batch := make([]driver.EnqueueRequest, size)
	for i := range batch {
		batch[i].Spec = driver.Spec{Name: "bench", Queue: "bench", Payload: payload, AttemptsMax: 3, Keep: keep}
	}
	return batch
}

// fill enqueues so many jobs.
func fill(b *testing.B, s *Store, c *clock, jobs int, keep *driver.Keep) {
	batch := benchBatch(250, keep)
	for done := 0; done < jobs; done += len(batch) {
		if _, err := s.Enqueue(b.Context(), c.pass(len(batch)), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// warm makes the runtime own memory enough for a million jobs, so that no benchmark
// measures how the system hands out fresh pages.
func warm(b *testing.B) {
	fill(b, New(), &clock{}, 1_500_000, nil)
	runtime.GC()
}

func reportRate(b *testing.B, jobs int) {
	b.ReportMetric(float64(jobs)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkEnqueue enqueues in batches into a store that holds up to a million
// jobs; then it goes on with an empty one.
func BenchmarkEnqueue(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			warm(b)
			s, c := New(), &clock{}
			batch := benchBatch(size, nil)
			for b.Loop() {
				if len(s.jobs) >= 1_000_000 {
					b.StopTimer()
					s = New()
					b.StartTimer()
				}
				if _, err := s.Enqueue(b.Context(), c.pass(size), batch); err != nil {
					b.Fatal(err)
				}
			}
			reportRate(b, b.N*size)
		})
	}
}

// BenchmarkClaimAck works jobs off by fifties in a store of a million: waiting ones
// to begin with, enqueued again when half of them are done.
func BenchmarkClaimAck(b *testing.B) {
	const million, size = 1_000_000, 50
	none := driver.Retention{Count: driver.Some(int64(0))}
	for name, keep := range map[string]*driver.Keep{"keep=all": nil, "keep=0": {Completed: none}} {
		b.Run(name, func(b *testing.B) {
			warm(b)
			s, c := New(), &clock{}
			fill(b, s, c, million, keep)
			acks := make([]driver.Ack, 0, size)
			for b.Loop() {
				if s.counts[driver.Waiting] < million/2 {
					b.StopTimer()
					s = New()
					fill(b, s, c, million, keep)
					b.StartTimer()
				}
				claimAndAck(b, b.Context(), s, c, acks, size)
			}
			reportRate(b, b.N*size)
		})
	}
}

func claimAndAck(b *testing.B, ctx context.Context, s *Store, c *clock, acks []driver.Ack, size int) {
	now := c.pass(size)
	claimed, err := s.Claim(ctx, now, driver.ClaimRequest{
		Queue: "bench", Names: []string{"bench"}, Worker: "w", Token: "t", Limit: size, LockDuration: 30_000,
	})
	if err != nil || len(claimed.Jobs) != size {
		b.Fatalf("claimed %d jobs, %v", len(claimed.Jobs), err)
	}
	for _, job := range claimed.Jobs {
		acks = append(acks, driver.Ack{ID: job.ID, Token: "t", Kind: driver.AckComplete, Exit: payload})
	}
	if _, err := s.Ack(ctx, now, acks); err != nil {
		b.Fatal(err)
	}
}

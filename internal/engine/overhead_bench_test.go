package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// endless is a store that always has jobs and does no work: what is left is the
// engine's own cost.
type endless struct {
	driver.Store
	job   *driver.Job
	acked atomic.Int64
	done  func(acked int64)
}

func (s *endless) Claim(_ context.Context, _ driver.Time, req driver.ClaimRequest) (driver.ClaimResult, error) {
	jobs := make([]*driver.Job, req.Limit)
	for i := range jobs {
		jobs[i] = s.job
	}
	return driver.ClaimResult{Jobs: jobs}, nil
}

func (s *endless) Ack(_ context.Context, _ driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	results := make([]driver.AckResult, len(batch))
	for i := range results {
		results[i].State = driver.Completed
	}
	s.done(s.acked.Add(int64(len(batch))))
	return results, nil
}

func (s *endless) Heartbeat(context.Context, driver.Time, []driver.Lock, driver.Millis) (driver.HeartbeatResult, error) {
	return driver.HeartbeatResult{}, nil
}

// BenchmarkEngineOverhead is the engine's own cost of a job.
func BenchmarkEngineOverhead(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	store := &endless{
		job: &driver.Job{ID: "j-1", Spec: driver.Spec{Name: "noop", Queue: "q", AttemptsMax: 1}, State: driver.Active},
		done: func(acked int64) {
			if acked >= int64(b.N) {
				cancel()
			}
		},
	}
	e, err := New(Config{
		Store: store, Queues: []Queue{{"q", 100}}, LockDuration: time.Hour,
		Handlers: map[string]Handler{"noop": {Run: noop}}, Observer: countingObserver{},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := e.Run(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

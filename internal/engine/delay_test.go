package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// startOf is when a delayed job was due, and when it started.
type startOf struct {
	due driver.Time
	at  time.Time
}

// check fails unless the job started when it was due. The bound is far below the
// poll interval of a minute, also on a busy machine.
func (s startOf) check(t *testing.T) {
	t.Helper()
	if late := s.at.Sub(s.due.Std()); late < 0 || late > 3*time.Second {
		t.Errorf("a job started %v after it was due", late)
	}
}

// Each queue has one delayed job at a time, so that nobody else's wake makes up for
// one that is missed.
func TestNoneOfManyShortDelaysWaitsForAPoll(t *testing.T) {
	const queues, rounds = 16, 250
	starts := map[string]chan startOf{}
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		starts[run.Job.Queue] <- startOf{run.Job.RunAt, time.Now()}
		return nil, nil
	}, longLock, func(c *Config) {
		c.PollInterval, c.Queues = time.Minute, nil
		for i := range queues {
			name := fmt.Sprint("q", i)
			starts[name] = make(chan startOf, 1)
			c.Queues = append(c.Queues, Queue{name, 1})
		}
	})
	r.start()
	keepNone := &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(0))}}
	var producers sync.WaitGroup
	for name, started := range starts {
		producers.Go(func() {
			for range rounds {
				_, err := r.memory.Enqueue(context.Background(), now(), []driver.EnqueueRequest{{
					Spec:  driver.Spec{Name: "job", Queue: name, AttemptsMax: 1, Keep: keepNone},
					Delay: driver.Millis(1 + rand.N(3)),
				}})
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case s := <-started:
					s.check(t)
				case <-time.After(patience):
					t.Errorf("a job of queue %s was not started", name)
					return
				}
			}
		})
	}
	producers.Wait()
}

func TestManyDelayedJobsOfOneQueueStartWhenTheyAreDue(t *testing.T) {
	const jobs = 5000
	starts := make(chan startOf, jobs)
	r := newRig(t, func(_ context.Context, run *Run) ([]byte, error) {
		starts <- startOf{run.Job.RunAt, time.Now()}
		return nil, nil
	}, longLock, func(c *Config) { c.PollInterval = time.Minute })
	r.start()
	next := 0
	r.enqueue(jobs, func(q *driver.EnqueueRequest) { // the last one is due first
		q.Delay = driver.Millis(200 + (jobs-next)/5)
		next++
	})
	for range jobs {
		receive(t, starts, "a delayed job's start").check(t)
	}
}

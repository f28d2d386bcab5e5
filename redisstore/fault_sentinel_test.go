package redisstore_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
	"github.com/braidmq/braid/redisstore"
)

// What is promised of a failover that nobody planned: jobs go on by themselves, and what
// the replicas had before, be it an enqueue or an end, stands.
func TestASentinelsFailoverLosesNothingThatTheReplicasHad(t *testing.T) {
	// A primary without a replica refuses writes, so that one that is cut off does not
	// take jobs that nobody else will ever know of.
	settings := []testserver.RedisOption{
		testserver.Directive("min-replicas-to-write", "1"), testserver.Directive("min-replicas-max-lag", "10"),
	}
	primary := testserver.Redis(t, settings...)
	replicas := []*testserver.RedisServer{
		testserver.Redis(t, append(settings, testserver.ReplicaOf(primary))...),
		testserver.Redis(t, append(settings, testserver.ReplicaOf(primary))...),
	}
	sentinel := testserver.Sentinel(t, "braid", primary, len(replicas))
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "braid", SentinelAddrs: []string{sentinel.Addr()},
		MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: time.Second,
	})
	p := newPlantOn(t, primary, longLock, func(logger redisstore.Option) (*redisstore.Store, error) {
		return redisstore.New(t.Context(), client, logger)
	})
	t.Cleanup(func() { _ = client.Close() })

	p.fill(faultJobs / 2)
	p.work(20, 2*time.Millisecond)
	p.await("a part of the jobs has run", func() bool { return p.runs() > faultJobs/8 })
	ended := p.ended()
	// Any replica may be promoted, so all of them must have it.
	var needed atomic.Int32
	needed.Store(int32(len(replicas)))
	p.await("the replicas have what was done", func() bool { return replicated(t.Context(), client, needed.Load()) })
	produced := p.produceReplicated(client, &needed, faultJobs/2, faultJobs)

	killed := time.Now()
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	p.await("a replica is the primary", func() bool {
		return slices.ContainsFunc(replicas, func(s *testserver.RedisServer) bool {
			info, err := s.Info("replication")
			return err == nil && info["role"] == "master"
		})
	})
	needed.Add(-1)
	t.Logf("a replica is the primary after %v", time.Since(killed))
	produced()
	p.recoverStalled()
	p.await("every job is completed", func() bool {
		counts, err := p.client.Counts(context.Background(), faultQueue)
		return err == nil && counts == driver.Counts{Completed: faultJobs}
	})
	t.Logf("every job is completed after %v", time.Since(killed))

	p.mu.Lock()
	defer p.mu.Unlock()
	for n := range faultJobs {
		if len(p.starts[n]) == 0 {
			t.Errorf("job %d is completed, but did not run", n)
		}
	}
	for _, n := range ended {
		if runs := len(p.starts[n]); runs != 1 {
			t.Errorf("job %d had ended, which a replica knew, and ran %d times", n, runs)
		}
	}
	if len(ended) == 0 {
		t.Error("no job had ended before the crash")
	}
}

// replicated waits until so many replicas have all that the server did for anybody so far:
// the stream of changes is one, so it is enough that a mark has arrived. WAIT goes by what
// its own connection has written.
func replicated(ctx context.Context, client *redis.Client, replicas int32) bool {
	var arrived *redis.Cmd
	_, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "mark", time.Now().UnixNano(), 0)
		arrived = pipe.Do(ctx, "WAIT", replicas, 1000)
		return nil
	})
	n, waitErr := arrived.Int64()
	return err == nil && waitErr == nil && n >= int64(replicas)
}

// produceReplicated enqueues jobs as a program would that must not lose one in a
// failover: each until it is stored and so many replicas have it. The jobs have ids, so one that
// is there already is not made again.
func (p *plant) produceReplicated(client *redis.Client, replicas *atomic.Int32, first, end int) (wait func()) {
	var producing sync.WaitGroup
	producing.Go(func() {
		deadline := time.Now().Add(faultWait)
		for n := first; n < end; {
			_, err := faultJob.Enqueue(context.Background(), p.client, n)
			switch {
			case err == nil && replicated(context.Background(), client, replicas.Load()):
				n++
			case err != nil && !driver.Retryable(err):
				p.Errorf("enqueue: not retryable: %v", err)
				return
			case time.Now().After(deadline):
				p.Errorf("enqueue of job %d: %v", n, err)
				return
			}
		}
	})
	p.Cleanup(producing.Wait)
	return producing.Wait
}

// ended returns the jobs that are completed.
func (p *plant) ended() []int {
	p.Helper()
	var ended []int
	for cursor := ""; ; {
		page, err := p.client.List(p.Context(), braid.ListFilter{Queue: faultQueue, States: []braid.State{braid.Completed}, Limit: 1000, Cursor: cursor})
		if err != nil {
			p.Fatal(err)
		}
		for _, job := range page.Jobs {
			n, err := strconv.Atoi(strings.TrimPrefix(job.ID, "job-"))
			if err != nil {
				p.Fatal(err)
			}
			ended = append(ended, n)
		}
		if cursor = page.Cursor; cursor == "" {
			return ended
		}
	}
}

package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

// contending is a store in which somebody has some jobs locked.
type contending struct {
	driver.Store
	mu     sync.Mutex
	locked map[string]bool
	met    int // results and heartbeats that it put off
}

func (s *contending) AckGrouped(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]driver.AckResult, len(batch))
	for i := range batch {
		if s.locked[batch[i].ID] {
			s.met++
			results[i].Err = &driver.StoreError{Op: "Ack", Err: driver.ErrContended, Retryable: true}
			continue
		}
		one, err := s.Ack(ctx, now, batch[i:i+1])
		if err != nil {
			return nil, err
		}
		results[i] = one[0]
	}
	return results, nil
}

func (s *contending) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, d driver.Millis) (driver.HeartbeatResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var result driver.HeartbeatResult
	var free []driver.Lock
	for _, lock := range locks {
		if s.locked[lock.ID] {
			s.met++
			result.Contended = append(result.Contended, lock.ID)
		} else {
			free = append(free, lock)
		}
	}
	extended, err := s.Store.Heartbeat(ctx, now, free, d)
	result.Lost, result.CancelRequested = extended.Lost, extended.CancelRequested
	return result, err
}

func (s *contending) lock(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked[id] = true
}

func (s *contending) unlock(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.locked, id)
}

func (s *contending) putOff() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}

func TestAResultThatIsContendedLandsLaterAndHoldsUpNoOther(t *testing.T) {
	var store *contending
	r := newRig(t, func(context.Context, *Run) ([]byte, error) { return []byte(`1`), nil }, func(c *Config) {
		store = &contending{Store: c.Store, locked: map[string]bool{}}
		c.Store = store
	})
	locked := r.enqueue(1)
	store.lock(locked)
	var others []string
	for n := range 20 {
		others = append(others, r.enqueue(2+n))
	}
	r.start()
	eventually(t, "the result is put off twice", func() bool { return store.putOff() > 1 })
	for _, id := range others {
		r.await(id, driver.Completed)
	}
	if job := r.job(locked); job.State != driver.Active {
		t.Errorf("the locked job is %v", job.State)
	}
	store.unlock(locked)
	r.await(locked, driver.Completed)
}

func TestAHeartbeatThatIsContendedComesAgainSoon(t *testing.T) {
	contexts := make(chan context.Context, 1)
	finish := make(chan struct{})
	var store *contending
	r := newRig(t, watched(contexts, finish), func(c *Config) {
		c.LockDuration = 2 * time.Second
		store = &contending{Store: c.Store, locked: map[string]bool{}}
		c.Store = store
	})
	id := r.enqueue(1)
	store.lock(id)
	r.start()
	ctx := receive(t, contexts, "the run")
	r.engine.beatNow()
	eventually(t, "the heartbeat is put off twice", func() bool { return store.putOff() > 1 })
	before := r.job(id).LockExpiresAt
	store.unlock(id)
	eventually(t, "the lock is extended", func() bool { return r.job(id).LockExpiresAt != before })
	if ctx.Err() != nil {
		t.Errorf("the run's context says %v", context.Cause(ctx))
	}
	close(finish)
	r.await(id, driver.Completed)
}

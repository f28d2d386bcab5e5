package maintain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// spyStore counts calls, and lets a test answer some of them.
type spyStore struct {
	driver.Store
	mu      sync.Mutex
	calls   map[string]int
	stalls  func(ctx context.Context, req driver.RecoverRequest) (driver.RecoverResult, error)
	history func(ctx context.Context, limit int) (driver.SweepResult, error)
	tick    func(ctx context.Context, req driver.TickRequest) (bool, error)
	due     func(ctx context.Context) error
}

func newSpy() *spyStore { return &spyStore{Store: memstore.New(), calls: map[string]int{}} }

func (s *spyStore) count(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[name]++
}

// take returns the counts so far and begins anew.
func (s *spyStore) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = map[string]int{}
	return calls
}

func (s *spyStore) RecoverStalled(ctx context.Context, now driver.Time, req driver.RecoverRequest) (driver.RecoverResult, error) {
	s.count(LoopStalls)
	if s.stalls != nil {
		return s.stalls(ctx, req)
	}
	return s.Store.RecoverStalled(ctx, now, req)
}

func (s *spyStore) SweepHistory(ctx context.Context, now driver.Time, limit int) (driver.SweepResult, error) {
	s.count(LoopHistory)
	if s.history != nil {
		return s.history(ctx, limit)
	}
	return driver.SweepResult{}, nil
}

func (s *spyStore) SweepDedupe(context.Context, driver.Time, int) (driver.SweepResult, error) {
	s.count(LoopDedupe)
	return driver.SweepResult{}, nil
}

func (s *spyStore) SweepFlows(context.Context, driver.Time, int) (driver.SweepResult, error) {
	s.count(LoopFlows)
	return driver.SweepResult{}, nil
}

func (s *spyStore) DueSchedules(ctx context.Context, now driver.Time, after driver.Opt[driver.ScheduleCursor], limit int) ([]driver.Schedule, error) {
	s.count(LoopSchedules)
	if s.due != nil {
		if err := s.due(ctx); err != nil {
			return nil, err
		}
	}
	return s.Store.DueSchedules(ctx, now, after, limit)
}

func (s *spyStore) Tick(ctx context.Context, now driver.Time, req driver.TickRequest) (bool, error) {
	s.count("tick")
	if s.tick != nil {
		if done, err := s.tick(ctx, req); err != nil || done {
			return false, err
		}
	}
	return s.Store.Tick(ctx, now, req)
}

func TestIdleUpkeepCostsOneCallPerLoopAndInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpy()
		m := New(Config{Store: spy, Now: storeTime})
		start(t, m.Run)
		pass(time.Minute)
		spy.take()
		pass(time.Hour)
		calls := spy.take()
		for name, bounds := range map[string][2]int{
			LoopStalls: {120, 134}, LoopSchedules: {4800, 5400}, LoopHistory: {60, 67}, LoopDedupe: {60, 67}, LoopFlows: {120, 134},
		} {
			if n := calls[name]; n < bounds[0]-1 || n > bounds[1]+1 {
				t.Errorf("%s: %d calls in an hour, want %d to %d", name, n, bounds[0], bounds[1])
			}
			delete(calls, name)
		}
		if len(calls) > 0 {
			t.Errorf("other calls: %v", calls)
		}
	})
}

func TestStallSweepRecoversInPagesAndTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		ctx := t.Context()
		var batch []driver.EnqueueRequest
		for i := range 5 {
			batch = append(batch, driver.EnqueueRequest{ID: fmt.Sprint("job-", i),
				Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1}})
		}
		if _, err := store.Enqueue(ctx, storeTime(), batch); err != nil {
			t.Fatal(err)
		}
		claim := func(token string) {
			t.Helper()
			result, err := store.Claim(ctx, storeTime(), driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Worker: "w",
				Token: token, Limit: 10, LockDuration: 1000})
			if err != nil || len(result.Jobs) != 5 {
				t.Fatalf("claimed %d jobs, %v", len(result.Jobs), err)
			}
		}
		seen := &recorder{}
		var told []driver.Recovered
		m := New(Config{Store: store, Now: storeTime, MaxStalled: 1, Observer: seen,
			OnRecovered: func(jobs []driver.Recovered) { told = append(told, jobs...) }})
		m.pageSize = 2
		stop := start(t, m.Run)
		claim("first")
		pass(35 * time.Second)
		if seen.look().recovered != 5 || seen.look().failed != 0 {
			t.Fatalf("after the first stall: %d recovered, %d failed", seen.look().recovered, seen.look().failed)
		}
		claim("second")
		pass(35 * time.Second)
		stop()
		if seen.look().recovered != 5 || seen.look().failed != 5 || len(told) != 10 {
			t.Errorf("after the second stall: %d recovered, %d failed, %d told", seen.look().recovered, seen.look().failed, len(told))
		}
		if told[0].ID != "job-0" || told[0].Failed || !told[9].Failed {
			t.Errorf("told %+v", told)
		}
	})
}

func TestSweepGoesOnUntilNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 1000
		spy := newSpy()
		spy.history = func(_ context.Context, limit int) (driver.SweepResult, error) {
			n := min(left, limit)
			left -= n
			return driver.SweepResult{Deleted: n, More: left > 0}, nil
		}
		seen := &recorder{}
		m := New(Config{Store: spy, Now: storeTime, Observer: seen})
		stop := start(t, m.Run)
		pass(7 * time.Second)
		stop()
		if calls := spy.take()[LoopHistory]; calls != 4 || seen.look().history != 1000 {
			t.Errorf("%d calls deleted %d jobs in the first run, want 4 and 1000", calls, seen.look().history)
		}
	})
}

func TestSweepStopsWhenHalfItsIntervalIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpy()
		spy.history = func(context.Context, int) (driver.SweepResult, error) {
			time.Sleep(time.Second)
			return driver.SweepResult{Deleted: 1, More: true}, nil
		}
		m := New(Config{Store: spy, Now: storeTime})
		stop := start(t, m.Run)
		pass(6*time.Second + 35*time.Second) // a first run, and no second
		stop()
		if calls := spy.take()[LoopHistory]; calls != 30 {
			t.Errorf("%d calls of a second each in a run, want 30 of an interval of 60", calls)
		}
	})
}

func TestEachCallHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpy()
		var once sync.Once
		spy.stalls = func(ctx context.Context, _ driver.RecoverRequest) (driver.RecoverResult, error) {
			black := false
			once.Do(func() { black = true })
			if black {
				<-ctx.Done() // a connection that accepts and never answers
				return driver.RecoverResult{}, ctx.Err()
			}
			return driver.RecoverResult{}, nil
		}
		book := &logBook{}
		m := New(Config{Store: spy, StoreName: "main", Now: storeTime, Logger: book.logger(), CallTimeout: 4 * time.Second})
		start(t, m.Run)
		pass(8 * time.Second)
		if n := spy.take()[LoopStalls]; n != 2 {
			t.Errorf("%d calls, want one that ran into its limit and another", n)
		}
		if book.count("did not answer within 4s") != 1 || book.count("store=main") == 0 {
			t.Errorf("the log does not say so:\n%s", book)
		}
		if h := healthOf(t, m.Health(), LoopStalls); h.LastErr != nil || h.Overdue {
			t.Errorf("health after the recovery: %+v", h)
		}
	})
}

func TestALoopThatFailsDoesNotDisturbTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpy()
		spy.due = func(context.Context) error { return errors.New("no such table") }
		var extra int
		m := New(Config{Store: spy, Now: storeTime, Logger: (&logBook{}).logger(),
			Loops: []Loop{{Name: "relay", Interval: 10 * time.Second, Run: func(context.Context) error { extra++; return nil }}}})
		start(t, m.Run)
		pass(2 * time.Minute)
		calls := spy.take()
		if calls[LoopStalls] < 4 || calls[LoopHistory] < 2 || calls[LoopDedupe] < 2 || calls[LoopFlows] < 4 || extra < 12 {
			t.Errorf("calls %v, the added loop ran %d times", calls, extra)
		}
		for _, h := range m.Health() {
			if h.Overdue != (h.Name == LoopSchedules) {
				t.Errorf("health of %s: %+v", h.Name, h)
			}
		}
	})
}

func TestHistoryAndDedupeOfAQuietStoreAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		ctx := t.Context()
		keep := &driver.Keep{Cancelled: driver.Retention{Age: driver.Some(driver.Millis(30_000))}}
		request := driver.EnqueueRequest{ID: "x", Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1, Keep: keep},
			Dedupe: &driver.Dedupe{Key: "k", TTL: driver.Some(driver.Millis(30_000))}}
		if _, err := store.Enqueue(ctx, storeTime(), []driver.EnqueueRequest{request}); err != nil {
			t.Fatal(err)
		}
		if results, err := store.Cancel(ctx, storeTime(), []string{"x"}); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
		seen := &recorder{}
		start(t, New(Config{Store: store, Now: storeTime, Observer: seen}).Run)
		pass(25 * time.Second)
		if got, err := store.Jobs(ctx, []string{"x"}); err != nil || got[0] == nil || seen.look().history+seen.look().dedupe != 0 {
			t.Fatalf("before its time: %v, %v, %d and %d swept", got, err, seen.look().history, seen.look().dedupe)
		}
		pass(95 * time.Second)
		if got, err := store.Jobs(ctx, []string{"x"}); err != nil || got[0] != nil || seen.look().history != 1 || seen.look().dedupe != 1 {
			t.Errorf("after its time: %v, %v, %d and %d swept", got, err, seen.look().history, seen.look().dedupe)
		}
	})
}

package maintain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/cron"
	"github.com/braidmq/braid/memstore"
)

func upsert(t *testing.T, store driver.Scheduler, s driver.Schedule) {
	t.Helper()
	if s.JobName == "" {
		s.JobName, s.Queue, s.AttemptsMax = "report", "q", 1
	}
	if s.NextRunAt == 0 {
		first, ok, err := cron.FirstSlot(s, storeTime())
		if err != nil || !ok {
			t.Fatalf("no first slot of %+v: %v", s, err)
		}
		s.NextRunAt = first
	}
	if _, err := store.UpsertSchedule(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// jobs returns the store's jobs, oldest first.
func jobs(t *testing.T, store driver.Store) []*driver.Job {
	t.Helper()
	result, err := store.List(context.Background(), driver.ListRequest{Ascending: true, Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return result.Jobs
}

func slots(t *testing.T, store driver.Store) []string {
	t.Helper()
	var slots []string
	for _, job := range jobs(t, store) {
		slots = append(slots, job.Metadata[ScheduledFor])
	}
	return slots
}

func TestTickCarriesTheScheduleAndItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble's time begins at 2000-01-01T00:00:00Z
		store := memstore.New()
		schedule := driver.Schedule{
			Key: "daily", JobName: "report", Queue: "q", Cron: "1 0 * * *", Payload: []byte(`{"n":9007199254740993}`),
			Metadata: map[string]string{"team": "a"}, Priority: 7, AttemptsMax: 4,
			Backoff: &driver.Backoff{Kind: driver.BackoffFixed, Delay: 5},
			Keep:    &driver.Keep{Completed: driver.Retention{Count: driver.Some(int64(3))}},
			Timeout: driver.Some(driver.Millis(9)),
		}
		upsert(t, store, schedule)
		m := New(Config{Store: store, Now: storeTime})
		start(t, m.Run)
		pass(61 * time.Second)
		got := jobs(t, store)
		if len(got) != 1 {
			t.Fatalf("%d jobs, want 1", len(got))
		}
		job := got[0]
		want := driver.Spec{
			Name: "report", Queue: "q", Payload: schedule.Payload,
			Metadata: map[string]string{"team": "a", "scheduledFor": "2000-01-01T00:01:00.000Z"}, Priority: 7, AttemptsMax: 4,
			Backoff: schedule.Backoff, Keep: schedule.Keep, Timeout: schedule.Timeout,
		}
		if job.ID != "sched/daily/946684860000" || !reflect.DeepEqual(job.Spec, want) || job.State != driver.Waiting || job.DedupeKey != "" {
			t.Errorf("got job %+v", job)
		}
		stored, err := store.Schedule(t.Context(), "daily")
		if err != nil || stored.NextRunAt != 946684860000+24*3600*1000 || !reflect.DeepEqual(stored.Metadata, map[string]string{"team": "a"}) {
			t.Errorf("the schedule is now %+v, %v", stored, err)
		}
	})
}

func TestASlotFiresWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		upsert(t, store, driver.Schedule{Key: "often", Every: 7_777})
		m := New(Config{Store: store, Now: storeTime})
		start(t, m.Run)
		pass(10 * time.Minute)
		got := jobs(t, store)
		if len(got) < 76 {
			t.Fatalf("%d jobs in ten minutes, want one per 7.777 s", len(got))
		}
		for _, job := range got {
			slot, err := time.Parse(time.RFC3339, job.Metadata[ScheduledFor])
			if err != nil {
				t.Fatal(err)
			}
			if late := job.EnqueuedAt.Sub(driver.TimeOf(slot)); late < 0 || late > 1000 {
				t.Errorf("slot %v fired %d ms late", slot, late)
			}
		}
	})
}

func TestManyMaintainersFireOneJobPerSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		for i := range 3 {
			upsert(t, store, driver.Schedule{Key: fmt.Sprint("s", i), Cron: "* * * * *"})
		}
		seen := &recorder{}
		for range 8 {
			start(t, New(Config{Store: store, Now: storeTime, Observer: seen}).Run)
		}
		pass(10*time.Minute + time.Second)
		if n := len(jobs(t, store)); n != 30 || seen.look().ticks != 30 {
			t.Errorf("%d jobs and %d observed ticks in ten minutes of three schedules, want 30", n, seen.look().ticks)
		}
	})
}

func TestMissedSlotsCollapseIntoOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		upsert(t, store, driver.Schedule{Key: "cron", Cron: "*/5 * * * *"})
		upsert(t, store, driver.Schedule{Key: "every", Every: 300_000})
		pass(24*time.Hour + 2*time.Minute) // nobody sweeps
		start(t, New(Config{Store: store, Now: storeTime}).Run)
		pass(2 * time.Minute)
		if got := slots(t, store); !slices.Equal(got, []string{"2000-01-01T00:05:00.000Z", "2000-01-01T00:05:00.000Z"}) {
			t.Errorf("got the slots %v, want the missed one of each", got)
		}
		pass(2 * time.Minute)
		if got := slots(t, store)[2:]; !slices.Equal(got, []string{"2000-01-02T00:05:00.000Z", "2000-01-02T00:05:00.000Z"}) {
			t.Errorf("then got the slots %v, want both back on their grid", got)
		}
	})
}

func TestAWeeklyScheduleFiresThoughTheProgramRestartsEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		for range 11 * 24 {
			declared := []driver.Schedule{
				{Key: "cron", JobName: "n", Queue: "q", AttemptsMax: 1, Cron: "30 4 * * MON"},
				{Key: "every", JobName: "n", Queue: "q", AttemptsMax: 1, Every: driver.MillisOf(7 * 24 * time.Hour)},
			}
			if _, err := Reconcile(t.Context(), store, storeTime(), "app", declared, RemovalPrune); err != nil {
				t.Fatal(err)
			}
			stop := start(t, New(Config{Store: store, Now: storeTime, Intervals: Intervals{Schedules: 30 * time.Second}}).Run)
			pass(time.Hour)
			stop()
		}
		want := []string{"2000-01-03T04:30:00.000Z", "2000-01-08T00:00:00.000Z", "2000-01-10T04:30:00.000Z"}
		if got := slots(t, store); !slices.Equal(got, want) {
			t.Errorf("in 11 days fired %v, want %v", got, want)
		}
	})
}

func TestAFailedRunInHistoryDoesNotStopTheNextSlot(t *testing.T) {
	for _, overlap := range []driver.Overlap{driver.OverlapAllow, driver.OverlapSkip} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			upsert(t, store, driver.Schedule{Key: "k", Cron: "* * * * *", Overlap: overlap})
			start(t, New(Config{Store: store, Now: storeTime}).Run)
			pass(65 * time.Second)
			claimed, err := store.Claim(t.Context(), storeTime(), driver.ClaimRequest{Queue: "q", Names: []string{"report"},
				Worker: "w", Token: "t", Limit: 1, LockDuration: 1000})
			if err != nil || len(claimed.Jobs) != 1 {
				t.Fatalf("claimed %d jobs, %v", len(claimed.Jobs), err)
			}
			acked, err := store.Ack(t.Context(), storeTime(), []driver.Ack{{ID: claimed.Jobs[0].ID, Token: "t", Kind: driver.AckFail}})
			if err != nil || acked[0].State != driver.Failed {
				t.Fatalf("acked %+v, %v", acked, err)
			}
			pass(time.Minute)
			got := jobs(t, store)
			if len(got) != 2 || got[0].State != driver.Failed || got[1].State != driver.Waiting {
				t.Errorf("overlap %d: %d jobs after the second slot", overlap, len(got))
			}
		})
	}
}

func TestASkippingScheduleWaitsForItsPredecessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		upsert(t, store, driver.Schedule{Key: "k", Cron: "* * * * *", Overlap: driver.OverlapSkip})
		start(t, New(Config{Store: store, Now: storeTime}).Run)
		pass(5*time.Minute + time.Second)
		if got := slots(t, store); len(got) != 1 {
			t.Errorf("fired %v while the first job waits", got)
		}
	})
}

func TestLoopingUpsertsGiveExactlyOneJobPerSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		for range 4 {
			start(t, New(Config{Store: store, Now: storeTime}).Run)
			start(t, func(ctx context.Context) {
				for ctx.Err() == nil {
					upsert(t, store, driver.Schedule{Key: "k", Cron: "* * * * *"})
					pause(ctx, 200)
				}
			})
		}
		pass(10*time.Minute + 2*time.Second)
		if n := len(jobs(t, store)); n != 10 {
			t.Errorf("%d jobs in ten minutes, want 10", n)
		}
	})
}

func TestUpsertAndRemoveInLoopsNeverFireASlotTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		for range 4 {
			start(t, New(Config{Store: store, Now: storeTime}).Run)
			start(t, func(ctx context.Context) {
				for ctx.Err() == nil {
					upsert(t, store, driver.Schedule{Key: "k", Cron: "* * * * *"})
					pause(ctx, 2000)
					if _, err := store.RemoveSchedule(context.Background(), "k"); err != nil {
						t.Error(err)
					}
					pause(ctx, 20)
				}
			})
		}
		pass(30 * time.Minute)
		got := slots(t, store)
		if distinct := slices.Compact(slices.Sorted(slices.Values(got))); len(distinct) != len(got) || len(got) > 30 {
			t.Errorf("a slot fired twice: %v", got)
		}
		if len(got) == 0 {
			t.Error("nothing fired at all")
		}
	})
}

// pause waits a random time of up to most milliseconds.
func pause(ctx context.Context, most int) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(rand.IntN(most)) * time.Millisecond):
	}
}

func TestSchedulesThatCannotFireDoNotHideThoseBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		upsert(t, store, driver.Schedule{Key: "a", Cron: "0 0 30 2 *", NextRunAt: 1})
		upsert(t, store, driver.Schedule{Key: "b", Cron: "0 0 * * *", TZ: "Mars/Olympus", NextRunAt: 2})
		upsert(t, store, driver.Schedule{Key: "c", Cron: "not a cron", NextRunAt: 3})
		upsert(t, store, driver.Schedule{Key: "d", Every: 5, Cron: "* * * * *", NextRunAt: 4})
		upsert(t, store, driver.Schedule{Key: "e", Every: 60_000})
		book, seen := &logBook{}, &recorder{}
		m := New(Config{Store: store, Now: storeTime, Logger: book.logger(), Observer: seen})
		m.pageSize = 2
		start(t, m.Run)
		pass(5*time.Minute + time.Second)
		if n := len(jobs(t, store)); n != 5 || seen.look().ticks != 5 {
			t.Errorf("%d jobs, %d ticks, want 5 of the schedule behind the bad ones", n, seen.look().ticks)
		}
		for _, key := range []string{"a", "b", "c", "d"} {
			if seen.look().failedKeys[key] != 1 || book.count("schedule="+key+" ") != 1 {
				t.Errorf("%s was reported %d times:\n%s", key, seen.look().failedKeys[key], book)
			}
		}
		if book.count("never matches") != 1 {
			t.Errorf("the log does not say what is wrong:\n%s", book)
		}
		if h := healthOf(t, m.Health(), LoopSchedules); h.LastErr != nil || h.Overdue {
			t.Errorf("health: %+v", h)
		}
		pass(time.Hour)
		if n := seen.look().failedKeys["a"]; n < 6 || n > 8 {
			t.Errorf("reported %d times in an hour, want every ten minutes", n)
		}

		// Mended, it fires; broken again, it is reported again at once.
		before := seen.look().failedKeys["c"]
		upsert(t, store, driver.Schedule{Key: "c", Every: 60_000})
		pass(2 * time.Minute)
		if got, err := store.Schedule(t.Context(), "c"); err != nil || !strings.HasPrefix(got.LastJobID, "sched/c/") {
			t.Errorf("the mended schedule did not fire: %+v, %v", got, err)
		}
		upsert(t, store, driver.Schedule{Key: "c", Cron: "not a cron", NextRunAt: 3})
		pass(2 * time.Second)
		if seen.look().failedKeys["c"] != before+1 {
			t.Errorf("the schedule that broke again was reported %d times more", seen.look().failedKeys["c"]-before)
		}
	})
}

func TestTicksThatFailDoNotHideThoseBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, bad := range []int{2, 3, 7} {
			spy := newSpy()
			for i := range bad {
				upsert(t, spy, driver.Schedule{Key: fmt.Sprint("bad-", i), Every: 60_000, NextRunAt: driver.Time(i + 1)})
			}
			upsert(t, spy, driver.Schedule{Key: "good", Every: 60_000})
			spy.tick = func(_ context.Context, req driver.TickRequest) (bool, error) {
				if strings.HasPrefix(req.Key, "bad-") {
					return false, &driver.StoreError{Op: "Tick", Err: errors.New("row too large"), Retryable: true}
				}
				return false, nil
			}
			seen := &recorder{}
			m := New(Config{Store: spy, Now: storeTime, Logger: (&logBook{}).logger(), Observer: seen})
			m.pageSize = 2
			stop := start(t, m.Run)
			pass(3 * time.Minute)
			stop()
			if bad < ticksUntilOutage && (seen.look().scheduleFailures != bad || seen.look().loopFailures != 0) {
				t.Errorf("%d bad ones: %d reports, %d failed passes", bad, seen.look().scheduleFailures, seen.look().loopFailures)
			}
			if n := len(jobs(t, spy)); n < 2 {
				t.Errorf("%d bad ones in front: the good schedule fired %d times in three minutes", bad, n)
			}
		}
	})
}

func TestATickWhoseAnswerIsLostFiresOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpy()
		upsert(t, spy, driver.Schedule{Key: "k", Cron: "* * * * *"})
		var lost atomic.Int32
		spy.tick = func(ctx context.Context, req driver.TickRequest) (bool, error) {
			if _, err := spy.Store.Tick(ctx, storeTime(), req); err != nil {
				return false, err
			}
			lost.Add(1)
			return false, &driver.StoreError{Op: "Tick", Err: errors.New("connection reset"), Retryable: true, OutcomeUnknown: true}
		}
		start(t, New(Config{Store: spy, Now: storeTime, Logger: (&logBook{}).logger()}).Run)
		pass(3*time.Minute + time.Second)
		if got := slots(t, spy); len(got) != 3 || lost.Load() != 3 {
			t.Errorf("%d lost answers, fired %v; want three and three", lost.Load(), got)
		}
	})
}

func TestAnOutageStopsAPassEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spy := newSpy()
		for i := range 100 {
			upsert(t, spy, driver.Schedule{Key: fmt.Sprint("s-", i), Every: 3_600_000, NextRunAt: storeTime()})
		}
		var down atomic.Bool
		down.Store(true)
		spy.tick = func(context.Context, driver.TickRequest) (bool, error) {
			if down.Load() {
				return false, &driver.StoreError{Op: "Tick", Err: errors.New("connection refused"), Retryable: true}
			}
			return false, nil
		}
		book := &logBook{}
		start(t, New(Config{Store: spy, Now: storeTime, Logger: book.logger()}).Run)
		pass(time.Minute)
		if n := spy.take()["tick"]; n > 120 {
			t.Errorf("%d ticks in a minute of outage", n)
		}
		if n := strings.Count(book.String(), "\n"); n > 3 || book.count("connection refused") == 0 {
			t.Errorf("%d log lines in a minute of outage:\n%s", n, book)
		}
		down.Store(false)
		pass(10 * time.Second)
		if n := len(jobs(t, spy)); n != 100 {
			t.Errorf("%d schedules fired after the outage, want 100", n)
		}
	})
}

package maintain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/cron"
)

// ScheduledFor is the metadata key under which a schedule's job carries its slot,
// in the form of RFC 3339, in UTC, with milliseconds.
const ScheduledFor = "scheduledFor"

const (
	// reportEvery is how often a schedule that cannot fire is reported.
	reportEvery = 10 * time.Minute
	// ticksUntilOutage is how many ticks in a row may fail for a pass to go on: some
	// schedules may be at fault, so many look like the store.
	ticksUntilOutage = 3
)

// scheduleSweep fires due schedules. It is used by one goroutine.
type scheduleSweep struct {
	m *Maintainer
	// resume is where a pass begins that follows one that gave up: behind the
	// schedules at which it did, so that they do not keep others from firing.
	resume driver.Opt[driver.ScheduleCursor]
	// reported tells when a schedule that cannot fire was last reported.
	reported map[string]time.Time
}

// run makes one pass over the schedules that are due now. It is not cut short, since
// a slot is to fire within a second; it ends, since its time stands still. With
// nothing due it is one call.
func (s *scheduleSweep) run(ctx context.Context) error {
	after, whole := s.resume, !s.resume.Set
	s.resume = driver.Opt[driver.ScheduleCursor]{}
	now := s.m.cfg.Now()
	failed := make(map[string]error)
	inARow := 0
	for {
		var page []driver.Schedule
		err := s.m.call(ctx, func(ctx context.Context) (err error) {
			page, err = s.m.cfg.Store.DueSchedules(ctx, now, after, s.m.pageSize)
			return err
		})
		if err != nil {
			return err
		}
		for i := range page {
			schedule := &page[i]
			after = driver.Some(driver.ScheduleCursor{NextRunAt: schedule.NextRunAt, Key: schedule.Key})
			err := s.fire(ctx, schedule)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err == nil:
				inARow = 0
				continue
			}
			failed[schedule.Key] = err
			if errors.Is(err, driver.ErrInvalid) || errors.Is(err, errNeverAgain) || errors.Is(err, errDamaged) {
				continue // the schedule's own fault, not the store's
			}
			if inARow++; inARow >= ticksUntilOutage {
				s.resume = after
				return fmt.Errorf("braid: %d schedules in a row did not fire; the last, %q: %w", inARow, schedule.Key, err)
			}
		}
		if len(page) < s.m.pageSize {
			break
		}
	}
	s.report(failed)
	if whole {
		maps.DeleteFunc(s.reported, func(key string, _ time.Time) bool { return failed[key] == nil })
	}
	return nil
}

// errNeverAgain is why a schedule whose cron has no further match is not fired:
// it could not advance.
var errNeverAgain = errors.New("braid: the cron expression never matches again; change or remove the schedule")

// errDamaged is why a schedule that the store could not read is not fired.
var errDamaged = errors.New("braid: the stored schedule is damaged; declare it again, or remove it")

// fire enqueues the job of a schedule's slot and advances it.
func (s *scheduleSweep) fire(ctx context.Context, schedule *driver.Schedule) error {
	if schedule.Damaged {
		return errDamaged
	}
	now := s.m.cfg.Now()
	next, ok, err := cron.NextSlot(*schedule, schedule.NextRunAt, now)
	if err != nil {
		return err
	}
	if !ok {
		return errNeverAgain
	}
	var fired bool
	err = s.m.call(ctx, func(ctx context.Context) (err error) {
		fired, err = s.m.cfg.Store.Tick(ctx, now, tickRequest(schedule, next))
		return err
	})
	if fired {
		s.m.cfg.Observer.Ticks(1)
	}
	return err
}

// tickRequest returns what fires a schedule's present slot.
func tickRequest(s *driver.Schedule, next driver.Time) driver.TickRequest {
	slot := s.NextRunAt
	metadata := make(map[string]string, len(s.Metadata)+1)
	maps.Copy(metadata, s.Metadata)
	metadata[ScheduledFor] = slot.Std().Format("2006-01-02T15:04:05.000Z07:00")
	return driver.TickRequest{
		Key: s.Key, Expected: slot, Next: next,
		Job: driver.EnqueueRequest{
			ID: driver.ScheduleIDPrefix + s.Key + "/" + strconv.FormatInt(int64(slot), 10),
			Spec: driver.Spec{
				Name: s.JobName, Queue: s.Queue, Payload: s.Payload, Metadata: metadata,
				Priority: s.Priority, AttemptsMax: s.AttemptsMax,
				Backoff: s.Backoff, Keep: s.Keep, Timeout: s.Timeout,
			},
		},
	}
}

// report tells log and observer which schedules did not fire in a pass that came to
// its end, each sparsely. Of an outage, which ends a pass early, the loop tells.
func (s *scheduleSweep) report(failed map[string]error) {
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		if last, ok := s.reported[key]; ok && time.Since(last) < reportEvery {
			continue
		}
		if s.reported == nil {
			s.reported = make(map[string]time.Time)
		}
		s.reported[key] = time.Now()
		s.m.cfg.Logger.Error("a schedule cannot fire", slog.String("schedule", key), slog.Any("error", failed[key]))
		s.m.cfg.Observer.ScheduleFailed(key, failed[key])
	}
}

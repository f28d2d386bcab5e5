package braid

import (
	"context"
	"encoding/json"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/cron"
)

// Schedule declares a recurring job without a definition, for tools, and returns what
// is stored now. The payload is JSON, or empty for none. See [Job.Schedule].
func (c *Client) Schedule(ctx context.Context, key, jobName string, cadence Cadence, payload json.RawMessage, opts ...ScheduleOption) (ScheduleInfo, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return ScheduleInfo{}, err
	}
	defer cancel()
	s := defaultSettings()
	s.spec.Name = jobName
	s.check(driver.CheckText("job name", jobName, driver.MaxNameBytes))
	for _, opt := range opts {
		if opt != nil {
			opt.applyToSchedule(&s)
		}
	}
	if s.err != nil {
		return ScheduleInfo{}, s.err
	}
	encoded, err := encodeRaw(payload)
	if err = c.checkPayload(jobName, encoded, err); err != nil {
		return ScheduleInfo{}, err
	}
	schedule, err := s.schedule(key, cadence, encoded, c.now())
	if err != nil {
		return ScheduleInfo{}, err
	}
	stored, err := c.store.driver.UpsertSchedule(ctx, schedule)
	if err != nil {
		return ScheduleInfo{}, err
	}
	return newScheduleInfo(stored), nil
}

// RunSchedule enqueues a job of a schedule now, besides those of its slots, which it
// does not move. An unknown key is ErrNotFound.
func (c *Client) RunSchedule(ctx context.Context, key string) (*Handle[json.RawMessage], error) {
	bounded, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	s, err := c.schedule(bounded, key)
	if err != nil {
		return nil, err
	}
	if s.Damaged {
		return nil, &driver.InvalidError{Field: "schedule key", Value: key, Reason: "is of a damaged schedule; declare it again, or remove it"}
	}
	result, err := c.target().enqueueOne(ctx, driver.EnqueueRequest{Spec: driver.Spec{
		Name: s.JobName, Queue: s.Queue, Payload: s.Payload, Metadata: s.Metadata, Priority: s.Priority,
		AttemptsMax: s.AttemptsMax, Backoff: s.Backoff, Keep: s.Keep, Timeout: s.Timeout,
	}})
	if err != nil {
		return nil, within(err, "run schedule %q", key)
	}
	return new(handleOf[json.RawMessage](c.target(), result)), nil
}

// Upcoming returns the next n slots of the schedule, in its zone, the first being
// NextRunAt; fewer if no more come, none of a damaged one.
func (s ScheduleInfo) Upcoming(n int) []time.Time {
	if s.Damaged {
		return nil
	}
	zone, err := cron.Location(s.Zone)
	if err != nil {
		zone = time.UTC
	}
	record := driver.Schedule{Cron: s.Cron, TZ: s.Zone, Every: driver.MillisOf(s.Every)}
	var slots []time.Time
	for at := driver.TimeOf(s.NextRunAt); len(slots) < n; {
		slots = append(slots, at.Std().In(zone))
		next, ok, err := cron.NextSlot(record, at, at)
		if err != nil || !ok {
			break
		}
		at = next
	}
	return slots
}

package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/cron"
)

// Cadence is when a schedule fires: make one with [Cron], [CronSeconds] or [Every].
type Cadence struct {
	cron    string
	tz      string
	every   driver.Millis
	seconds bool
	err     error
}

// Cron fires at the times of a cron expression of five fields (minute, hour, day of
// month, month, day of week; names, ranges, steps, lists, @daily and its kin), in an
// IANA time zone; without one, in UTC. Where clocks change, a fixed time that is
// skipped fires once, at the change; one that comes twice fires the first time; a
// step or wildcard in minute or hour follows elapsed time.
func Cron(expr string, zone ...string) Cadence { return newCron(expr, zone, false) }

// CronSeconds is [Cron] with a sixth field in front, the second.
func CronSeconds(expr string, zone ...string) Cadence { return newCron(expr, zone, true) }

// Every fires once per d, counted from the moment when the schedule was first
// declared, however late single runs are. d is at least one second.
func Every(d time.Duration) Cadence {
	c := Cadence{every: driver.MillisOf(d)}
	if d < time.Second {
		c.err = &driver.InvalidError{Field: "every", Value: d.String(), Reason: "use at least 1s"}
	}
	return c
}

func newCron(expr string, zone []string, seconds bool) Cadence {
	c := Cadence{cron: expr, seconds: seconds}
	switch len(zone) {
	case 0:
	case 1:
		c.tz = zone[0]
	default:
		c.err = &driver.InvalidError{Field: "tz", Value: fmt.Sprint(zone), Reason: "use one time zone"}
		return c
	}
	c.err = cron.Validate(expr, c.tz, 0, cron.Options{Seconds: seconds})
	return c
}

// ScheduleInfo is a schedule as the store has it.
type ScheduleInfo struct {
	Key       string            `json:"key"`
	JobName   string            `json:"jobName"`
	Queue     string            `json:"queue"`
	Cron      string            `json:"cron,omitempty"`
	Zone      string            `json:"zone,omitempty"` // of Cron; empty: UTC
	Every     time.Duration     `json:"every,omitempty"`
	Payload   json.RawMessage   `json:"payload,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Priority  int               `json:"priority"`
	Attempts  int               `json:"attemptsMax"`
	Group     string            `json:"group,omitempty"` // the set that declares it
	NextRunAt time.Time         `json:"nextRunAt"`
	LastJobID string            `json:"lastJobId,omitempty"`
	Timeout   *time.Duration    `json:"timeout,omitempty"` // of its jobs; nil: the worker's default
	// SkipOverlap: a slot is skipped while the job of an earlier one has not finished.
	SkipOverlap bool         `json:"skipOverlap"`
	Backoff     *BackoffInfo `json:"backoff,omitempty"` // of its jobs; nil: the worker's default
	Keep        *KeepInfo    `json:"keep,omitempty"`    // of its jobs; nil: until the store's history ceiling
	// Damaged: the store cannot read it, and knows only its key. It does not fire; declare
	// it again, or remove it.
	Damaged bool `json:"damaged,omitempty"`
}

// Schedule declares a recurring job under a key: workers enqueue one job per slot,
// exactly once however many workers there are. Declared again with the same
// cadence it keeps its next slot, and takes everything else from the new
// declaration. Slots that pass while no worker runs collapse into one run. The jobs
// carry their slot in the metadata, under "scheduledFor".
func (j *Job[P, R]) Schedule(ctx context.Context, client *Client, key string, cadence Cadence, payload P, opts ...ScheduleOption) error {
	client = client.forDefinition(j.definition().store)
	ctx, cancel, err := client.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	schedule, err := j.Entry(key, cadence, payload, opts...).build(client)
	if err != nil {
		return err
	}
	_, err = client.store.driver.UpsertSchedule(ctx, schedule)
	return err
}

// Unschedule ends a schedule, and reports whether there was one. Jobs that it has
// enqueued stay.
func (j *Job[P, R]) Unschedule(ctx context.Context, client *Client, key string) (bool, error) {
	s := j.definition()
	if s.err != nil {
		return false, s.err
	}
	return client.forDefinition(s.store).Unschedule(ctx, key)
}

// Entry returns the declaration of a schedule for [SyncSchedules].
func (j *Job[P, R]) Entry(key string, cadence Cadence, payload P, opts ...ScheduleOption) ScheduleEntry {
	return ScheduleEntry{key: key, store: j.definition().store, build: func(c *Client) (driver.Schedule, error) {
		s := *j.definition()
		if s.err == nil {
			if j.metadataBy != nil {
				s.addMetadata(j.metadataBy(payload))
			}
			for _, opt := range opts {
				if opt != nil {
					opt.applyToSchedule(&s)
				}
			}
		}
		if s.err != nil {
			return driver.Schedule{}, s.err
		}
		encoded, err := encode(payload)
		if err = c.checkPayload(s.spec.Name, encoded, err); err != nil {
			return driver.Schedule{}, err
		}
		return s.schedule(key, cadence, encoded, c.now())
	}}
}

// schedule makes the record of a schedule that is declared now.
func (s *settings) schedule(key string, cadence Cadence, payload []byte, now driver.Time) (driver.Schedule, error) {
	// The slot's job id holds the key and the slot, and must stay within its limit.
	if err := driver.CheckText("schedule key", key, driver.MaxKeyBytes); err != nil {
		return driver.Schedule{}, err
	}
	if cadence == (Cadence{}) {
		return driver.Schedule{}, &driver.InvalidError{Field: "cadence", Reason: "is empty; use braid.Cron or braid.Every"}
	}
	if cadence.err != nil {
		return driver.Schedule{}, cadence.err
	}
	schedule := driver.Schedule{
		Key: key, JobName: s.spec.Name, Queue: s.spec.Queue,
		Cron: cadence.cron, TZ: cadence.tz, Every: cadence.every,
		Payload: payload, Metadata: s.spec.Metadata, Priority: s.spec.Priority,
		AttemptsMax: s.spec.AttemptsMax, Backoff: s.spec.Backoff, Keep: s.spec.Keep,
		Timeout: s.spec.Timeout, Overlap: s.overlap,
	}
	first, ok, err := cron.FirstSlot(schedule, now)
	if err != nil {
		return driver.Schedule{}, err
	}
	if !ok {
		return driver.Schedule{}, &driver.InvalidError{Field: "cron", Value: cadence.cron, Reason: "never matches"}
	}
	schedule.NextRunAt = first
	return schedule, nil
}

// ScheduleFilter selects schedules; its zero value is all of them.
type ScheduleFilter struct {
	JobName string // empty: any
	Queue   string // empty: any
	Group   string // empty: any
}

// Schedules returns schedules in the order of their keys.
func (c *Client) Schedules(ctx context.Context, filter ScheduleFilter) ([]ScheduleInfo, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if err := checkFilters([2]string{"job name", filter.JobName}, [2]string{"queue", filter.Queue}, [2]string{"group", filter.Group}); err != nil {
		return nil, err
	}
	f := driver.ScheduleFilter{JobName: filter.JobName, Queue: filter.Queue}
	if filter.Group != "" {
		f.Group = driver.Some(filter.Group)
	}
	schedules, err := c.store.driver.Schedules(ctx, f)
	if err != nil {
		return nil, err
	}
	infos := make([]ScheduleInfo, len(schedules))
	for i, s := range schedules {
		infos[i] = newScheduleInfo(s)
	}
	return infos, nil
}

// GetSchedule returns one schedule, or ErrNotFound.
func (c *Client) GetSchedule(ctx context.Context, key string) (ScheduleInfo, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return ScheduleInfo{}, err
	}
	defer cancel()
	s, err := c.schedule(ctx, key)
	if err != nil {
		return ScheduleInfo{}, err
	}
	return newScheduleInfo(s), nil
}

// schedule returns the record of a schedule, or ErrNotFound.
func (c *Client) schedule(ctx context.Context, key string) (driver.Schedule, error) {
	err := driver.ErrNotFound
	var s driver.Schedule
	if canBeKey(key) {
		s, err = c.store.driver.Schedule(ctx, key)
	}
	if errors.Is(err, driver.ErrNotFound) {
		err = fmt.Errorf("%w: schedule %q", ErrNotFound, key)
	}
	return s, err
}

// Unschedule ends a schedule; see [Job.Unschedule].
func (c *Client) Unschedule(ctx context.Context, key string) (bool, error) {
	ctx, cancel, err := c.begin(ctx)
	if err != nil {
		return false, err
	}
	defer cancel()
	if !canBeKey(key) {
		return false, nil
	}
	return c.store.driver.RemoveSchedule(ctx, key)
}

func newScheduleInfo(s driver.Schedule) ScheduleInfo {
	return ScheduleInfo{
		Key: s.Key, JobName: s.JobName, Queue: s.Queue, Cron: s.Cron, Zone: s.TZ, Every: s.Every.Std(),
		Payload: bytes.Clone(s.Payload), Metadata: maps.Clone(s.Metadata), Priority: int(s.Priority), Attempts: int(s.AttemptsMax),
		Group: s.Group, NextRunAt: s.NextRunAt.Std(), LastJobID: s.LastJobID, SkipOverlap: s.Overlap == driver.OverlapSkip,
		Timeout: stdDuration(s.Timeout), Backoff: newBackoffInfo(s.Backoff), Keep: newKeepInfo(s.Keep),
		Damaged: s.Damaged,
	}
}

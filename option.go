package braid

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/braidmq/braid/driver"
)

// A JobOption sets a default on a definition; see [NewJob].
type JobOption interface{ applyToJob(*settings) }

// An EnqueueOption applies to one enqueue; it overrides the definition's.
type EnqueueOption interface{ applyToEnqueue(*settings) }

// A ChildOption applies to one child of a flow; see [Job.Child]. Ids and dedup keys
// are none, because a child is known by its key.
type ChildOption interface{ applyToChild(*settings) }

// A ScheduleOption applies to every job of one schedule.
type ScheduleOption interface{ applyToSchedule(*settings) }

// An Option fits a definition, one enqueue, one child of a flow, and a schedule.
type Option interface {
	JobOption
	EnqueueOption
	ScheduleOption
	ChildOption
}

// A DelayOption fits a definition, one enqueue, and one child of a flow.
type DelayOption interface {
	JobOption
	EnqueueOption
	ChildOption
}

// A MetadataOption fits one enqueue, one child of a flow, and a schedule.
type MetadataOption interface {
	EnqueueOption
	ChildOption
	ScheduleOption
}

// Queue names the queue; the default is "default".
func Queue(name string) Option {
	return option(func(s *settings) { s.spec.Queue = name; s.check(driver.CheckText("queue", name, driver.MaxNameBytes)) })
}

// Priority orders the waiting jobs of a queue: higher runs first. The default is 0.
func Priority(p int) Option {
	return option(func(s *settings) {
		if p > math.MaxInt32 || p < math.MinInt32 {
			s.refuse("priority", strconv.Itoa(p), "use a number that fits 32 bits")
			return
		}
		s.spec.Priority = int32(p)
	})
}

// DefaultAttempts is how often a job runs at the most, unless [Attempts] says
// otherwise.
const DefaultAttempts = 10

// Attempts bounds how often the job runs before it fails for good; at least 1. The
// default is [DefaultAttempts].
func Attempts(n int) Option {
	return option(func(s *settings) {
		if n < 1 || n > math.MaxInt32 {
			s.refuse("attempts", strconv.Itoa(n), "use 1 (run once) to "+strconv.Itoa(math.MaxInt32))
			return
		}
		s.spec.AttemptsMax = int32(n)
	})
}

// Timeout bounds one run; its handler's context ends then, and the attempt counts
// as failed. 0 means no timeout, also where the worker has a default. A fraction of
// a millisecond counts as a whole one.
func Timeout(d time.Duration) Option {
	return option(func(s *settings) {
		if d < 0 {
			s.refuse("timeout", d.String(), "use a positive duration, or 0 for none")
			return
		}
		s.spec.Timeout = driver.Some(driver.MillisOf(d))
	})
}

// Backoff says how long a failed job rests before its next attempt; see [Fixed] and
// [Exponential]. The default is the worker's.
func Backoff(policy BackoffPolicy) Option {
	return option(func(s *settings) {
		if s.check(policy.validate()) {
			backoff := policy.policy
			s.spec.Backoff = &backoff
		}
	})
}

// In delays the job. The default, 0, runs it at once.
func In(d time.Duration) DelayOption {
	return option(func(s *settings) {
		if d < 0 {
			s.refuse("delay", d.String(), "use a positive duration, or 0 to run at once")
			return
		}
		s.delay, s.at = driver.MillisOf(d), time.Time{}
	})
}

// At delays the job until t; a time in the past runs it at once.
func At(t time.Time) EnqueueOption {
	return enqueueOption(func(s *settings) { s.delay, s.at = 0, t })
}

// ID gives the job its id, which makes the enqueue idempotent: while a job of that
// id exists, in whatever state, another enqueue is a duplicate and changes nothing.
// It is 1 to 512 bytes of UTF-8, and begins with neither "flow/" nor "sched/".
func ID(id string) EnqueueOption {
	return enqueueOption(func(s *settings) {
		s.id = id
		s.check(checkUserID(id))
	})
}

// Metadata attaches searchable strings to the job; see [Client.List]. Several
// options add up, to at most 100 entries, whose keys and values are at most 64 KiB
// together. Keys are 1 to 255 bytes; values may be empty.
func Metadata(metadata map[string]string) MetadataOption {
	return metadataOption(func(s *settings) { s.addMetadata(metadata) })
}

// Dedupe makes the enqueue a duplicate while another job of the same name holds the
// key: until that job has finished, or for a [Window].
func Dedupe(key string, opts ...DedupeOption) EnqueueOption {
	return enqueueOption(func(s *settings) { s.setDedupe(key, opts) })
}

// A DedupeOption refines [Dedupe] and [Job.DedupeBy].
type DedupeOption func(*settings, *driver.Dedupe)

// Window holds the key for d from now, whether the job has finished or not.
func Window(d time.Duration) DedupeOption {
	return func(s *settings, dedupe *driver.Dedupe) {
		if d <= 0 {
			s.refuse("dedupe window", d.String(), "use a positive duration")
			return
		}
		dedupe.TTL = driver.Some(driver.MillisOf(d))
	}
}

// ExtendWindow makes each duplicate restart the window.
func ExtendWindow() DedupeOption {
	return func(_ *settings, dedupe *driver.Dedupe) { dedupe.Extend = true }
}

// ReplaceDelayed makes a duplicate rewrite the job that holds the key, while that is
// still delayed: payload, options and delay are the new ones, its id stays.
func ReplaceDelayed() DedupeOption {
	return func(_ *settings, dedupe *driver.Dedupe) { dedupe.Replace = true }
}

// OnStore binds a definition to one of the client's named stores; see [WithStore].
func OnStore(name string) JobOption {
	return jobOption(func(s *settings) {
		s.store = name
		s.check(driver.CheckText("store", name, driver.MaxNameBytes))
	})
}

// SkipOverlap makes a schedule skip a slot while the job of an earlier slot has not
// finished.
func SkipOverlap() ScheduleOption {
	return scheduleOption(func(s *settings) { s.overlap = driver.OverlapSkip })
}

// settings are what options write: the parts of an enqueue or schedule request.
type settings struct {
	spec    driver.Spec
	id      string
	delay   driver.Millis
	at      time.Time // zero: delay counts
	dedupe  *driver.Dedupe
	store   string
	overlap driver.Overlap
	err     error // the first problem
}

func defaultSettings() settings {
	return settings{spec: driver.Spec{Queue: DefaultQueue, AttemptsMax: DefaultAttempts}}
}

// DefaultQueue is the queue of jobs that name none.
const DefaultQueue = "default"

func (s *settings) refuse(field, value, reason string) {
	s.check(&driver.InvalidError{Field: field, Value: value, Reason: reason})
}

// check keeps the first problem, and reports whether err is none.
func (s *settings) check(err error) bool {
	if err != nil && s.err == nil {
		s.err = err
	}
	return err == nil
}

func (s *settings) addMetadata(metadata map[string]string) {
	if len(metadata) == 0 {
		return
	}
	merged := make(map[string]string, len(s.spec.Metadata)+len(metadata))
	maps.Copy(merged, s.spec.Metadata)
	maps.Copy(merged, metadata)
	s.check(driver.CheckMetadata(merged))
	s.spec.Metadata = merged
}

func (s *settings) setDedupe(key string, opts []DedupeOption) {
	if !s.check(driver.CheckText("dedupe key", key, driver.MaxKeyBytes)) {
		return
	}
	dedupe := &driver.Dedupe{Key: key}
	for _, opt := range opts {
		if opt != nil {
			opt(s, dedupe)
		}
	}
	if dedupe.Extend && !dedupe.TTL.Set {
		s.refuse("dedupe", key, "ExtendWindow needs a window; add braid.Window(d)")
	}
	s.dedupe = dedupe
}

// request makes the request that the store gets; now is only read for At.
func (s *settings) request(payload []byte, now func() driver.Time) driver.EnqueueRequest {
	req := driver.EnqueueRequest{ID: s.id, Spec: s.spec, Delay: s.delay, Dedupe: s.dedupe}
	req.Payload = payload
	if !s.at.IsZero() {
		req.Delay = max(0, ceilTime(s.at).Sub(now()))
	}
	return req
}

// ceilTime rounds up to the millisecond: a job never runs before its time.
func ceilTime(t time.Time) driver.Time {
	at := driver.TimeOf(t)
	if at.Std().Before(t) {
		at++
	}
	return at
}

func checkUserID(id string) error {
	if err := driver.CheckText("id", id, driver.MaxIDBytes); err != nil {
		return err
	}
	for _, prefix := range []string{driver.FlowIDPrefix, driver.ScheduleIDPrefix} {
		if strings.HasPrefix(id, prefix) {
			return &driver.InvalidError{Field: "id", Value: id,
				Reason: fmt.Sprintf("begins with %q, which is reserved; begin it with something else", prefix)}
		}
	}
	return nil
}

type (
	option         func(*settings)
	enqueueOption  func(*settings)
	jobOption      func(*settings)
	metadataOption func(*settings)
	scheduleOption func(*settings)
)

func (o option) applyToJob(s *settings)              { o(s) }
func (o option) applyToEnqueue(s *settings)          { o(s) }
func (o option) applyToSchedule(s *settings)         { o(s) }
func (o option) applyToChild(s *settings)            { o(s) }
func (o enqueueOption) applyToEnqueue(s *settings)   { o(s) }
func (o jobOption) applyToJob(s *settings)           { o(s) }
func (o metadataOption) applyToEnqueue(s *settings)  { o(s) }
func (o metadataOption) applyToChild(s *settings)    { o(s) }
func (o metadataOption) applyToSchedule(s *settings) { o(s) }
func (o scheduleOption) applyToSchedule(s *settings) { o(s) }

package httpapi

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/braidmq/braid"
)

// EnqueueRequest is a batch of jobs. It is not one transaction; see the code partial.
type EnqueueRequest struct {
	Jobs []NewJob `json:"jobs"`
}

// NewJob is a job to enqueue.
type NewJob struct {
	Name    string          `json:"name" doc:"What the worker knows it by; 1 to 128 bytes."`
	Payload json.RawMessage `json:"payload,omitempty" doc:"Any JSON."`
	ID      string          `json:"id,omitempty" doc:"Makes the enqueue idempotent: while a job of this id exists, another is a duplicate. 1 to 512 bytes; begins with neither flow/ nor sched/."`
	DelayMs int64           `json:"delayMs,omitempty" doc:"It runs no sooner than this from now. Not together with runAt."`
	RunAt   *Time           `json:"runAt,omitempty" doc:"It runs no sooner than then."`
	Dedupe  *Dedupe         `json:"dedupe,omitempty"`
	JobOptions
}

// JobOptions are what new jobs and schedules have in common.
type JobOptions struct {
	Queue     string            `json:"queue,omitempty" doc:"default without it."`
	Priority  int               `json:"priority,omitempty" doc:"Higher runs first; 0 without it."`
	Attempts  int               `json:"attempts,omitempty" doc:"How often it may run until it fails for good; 10 without it."`
	Backoff   *Backoff          `json:"backoff,omitempty" doc:"The rest between attempts; the worker's default without it."`
	TimeoutMs *int64            `json:"timeoutMs,omitempty" doc:"Of one run; 0: none; the worker's default without it."`
	Keep      *Keep             `json:"keep,omitempty" doc:"How many finished jobs of its name stay, and for how long."`
	Metadata  map[string]string `json:"metadata,omitempty" doc:"Strings by which the list of jobs can be searched."`
}

// Backoff is the rest between attempts.
type Backoff struct {
	Kind    string  `json:"kind" enum:"fixed,exponential"`
	DelayMs int64   `json:"delayMs"`
	Factor  float64 `json:"factor,omitempty" doc:"The growth per attempt of an exponential one; 2 without it."`
	MaxMs   int64   `json:"maxMs,omitempty" doc:"The longest rest; no bound without it."`
	Jitter  float64 `json:"jitter,omitempty" doc:"0 to 1: each rest is shortened by a random part of up to this."`
}

// Keep says which finished jobs stay, per state.
type Keep struct {
	Completed *Retention `json:"completed,omitempty"`
	Failed    *Retention `json:"failed,omitempty"`
	Cancelled *Retention `json:"cancelled,omitempty"`
}

// Retention bounds the finished jobs of one name and state. Both bounds apply.
type Retention struct {
	Count *int   `json:"count,omitempty" doc:"The newest so many stay; 0: none does."`
	AgeMs *int64 `json:"ageMs,omitempty" doc:"Those that are younger stay."`
}

// Dedupe makes an enqueue a duplicate while another job of its name holds the key.
type Dedupe struct {
	Key     string `json:"key"`
	TTLMs   *int64 `json:"ttlMs,omitempty" doc:"The key holds for so long, whether the job has finished or not. Without it: until the job has finished."`
	Extend  bool   `json:"extend,omitempty" doc:"A duplicate restarts the time."`
	Replace bool   `json:"replace,omitempty" doc:"A duplicate rewrites the job that holds the key while that is delayed."`
}

// EnqueueReply answers in the order of the batch.
type EnqueueReply struct {
	Results []Enqueued `json:"results"`
}

// Enqueued is what became of one job of the batch.
type Enqueued struct {
	ID        string `json:"id" doc:"Of the new job, or of the one that stood in its way."`
	Duplicate bool   `json:"duplicate" doc:"No job was added."`
}

func enqueue(c *call, body *EnqueueRequest) (any, error) {
	if len(body.Jobs) == 0 || len(body.Jobs) > c.h.limits.Batch {
		return nil, invalid("jobs", "has %d items; use 1 to %d", len(body.Jobs), c.h.limits.Batch)
	}
	requests := make([]braid.Request, len(body.Jobs))
	for i, job := range body.Jobs {
		options, err := job.options()
		if err != nil {
			return nil, within(item("jobs", i), err)
		}
		requests[i] = braid.NewRequest(job.Name, job.Payload, options...)
	}
	handles, err := c.client.EnqueueMany(c.ctx, requests...)
	var refused *braid.ItemError
	switch {
	case errors.As(err, &refused):
		return nil, named(err, item("jobs", refused.Index), jobFields)
	case err != nil:
		return nil, err
	}
	reply := EnqueueReply{Results: make([]Enqueued, len(handles))}
	for i, handle := range handles {
		reply.Results[i] = Enqueued{ID: handle.ID, Duplicate: handle.Duplicate}
	}
	return reply, nil
}

// within tells where in the request a field is that was refused.
func within(path string, err error) error {
	e := *errorOf(err)
	switch {
	case e.Field == "":
		e.Field = path
	default:
		e.Field = path + "." + e.Field
	}
	return &e
}

func (j *NewJob) options() ([]braid.EnqueueOption, error) {
	shared, err := j.JobOptions.options()
	if err != nil {
		return nil, err
	}
	options := make([]braid.EnqueueOption, 0, len(shared)+3)
	for _, option := range shared {
		options = append(options, option)
	}
	if len(j.Metadata) > 0 {
		options = append(options, braid.Metadata(j.Metadata))
	}
	if j.ID != "" {
		options = append(options, braid.ID(j.ID))
	}
	switch {
	case j.RunAt != nil && j.DelayMs != 0:
		return nil, invalid("runAt", "is given, and so is delayMs; give one of them")
	case j.RunAt != nil:
		if j.RunAt.After(time.Now().Add(time.Duration(mostMillis) * time.Millisecond)) {
			return nil, invalid("runAt", "is more than a hundred years away")
		}
		options = append(options, braid.At(j.RunAt.Time))
	case j.DelayMs != 0:
		delay, err := millis("delayMs", j.DelayMs, 0)
		if err != nil {
			return nil, err
		}
		options = append(options, braid.In(delay))
	}
	if j.Dedupe != nil {
		dedupe, err := j.Dedupe.option()
		if err != nil {
			return nil, within("dedupe", err)
		}
		options = append(options, dedupe)
	}
	return options, nil
}

func (d *Dedupe) option() (braid.EnqueueOption, error) {
	var options []braid.DedupeOption
	if d.TTLMs != nil {
		ttl, err := millis("ttlMs", *d.TTLMs, 1)
		if err != nil {
			return nil, err
		}
		options = append(options, braid.Window(ttl))
	}
	if d.Extend && d.TTLMs == nil {
		return nil, invalid("extend", "needs a time that it restarts; give ttlMs, too")
	}
	if d.Extend {
		options = append(options, braid.ExtendWindow())
	}
	if d.Replace {
		options = append(options, braid.ReplaceDelayed())
	}
	return braid.Dedupe(d.Key, options...), nil
}

func (o *JobOptions) options() ([]braid.Option, error) {
	var options []braid.Option
	if o.Queue != "" {
		options = append(options, braid.Queue(o.Queue))
	}
	if o.Priority != 0 {
		options = append(options, braid.Priority(o.Priority))
	}
	if o.Attempts != 0 {
		options = append(options, braid.Attempts(o.Attempts))
	}
	if o.TimeoutMs != nil {
		timeout, err := millis("timeoutMs", *o.TimeoutMs, 0)
		if err != nil {
			return nil, err
		}
		options = append(options, braid.Timeout(timeout))
	}
	if o.Backoff != nil {
		policy, err := o.Backoff.policy()
		if err != nil {
			return nil, within("backoff", err)
		}
		options = append(options, braid.Backoff(policy))
	}
	if o.Keep != nil {
		keep, err := o.Keep.options()
		if err != nil {
			return nil, within("keep", err)
		}
		options = append(options, keep...)
	}
	return options, nil
}

func (b *Backoff) policy() (braid.BackoffPolicy, error) {
	delay, err := millis("delayMs", b.DelayMs, 0)
	if err != nil {
		return braid.BackoffPolicy{}, err
	}
	most, err := millis("maxMs", b.MaxMs, 0)
	if err != nil {
		return braid.BackoffPolicy{}, err
	}
	var policy braid.BackoffPolicy
	switch b.Kind {
	case "fixed":
		policy = braid.Fixed(delay)
	case "exponential":
		policy = braid.Exponential(delay)
	default:
		return policy, invalid("kind", "cannot be %q; use fixed or exponential", clip(b.Kind))
	}
	switch {
	case b.Factor != 0 && b.Kind == "fixed":
		return policy, invalid("factor", "cannot be %s; leave it out, or use the kind exponential", number(b.Factor))
	case b.Factor != 0 && (b.Factor < 1 || math.IsInf(b.Factor, 1)):
		return policy, invalid("factor", "cannot be %s; use a number of 1 or more", number(b.Factor))
	case b.Jitter < 0 || b.Jitter > 1:
		return policy, invalid("jitter", "cannot be %s; use a number from 0 to 1", number(b.Jitter))
	case b.Factor != 0:
		policy = policy.Factor(b.Factor)
	}
	return policy.Cap(most).Jitter(b.Jitter), nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (k *Keep) options() ([]braid.Option, error) {
	var options []braid.Option
	for _, part := range []struct {
		name      string
		retention *Retention
		option    func(...braid.KeepRule) braid.Option
	}{
		{"completed", k.Completed, braid.KeepCompleted}, {"failed", k.Failed, braid.KeepFailed}, {"cancelled", k.Cancelled, braid.KeepCancelled},
	} {
		if part.retention == nil {
			continue
		}
		var rules []braid.KeepRule
		if count := part.retention.Count; count != nil {
			if *count < 0 {
				return nil, within(part.name, invalid("count", "cannot be %d; use 0, which keeps none, or more", *count))
			}
			rules = append(rules, braid.KeepLast(*count))
		}
		if age := part.retention.AgeMs; age != nil {
			d, err := millis("ageMs", *age, 0)
			if err != nil {
				return nil, within(part.name, err)
			}
			rules = append(rules, braid.KeepFor(d))
		}
		options = append(options, part.option(rules...))
	}
	return options, nil
}

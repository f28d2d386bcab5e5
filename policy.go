package braid

import (
	"math"
	"strconv"
	"time"

	"github.com/braidmq/braid/driver"
)

// BackoffPolicy is how long a failed job rests before its next attempt. Make one
// with [Fixed] or [Exponential]. The zero value is no policy.
type BackoffPolicy struct{ policy driver.Backoff }

// Fixed rests for d before every attempt.
func Fixed(d time.Duration) BackoffPolicy {
	return BackoffPolicy{driver.Backoff{Kind: driver.BackoffFixed, Delay: restOf(d)}}
}

// Exponential rests for d after the first attempt, and twice as long after each
// further one. Bound it with [BackoffPolicy.Cap].
func Exponential(d time.Duration) BackoffPolicy {
	return BackoffPolicy{driver.Backoff{Kind: driver.BackoffExponential, Delay: restOf(d), Factor: 2}}
}

// Factor returns the policy with another growth per attempt than 2; at least 1.
func (p BackoffPolicy) Factor(f float64) BackoffPolicy { p.policy.Factor = f; return p }

// Cap returns the policy with a longest rest. 0 means none.
func (p BackoffPolicy) Cap(d time.Duration) BackoffPolicy {
	p.policy.Max = restOf(d)
	return p
}

// restOf is d in milliseconds. A negative d stays negative, for validate to refuse,
// where rounding alone would make it 0.
func restOf(d time.Duration) driver.Millis {
	if d < 0 {
		return min(driver.MillisOf(d), -1)
	}
	return driver.MillisOf(d)
}

// Jitter returns the policy with each rest shortened by a random part of itself, up
// to f (0 to 1), so that jobs that failed together do not come back together.
func (p BackoffPolicy) Jitter(f float64) BackoffPolicy { p.policy.Jitter = f; return p }

func (p BackoffPolicy) validate() error {
	b := p.policy
	refuse := func(value, reason string) error {
		return &driver.InvalidError{Field: "backoff", Value: value, Reason: reason}
	}
	switch {
	case b.Kind == 0:
		return refuse("", "use braid.Fixed(d) or braid.Exponential(d)")
	case b.Delay < 0:
		return refuse(b.Delay.Std().String(), "the delay is negative; use 0 or more")
	case b.Max < 0:
		return refuse(b.Max.Std().String(), "the cap is negative; use 0 for none, or more")
	case b.Kind == driver.BackoffFixed && b.Factor != 0:
		return refuse(formatFloat(b.Factor), "a fixed backoff has no factor; use braid.Exponential(d)")
	case b.Kind == driver.BackoffExponential && (!(b.Factor >= 1) || math.IsInf(b.Factor, 1)):
		return refuse(formatFloat(b.Factor), "the factor must be a finite number of 1 or more")
	case !(b.Jitter >= 0 && b.Jitter <= 1):
		return refuse(formatFloat(b.Jitter), "the jitter must be from 0 to 1")
	}
	return nil
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Keep bounds the finished jobs of the definition's name, for each of the states
// completed, failed and cancelled on its own. Without it they stay for as long as
// the store's history ceiling, if it has one. The policy of the job that finishes
// counts. KeepLast and KeepFor both apply where both are given.
func Keep(rules ...KeepRule) Option {
	return keepOption(rules, func(k *driver.Keep, r driver.Retention) { k.Completed, k.Failed, k.Cancelled = r, r, r })
}

// KeepCompleted is [Keep] for completed jobs alone.
func KeepCompleted(rules ...KeepRule) Option {
	return keepOption(rules, func(k *driver.Keep, r driver.Retention) { k.Completed = r })
}

// KeepFailed is [Keep] for failed jobs alone.
func KeepFailed(rules ...KeepRule) Option {
	return keepOption(rules, func(k *driver.Keep, r driver.Retention) { k.Failed = r })
}

// KeepCancelled is [Keep] for cancelled jobs alone.
func KeepCancelled(rules ...KeepRule) Option {
	return keepOption(rules, func(k *driver.Keep, r driver.Retention) { k.Cancelled = r })
}

// A KeepRule bounds finished jobs; see [Keep].
type KeepRule func(*settings, *driver.Retention)

// KeepLast keeps the newest n; 0 keeps none.
func KeepLast(n int) KeepRule {
	return func(s *settings, r *driver.Retention) {
		if n < 0 {
			s.refuse("keep", strconv.Itoa(n), "use 0 (keep none) or more")
			return
		}
		r.Count = driver.Some(int64(n))
	}
}

// KeepFor keeps finished jobs for d after they have finished.
func KeepFor(d time.Duration) KeepRule {
	return func(s *settings, r *driver.Retention) {
		if d < 0 {
			s.refuse("keep", d.String(), "use 0 or a positive duration")
			return
		}
		r.Age = driver.Some(driver.MillisOf(d))
	}
}

func keepOption(rules []KeepRule, set func(*driver.Keep, driver.Retention)) Option {
	return option(func(s *settings) {
		var r driver.Retention
		for _, rule := range rules {
			if rule != nil {
				rule(s, &r)
			}
		}
		keep := new(driver.Keep)
		if s.spec.Keep != nil {
			*keep = *s.spec.Keep
		}
		set(keep, r)
		s.spec.Keep = keep
	})
}

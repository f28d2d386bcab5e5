package driver

import (
	"math"
	"time"
)

// Time is a point in time in milliseconds since the Unix epoch. Zero is a time
// like any other.
type Time int64

// Millis is a length of time in milliseconds.
type Millis int64

// TimeOf returns t, truncated to the millisecond.
func TimeOf(t time.Time) Time { return Time(t.UnixMilli()) }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add returns t + d, saturating at the ends of the range.
func (t Time) Add(d Millis) Time {
	sum := t + Time(d)
	switch {
	case d > 0 && sum < t:
		return math.MaxInt64
	case d < 0 && sum > t:
		return math.MinInt64
	}
	return sum
}

// Sub returns t − u, saturating at the ends of the range.
func (t Time) Sub(u Time) Millis {
	diff := t - u
	switch {
	case u < 0 && diff < t:
		return math.MaxInt64
	case u > 0 && diff > t:
		return math.MinInt64
	}
	return Millis(diff)
}

// MillisOf returns d rounded up to the millisecond, so that a positive length
// never becomes zero.
func MillisOf(d time.Duration) Millis {
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	return Millis(ms)
}

// Std returns d as a time.Duration, saturating at its range (about 292 years).
func (d Millis) Std() time.Duration {
	const most = Millis(math.MaxInt64 / int64(time.Millisecond))
	switch {
	case d > most:
		return math.MaxInt64
	case d < -most:
		return math.MinInt64
	}
	return time.Duration(d) * time.Millisecond
}

// Opt is a value that may be absent. Its zero value is absent.
type Opt[T any] struct {
	Value T    // meaningful only if Set
	Set   bool // whether there is a value
}

// Some returns a present value.
func Some[T any](v T) Opt[T] { return Opt[T]{Value: v, Set: true} }

// Get returns the value and whether there is one.
func (o Opt[T]) Get() (T, bool) { return o.Value, o.Set }

// Or returns the value, or def if it is absent.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}

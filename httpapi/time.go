package httpapi

import "time"

// Time is a time in the API: RFC 3339 in UTC. It is cut to the range that the format
// can tell.
type Time struct{ time.Time }

var (
	firstTime = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	lastTime  = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

func timeOf(t time.Time) Time {
	switch {
	case t.IsZero():
		return Time{}
	case t.Before(firstTime):
		t = firstTime
	case t.After(lastTime):
		t = lastTime
	}
	return Time{t.UTC()}
}

// mostMillis bounds durations in requests: a hundred years.
const mostMillis = 100 * 365 * 24 * int64(time.Hour/time.Millisecond)

// millis reads a duration of a request.
func millis(field string, ms, least int64) (time.Duration, error) {
	if ms < least || ms > mostMillis {
		return 0, invalid(field, "cannot be %d; use %d to %d milliseconds", ms, least, mostMillis)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// inMillis tells a duration that may be absent.
func inMillis(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

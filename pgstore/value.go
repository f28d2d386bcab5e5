package pgstore

import (
	"math"

	"github.com/braidmq/braid/driver"
)

const (
	minTime = driver.Time(math.MinInt64)
	maxTime = driver.Time(math.MaxInt64)
)

func pointer[T any](v T) *T { return &v }

// optional is NULL for the empty string.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return pointer(text) // text itself would be allocated even where it is empty
}

// optionalBytes is NULL for an absent value.
func optionalBytes(value []byte) *string {
	if len(value) == 0 {
		return nil
	}
	return pointer(string(value))
}

// optionalTime is NULL for an absent time.
func optionalTime(t driver.Opt[driver.Time]) *int64 {
	if !t.Set {
		return nil
	}
	return pointer(int64(t.Value))
}

// optionalNumber is NULL for 0.
func optionalNumber(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// timeOf is the way back from optionalTime.
func timeOf(t *int64) driver.Opt[driver.Time] {
	if t == nil {
		return driver.Opt[driver.Time]{}
	}
	return driver.Some(driver.Time(*t))
}

// orZero returns what a column holds, the zero value for NULL.
func orZero[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}

// bytesOf is the way back from optionalBytes.
func bytesOf(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

package engine

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/braidmq/braid/driver"
)

// maxDelay bounds every delay (100 years), so that no store meets a time that it
// cannot represent exactly.
const maxDelay = driver.Millis(100 * 365 * 24 * 3_600_000)

// RetryDelay returns the delay before the attempt that follows attempt number
// attempt (1-based). It saturates instead of overflowing, and draws the jitter.
func RetryDelay(b driver.Backoff, attempt int) driver.Millis {
	ceiling := maxDelay
	if b.Max > 0 {
		ceiling = min(ceiling, b.Max)
	}
	delay := min(max(b.Delay, 0), ceiling)
	if b.Kind == driver.BackoffExponential && attempt > 1 && delay > 0 {
		factor := b.Factor
		if !(factor > 0) { // also NaN
			factor = 2
		}
		grown := float64(delay) * math.Pow(factor, float64(attempt-1))
		if grown < float64(ceiling) {
			delay = driver.Millis(grown)
		} else {
			delay = ceiling
		}
	}
	jitter := b.Jitter
	if !(jitter > 0) {
		return delay
	}
	spread := driver.Millis(float64(delay) * min(jitter, 1))
	return delay - driver.Millis(rand.Int64N(int64(spread)+1))
}

// The waits between calls to a store that fails.
const (
	firstWait = 25 * time.Millisecond
	maxWait   = 5 * time.Second
)

// outageWait returns how long to wait after so many failures in a row: doubling,
// capped, and anywhere in the upper half, so that workers do not knock in step.
func outageWait(failures int) time.Duration {
	wait := maxWait
	if failures < 9 {
		wait = min(maxWait, firstWait<<max(failures-1, 0))
	}
	return wait/2 + rand.N(wait/2)
}

// jittered returns d, up to a tenth longer or shorter.
func jittered(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

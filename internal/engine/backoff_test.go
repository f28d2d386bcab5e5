package engine

import (
	"math"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
)

func TestTheDelayGrowsSaturatesAndKeepsItsCap(t *testing.T) {
	exponential := driver.Backoff{Kind: driver.BackoffExponential, Delay: 1000}
	for _, c := range []struct {
		change  func(*driver.Backoff)
		attempt int
		want    driver.Millis
	}{
		{func(*driver.Backoff) {}, 1, 1000},
		{func(*driver.Backoff) {}, 4, 8000},
		{func(b *driver.Backoff) { b.Factor = 3 }, 3, 9000},
		{func(b *driver.Backoff) { b.Factor = 1.5 }, 2, 1500},
		{func(b *driver.Backoff) { b.Factor = 1 }, 400, 1000},
		{func(b *driver.Backoff) { b.Max = 3_600_000 }, 400, 3_600_000},
		{func(b *driver.Backoff) { b.Max = 500 }, 1, 500},
		{func(*driver.Backoff) {}, 400, maxDelay},
		{func(*driver.Backoff) {}, math.MaxInt32, maxDelay},
		{func(b *driver.Backoff) { b.Factor = math.NaN() }, 2, 2000},
		{func(b *driver.Backoff) { b.Factor = math.Inf(1) }, 2, maxDelay},
		{func(b *driver.Backoff) { b.Factor = -1 }, 2, 2000},
		{func(b *driver.Backoff) { b.Delay = math.MaxInt64 }, 2, maxDelay},
		{func(b *driver.Backoff) { b.Delay = -5 }, 3, 0},
		{func(b *driver.Backoff) { b.Delay = 0 }, 2000, 0},
		{func(b *driver.Backoff) { b.Kind = driver.BackoffFixed }, 400, 1000},
	} {
		b := exponential
		c.change(&b)
		if got := RetryDelay(b, c.attempt); got != c.want {
			t.Errorf("the delay of %+v after attempt %d is %d, want %d", b, c.attempt, got, c.want)
		}
	}
}

func TestJitterStaysWithinItsBounds(t *testing.T) {
	for _, c := range []struct {
		jitter float64
		low    driver.Millis
	}{{0.2, 800}, {1, 0}, {7, 0}, {math.NaN(), 1000}, {-1, 1000}} {
		b := driver.Backoff{Kind: driver.BackoffFixed, Delay: 1000, Jitter: c.jitter}
		least, most := driver.Millis(math.MaxInt64), driver.Millis(-1)
		for range 5000 {
			d := RetryDelay(b, 1)
			least, most = min(least, d), max(most, d)
		}
		if least < c.low || most > 1000 || most < 990 || least > c.low+10 {
			t.Errorf("jitter %v gave %d to %d, want %d to 1000", c.jitter, least, most, c.low)
		}
	}
	if d := RetryDelay(driver.Backoff{Kind: driver.BackoffExponential, Delay: math.MaxInt64, Jitter: 1}, 400); d < 0 || d > maxDelay {
		t.Errorf("a saturated delay with jitter is %d", d)
	}
}

func TestWaitsForAStoreThatFailsGrowToFiveSeconds(t *testing.T) {
	for failures := range 200 {
		wait := outageWait(failures)
		if wait <= 0 || wait > 5*time.Second {
			t.Errorf("after %d failures the wait is %v", failures, wait)
		}
		if failures > 10 && wait < 2*time.Second {
			t.Errorf("after %d failures the wait is only %v", failures, wait)
		}
	}
}

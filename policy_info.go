package braid

import (
	"time"

	"github.com/braidmq/braid/driver"
)

// BackoffInfo is a backoff policy as the store has it; see [Backoff].
type BackoffInfo struct {
	Kind   string        `json:"kind"` // "fixed" or "exponential"
	Delay  time.Duration `json:"delay"`
	Factor float64       `json:"factor,omitempty"` // of an exponential one
	Cap    time.Duration `json:"cap,omitempty"`    // 0: none
	Jitter float64       `json:"jitter,omitempty"` // 0 to 1
}

// KeepInfo is which finished jobs stay, as the store has it; see [Keep].
type KeepInfo struct {
	Completed RetentionInfo `json:"completed,omitzero"`
	Failed    RetentionInfo `json:"failed,omitzero"`
	Cancelled RetentionInfo `json:"cancelled,omitzero"`
}

// RetentionInfo bounds the finished jobs of one name and state. Its zero value
// bounds nothing.
type RetentionInfo struct {
	Last *int64         `json:"last,omitempty"` // as [KeepLast]; nil: any number
	For  *time.Duration `json:"for,omitempty"`  // as [KeepFor]; nil: for any time
}

// newBackoffInfo is nil for no policy.
func newBackoffInfo(b *driver.Backoff) *BackoffInfo {
	if b == nil {
		return nil
	}
	info := &BackoffInfo{Kind: "fixed", Delay: b.Delay.Std(), Cap: b.Max.Std(), Jitter: b.Jitter}
	if b.Kind == driver.BackoffExponential {
		info.Kind, info.Factor = "exponential", b.Factor
		if b.Factor == 0 {
			info.Factor = 2
		}
	}
	return info
}

// newKeepInfo is nil for no policy.
func newKeepInfo(k *driver.Keep) *KeepInfo {
	if k == nil {
		return nil
	}
	return &KeepInfo{
		Completed: newRetentionInfo(k.Completed), Failed: newRetentionInfo(k.Failed), Cancelled: newRetentionInfo(k.Cancelled),
	}
}

func newRetentionInfo(r driver.Retention) (info RetentionInfo) {
	if count, ok := r.Count.Get(); ok {
		info.Last = &count
	}
	info.For = stdDuration(r.Age)
	return info
}

func stdDuration(d driver.Opt[driver.Millis]) *time.Duration {
	if !d.Set {
		return nil
	}
	std := d.Value.Std()
	return &std
}

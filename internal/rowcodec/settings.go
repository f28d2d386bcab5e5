package rowcodec

import (
	"sync"

	"github.com/braidmq/braid/driver"
)

// jobSettings are the parts of a job that are often the same for all of a name, as
// they are stored.
type jobSettings struct {
	Backoff *storedBackoff `json:"backoff,omitempty"`
	Keep    *storedKeep    `json:"keep,omitempty"`
	Timeout *int64         `json:"timeout,omitempty"`
}

type storedBackoff struct {
	Kind   uint8   `json:"kind"`
	Delay  int64   `json:"delay"`
	Factor float64 `json:"factor,omitempty"`
	Max    int64   `json:"max,omitempty"`
	Jitter float64 `json:"jitter,omitempty"`
}

type storedKeep struct {
	Completed *storedRetention `json:"completed,omitempty"`
	Failed    *storedRetention `json:"failed,omitempty"`
	Cancelled *storedRetention `json:"cancelled,omitempty"`
}

type storedRetention struct {
	Count *int64 `json:"count,omitempty"`
	Age   *int64 `json:"age,omitempty"`
}

// EncodeSettings returns the text of a job's backoff, keep and timeout.
func EncodeSettings(backoff *driver.Backoff, keep *driver.Keep, timeout driver.Opt[driver.Millis]) string {
	if backoff == nil && keep == nil && !timeout.Set {
		return ""
	}
	var s jobSettings
	if backoff != nil {
		s.Backoff = &storedBackoff{Kind: uint8(backoff.Kind), Delay: int64(backoff.Delay), Factor: backoff.Factor,
			Max: int64(backoff.Max), Jitter: backoff.Jitter}
	}
	if keep != nil {
		s.Keep = &storedKeep{Completed: encodeRetention(keep.Completed), Failed: encodeRetention(keep.Failed),
			Cancelled: encodeRetention(keep.Cancelled)}
	}
	if timeout.Set {
		ms := int64(timeout.Value)
		s.Timeout = &ms
	}
	return encodeJSON(s)
}

func encodeRetention(r driver.Retention) *storedRetention {
	if !r.Count.Set && !r.Age.Set {
		return nil
	}
	var s storedRetention
	if r.Count.Set {
		s.Count = &r.Count.Value
	}
	if r.Age.Set {
		ms := int64(r.Age.Value)
		s.Age = &ms
	}
	return &s
}

// Plan is what a job's settings say.
type Plan struct {
	Backoff *driver.Backoff
	Keep    *driver.Keep
	Timeout driver.Opt[driver.Millis]
}

func decodeSettings(text string) (Plan, error) {
	var s jobSettings
	if err := decodeJSON("settings", text, &s); err != nil {
		return Plan{}, err
	}
	var p Plan
	if b := s.Backoff; b != nil {
		p.Backoff = &driver.Backoff{Kind: driver.BackoffKind(b.Kind), Delay: driver.Millis(b.Delay), Factor: b.Factor,
			Max: driver.Millis(b.Max), Jitter: b.Jitter}
	}
	if k := s.Keep; k != nil {
		p.Keep = &driver.Keep{Completed: decodeRetention(k.Completed), Failed: decodeRetention(k.Failed),
			Cancelled: decodeRetention(k.Cancelled)}
	}
	if s.Timeout != nil {
		p.Timeout = driver.Some(driver.Millis(*s.Timeout))
	}
	return p, nil
}

func decodeRetention(s *storedRetention) (r driver.Retention) {
	if s == nil {
		return r
	}
	if s.Count != nil {
		r.Count = driver.Some(*s.Count)
	}
	if s.Age != nil {
		r.Age = driver.Some(driver.Millis(*s.Age))
	}
	return r
}

// Plans remembers what texts of settings mean: there are few, and each stands on many
// jobs. The zero value is ready, and any number of goroutines may use it at once.
type Plans struct {
	mu    sync.Mutex
	plans map[string]Plan
}

// mostPlans bounds the cache.
const mostPlans = 1024

// Plan returns what a text of [EncodeSettings] says. It is shared: callers must not change it.
func (c *Plans) Plan(text string) (Plan, error) {
	if text == "" {
		return Plan{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.plans[text]; ok {
		return p, nil
	}
	p, err := decodeSettings(text)
	if err != nil {
		return Plan{}, err
	}
	if c.plans == nil || len(c.plans) >= mostPlans {
		c.plans = map[string]Plan{}
	}
	c.plans[text] = p
	return p, nil
}

package pgstore

import (
	"encoding/json"
	"fmt"
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

type storedTrace struct {
	TraceID string `json:"trace"`
	SpanID  string `json:"span"`
	Sampled bool   `json:"sampled,omitempty"`
	Delayed bool   `json:"delayed,omitempty"`
}

type storedEnvelope struct {
	FlowName       string `json:"flowName"`
	FlowID         string `json:"flowId"`
	Run            string `json:"run"`
	ChildKey       string `json:"childKey"`
	ParentStoreKey string `json:"parentStoreKey"`
	Depth          int32  `json:"depth"`
}

// encodeJSON returns the JSON of a value that always has one.
func encodeJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("pgstore: %T cannot be encoded: %v", v, err))
	}
	return string(text)
}

func decodeJSON(column, text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("the column %s reads %q: %w", column, text, err)
	}
	return nil
}

func encodeMetadata(m map[string]string) *string {
	if len(m) == 0 {
		return nil
	}
	return pointer(encodeJSON(m))
}

func decodeMetadata(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var m map[string]string
	return m, decodeJSON("metadata", text, &m)
}

func encodeSettings(backoff *driver.Backoff, keep *driver.Keep, timeout driver.Opt[driver.Millis]) *string {
	if backoff == nil && keep == nil && !timeout.Set {
		return nil
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
	return pointer(encodeJSON(s))
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

// plan is what a job's settings say.
type plan struct {
	backoff *driver.Backoff
	keep    *driver.Keep
	timeout driver.Opt[driver.Millis]
}

func decodeSettings(text string) (plan, error) {
	var s jobSettings
	if err := decodeJSON("settings", text, &s); err != nil {
		return plan{}, err
	}
	var p plan
	if b := s.Backoff; b != nil {
		p.backoff = &driver.Backoff{Kind: driver.BackoffKind(b.Kind), Delay: driver.Millis(b.Delay), Factor: b.Factor,
			Max: driver.Millis(b.Max), Jitter: b.Jitter}
	}
	if k := s.Keep; k != nil {
		p.keep = &driver.Keep{Completed: decodeRetention(k.Completed), Failed: decodeRetention(k.Failed),
			Cancelled: decodeRetention(k.Cancelled)}
	}
	if s.Timeout != nil {
		p.timeout = driver.Some(driver.Millis(*s.Timeout))
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

// settingsCache remembers what texts of settings mean: there are few, and each
// stands on many jobs. What it returns is shared and never changes.
type settingsCache struct {
	mu    sync.Mutex
	plans map[string]plan
}

// mostPlans bounds the cache.
const mostPlans = 1024

func (c *settingsCache) plan(text string) (plan, error) {
	if text == "" {
		return plan{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.plans[text]; ok {
		return p, nil
	}
	p, err := decodeSettings(text)
	if err != nil {
		return plan{}, err
	}
	if c.plans == nil || len(c.plans) >= mostPlans {
		c.plans = map[string]plan{}
	}
	c.plans[text] = p
	return p, nil
}

func encodeTrace(t *driver.Trace) *string {
	if t == nil {
		return nil
	}
	return pointer(encodeJSON(storedTrace(*t)))
}

func decodeTrace(text string) (*driver.Trace, error) {
	if text == "" {
		return nil, nil
	}
	var s storedTrace
	if err := decodeJSON("trace", text, &s); err != nil {
		return nil, err
	}
	t := driver.Trace(s)
	return &t, nil
}

func encodeEnvelope(e *driver.Envelope) *string {
	if e == nil {
		return nil
	}
	return pointer(encodeJSON(storedEnvelope(*e)))
}

func decodeEnvelope(text string) (*driver.Envelope, error) {
	if text == "" {
		return nil, nil
	}
	var s storedEnvelope
	if err := decodeJSON("parent", text, &s); err != nil {
		return nil, err
	}
	e := driver.Envelope(s)
	return &e, nil
}

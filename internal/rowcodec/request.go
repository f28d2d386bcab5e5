package rowcodec

import "github.com/braidmq/braid/driver"

// storedRequest is what a flow's child asks for, but for its payload, as it is
// stored.
type storedRequest struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Queue       string            `json:"queue"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Priority    int32             `json:"priority,omitempty"`
	AttemptsMax int32             `json:"attemptsMax"`
	Settings    string            `json:"settings,omitempty"`
	Trace       *storedTrace      `json:"trace,omitempty"`
	Parent      *storedEnvelope   `json:"parent,omitempty"`
	Delay       int64             `json:"delay,omitempty"`
	Dedupe      *storedDedupe     `json:"dedupe,omitempty"`
}

type storedDedupe struct {
	Key     string `json:"key"`
	TTL     *int64 `json:"ttl,omitempty"`
	Extend  bool   `json:"extend,omitempty"`
	Replace bool   `json:"replace,omitempty"`
}

// EncodeRequest returns the text of what a flow's child asks for, but for its payload.
func EncodeRequest(r *driver.EnqueueRequest) string {
	s := storedRequest{
		ID: r.ID, Name: r.Name, Queue: r.Queue, Metadata: r.Metadata, Priority: r.Priority,
		AttemptsMax: r.AttemptsMax, Settings: EncodeSettings(r.Backoff, r.Keep, r.Timeout), Delay: int64(r.Delay),
		Trace: (*storedTrace)(r.Trace), Parent: (*storedEnvelope)(r.Parent),
	}
	if d := r.Dedupe; d != nil {
		s.Dedupe = &storedDedupe{Key: d.Key, Extend: d.Extend, Replace: d.Replace}
		if d.TTL.Set {
			ms := int64(d.TTL.Value)
			s.Dedupe.TTL = &ms
		}
	}
	return encodeJSON(s)
}

// Request is the way back from [EncodeRequest], with the payload that was kept
// beside the text.
func (c *Plans) Request(text string, payload []byte) (*driver.EnqueueRequest, error) {
	var stored storedRequest
	if err := decodeJSON("request", text, &stored); err != nil {
		return nil, err
	}
	p, err := c.Plan(stored.Settings)
	if err != nil {
		return nil, err
	}
	r := &driver.EnqueueRequest{
		ID: stored.ID, Delay: driver.Millis(stored.Delay),
		Spec: driver.Spec{
			Name: stored.Name, Queue: stored.Queue, Payload: payload, Metadata: stored.Metadata,
			Priority: stored.Priority, AttemptsMax: stored.AttemptsMax,
			Backoff: p.Backoff, Keep: p.Keep, Timeout: p.Timeout,
			Trace: (*driver.Trace)(stored.Trace), Parent: (*driver.Envelope)(stored.Parent),
		},
	}
	if d := stored.Dedupe; d != nil {
		r.Dedupe = &driver.Dedupe{Key: d.Key, Extend: d.Extend, Replace: d.Replace}
		if d.TTL != nil {
			r.Dedupe.TTL = driver.Some(driver.Millis(*d.TTL))
		}
	}
	return r, nil
}

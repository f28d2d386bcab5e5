package rowcodec

import (
	"encoding/json"
	"fmt"

	"github.com/braidmq/braid/driver"
)

// EncodeMetadata returns the text of a job's metadata.
func EncodeMetadata(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	return encodeJSON(m)
}

// DecodeMetadata is the way back from [EncodeMetadata].
func DecodeMetadata(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	var m map[string]string
	return m, decodeJSON("metadata", text, &m)
}

type storedTrace struct {
	TraceID string `json:"trace"`
	SpanID  string `json:"span"`
	Sampled bool   `json:"sampled,omitempty"`
	Delayed bool   `json:"delayed,omitempty"`
}

// EncodeTrace returns the text of a trace.
func EncodeTrace(t *driver.Trace) string {
	if t == nil {
		return ""
	}
	return encodeJSON(storedTrace(*t))
}

// DecodeTrace is the way back from [EncodeTrace].
func DecodeTrace(text string) (*driver.Trace, error) {
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

type storedEnvelope struct {
	FlowName       string `json:"flowName"`
	FlowID         string `json:"flowId"`
	Run            string `json:"run"`
	ChildKey       string `json:"childKey"`
	ParentStoreKey string `json:"parentStoreKey"`
	Depth          int32  `json:"depth"`
}

// EncodeEnvelope returns the text of what a flow's child knows of its parent.
func EncodeEnvelope(e *driver.Envelope) string {
	if e == nil {
		return ""
	}
	return encodeJSON(storedEnvelope(*e))
}

// DecodeEnvelope is the way back from [EncodeEnvelope].
func DecodeEnvelope(text string) (*driver.Envelope, error) {
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

// encodeJSON returns the JSON of a value that always has one.
func encodeJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("rowcodec: %T cannot be encoded: %v", v, err))
	}
	return string(text)
}

func decodeJSON(column, text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("the column %s reads %q: %w", column, text, err)
	}
	return nil
}

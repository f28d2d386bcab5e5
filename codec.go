package braid

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// None is the payload of jobs that need none, and the result of jobs that return
// none. Nothing is stored for it.
type None = struct{}

// encoder is a JSON encoder with the buffer that it writes to, for use again.
type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}}

// largestBuffer bounds the memory that an encoder keeps between uses.
const largestBuffer = 64 << 10

// encode returns v as JSON, without escaping what only HTML needs escaped. None is
// encoded as absent.
func encode[T any](v T) ([]byte, error) {
	switch v := any(v).(type) {
	case None:
		return nil, nil
	case json.RawMessage:
		return encodeRaw(v)
	}
	e := encoders.Get().(*encoder)
	e.buf.Reset()
	if err := e.enc.Encode(v); err != nil {
		return nil, err // the encoder remembers it, and is not used again
	}
	encoded := bytes.Clone(bytes.TrimSuffix(e.buf.Bytes(), []byte{'\n'}))
	if e.buf.Cap() <= largestBuffer {
		encoders.Put(e)
	}
	return encoded, nil
}

// encodeRaw copies JSON that the caller encoded, byte for byte. Empty is absent.
func encodeRaw(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if !json.Valid(raw) {
		return nil, errors.New("it is not valid JSON")
	}
	return bytes.Clone(raw), nil
}

// decode reads data into a T; absent data is the zero value.
func decode[T any](data []byte) (v T, err error) {
	if len(data) == 0 {
		return v, nil
	}
	if raw, ok := any(&v).(*json.RawMessage); ok {
		*raw = bytes.Clone(data)
		return v, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, describeDecodeError(err, reflect.TypeFor[T]())
	}
	return v, nil
}

// describeDecodeError names the field that did not fit.
func describeDecodeError(err error, into reflect.Type) error {
	var typeErr *json.UnmarshalTypeError
	if errors.As(err, &typeErr) && typeErr.Field != "" {
		return fmt.Errorf("field %q of %v does not take a JSON %s: %w", typeErr.Field, into, typeErr.Value, err)
	}
	return fmt.Errorf("cannot read it as %v: %w", into, err)
}

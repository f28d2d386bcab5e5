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

var encodeBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// encode returns v as JSON, without escaping what only HTML needs escaped. None is
// encoded as absent.
func encode[T any](v T) ([]byte, error) {
	switch v := any(v).(type) {
	case None:
		return nil, nil
	case json.RawMessage:
		return encodeRaw(v)
	}
	buf := encodeBuffers.Get().(*bytes.Buffer)
	defer encodeBuffers.Put(buf)
	buf.Reset()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})), nil
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

package braid

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"unicode/utf8"
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
	if !utf8.Valid(encoded) { // from a json.RawMessage inside, or a MarshalJSON
		return nil, errNotUTF8
	}
	if e.buf.Cap() <= largestBuffer {
		encoders.Put(e)
	}
	return encoded, nil
}

var errNotUTF8 = errors.New("it is not valid UTF-8")

// encodeRaw copies JSON that the caller encoded, byte for byte. Empty is absent.
func encodeRaw(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if !json.Valid(raw) {
		return nil, errors.New("it is not valid JSON")
	}
	if !utf8.Valid(raw) { // which json.Valid lets pass
		return nil, errNotUTF8
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
		return v, describeDecodeError(err, data, reflect.TypeFor[T]())
	}
	return v, nil
}

package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrorExit is the JSON that is stored as the exit of a failed or retried run.
type ErrorExit struct {
	Message string `json:"message"`
	// Type is the Go type of the error under its plain wrappers, such as
	// *fs.PathError; "panic", "goexit", "timeout" or "encode" for errors of Braid's
	// own; empty if the type says nothing.
	Type  string `json:"type,omitempty"`
	Stack string `json:"stack,omitempty"` // of a panic
}

// The most that an ErrorExit holds, in bytes of text.
const (
	maxMessageBytes = 64 << 10
	maxStackBytes   = 32 << 10
	maxTypeBytes    = 256
)

// maxLogBytes is how much of an error's text goes into a log line; the job keeps more.
const maxLogBytes = 1 << 10

// logText is the text of an error for a log line.
func logText(err error) string { return cleanText(errorText(err), maxLogBytes) }

// NewErrorExit describes err. What is not valid UTF-8, and NUL, is replaced; what
// is too long is cut.
func NewErrorExit(err error) ErrorExit {
	exit := ErrorExit{Message: cleanText(errorText(err), maxMessageBytes), Type: cleanText(errorType(err), maxTypeBytes)}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		exit.Stack = cleanText(string(panicked.Stack), maxStackBytes)
	}
	return exit
}

// Clean returns the exit with its texts made fit for a store, as NewErrorExit makes
// them.
func (e ErrorExit) Clean() ErrorExit {
	return ErrorExit{
		Message: cleanText(e.Message, maxMessageBytes), Type: cleanText(e.Type, maxTypeBytes), Stack: cleanText(e.Stack, maxStackBytes),
	}
}

// Encode returns the exit as JSON.
func (e ErrorExit) Encode() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return []byte(`{"message":"braid: the error cannot be encoded"}`)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// errorType names what kind of error err is. It looks at each wrapper in turn, from
// the outside, because the first one with a type of its own gives the name.
func errorType(err error) string {
	for err != nil {
		switch e := any(err).(type) {
		case *PanicError:
			if e.Exit {
				return "goexit"
			}
			return "panic"
		case *TimeoutError:
			return "timeout"
		case *EncodeError:
			return "encode"
		}
		var inner error
		switch e := any(err).(type) {
		case interface{ Unwrap() error }:
			inner = e.Unwrap()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				inner = all[0]
			}
		}
		name := fmt.Sprintf("%T", err)
		if !plainType(name) {
			return name
		}
		err = inner
	}
	return ""
}

// plainType reports whether an error type only carries text or another error.
func plainType(name string) bool {
	switch name {
	case "*errors.errorString", "*errors.joinError", "*fmt.wrapError", "*fmt.wrapErrors",
		"*engine.unrecoverableError":
		return true
	}
	return false
}

// cleanText replaces what no store can hold and cuts at a whole character.
func cleanText(text string, limit int) string {
	if len(text) > limit {
		cut := limit
		for cut > limit-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

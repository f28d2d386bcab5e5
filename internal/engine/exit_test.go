package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAnExitNamesTheErrorUnderItsPlainWrappers(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "p", Err: io.EOF}
	for want, err := range map[string]error{
		"*fs.PathError": fmt.Errorf("a: %w", errors.Join(Unrecoverable(fmt.Errorf("b: %w", path)))),
		"*url.Error":    &url.Error{Op: "Get", URL: "u", Err: path},
		"":              fmt.Errorf("a: %w", errors.New("b")),
		"timeout":       &TimeoutError{After: 1, Err: path},
		"encode":        fmt.Errorf("a: %w", &EncodeError{Err: path}),
		"panic":         &PanicError{Value: path},
	} {
		if exit := NewErrorExit(err); exit.Type != want {
			t.Errorf("%v has the type %q, want %q", err, exit.Type, want)
		}
	}
}

func TestAnExitIsBoundedAndAlwaysTextThatStoresCanHold(t *testing.T) {
	for _, message := range []string{
		strings.Repeat("é", maxMessageBytes), "x" + strings.Repeat("é", maxMessageBytes),
		strings.Repeat("\xff\x00", maxMessageBytes), strings.Repeat("\x80", maxMessageBytes+1),
	} {
		exit := NewErrorExit(&PanicError{Value: message, Stack: []byte(message)})
		if len(exit.Message) > 3*maxMessageBytes+8 || len(exit.Stack) > 3*maxStackBytes+8 {
			t.Errorf("the exit holds %d and %d bytes", len(exit.Message), len(exit.Stack))
		}
		encoded := exit.Encode()
		if !utf8.Valid(encoded) || !json.Valid(encoded) || strings.Contains(string(encoded), `\u0000`) {
			t.Error("the encoded exit is not clean JSON")
		}
		var back ErrorExit
		if err := json.Unmarshal(encoded, &back); err != nil || back != exit {
			t.Errorf("the exit does not come back: %v", err)
		}
	}
	cut := NewErrorExit(errors.New("x" + strings.Repeat("é", maxMessageBytes))).Message
	if strings.ContainsRune(cut, '\uFFFD') || !strings.HasSuffix(cut, "…") {
		t.Error("a long message was not cut at a whole character")
	}
}

func TestALogLineHoldsAKilobyteOfAnErrorAndItsJobMore(t *testing.T) {
	err := errors.New(strings.Repeat("é", 10_000))
	if text := logText(err); len(text) > maxLogBytes+4 || !utf8.ValidString(text) {
		t.Errorf("%d bytes for a log line", len(text))
	}
	if exit := NewErrorExit(err); exit.Message != err.Error() {
		t.Errorf("the job keeps %d bytes of %d", len(exit.Message), len(err.Error()))
	}
}

func TestATimeoutIsToldOnce(t *testing.T) {
	cause := &TimeoutError{After: 1}
	if text := (&TimeoutError{After: 1, Err: cause}).Error(); text != cause.Error() {
		t.Errorf("a handler that returns the cause of its context: %q, want %q", text, cause)
	}
	if text := (&TimeoutError{After: 1, Err: io.EOF}).Error(); text != cause.Error()+": EOF" {
		t.Errorf("%q", text)
	}
}

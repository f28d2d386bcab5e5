package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// bodyPatience is how long a caller may take to send a body.
const bodyPatience = time.Minute

// decode reads the body, strictly: one JSON object of known fields.
func (c *call) decode(into any) error {
	raw, err := c.readBody()
	if err != nil {
		return err
	}
	if !utf8.Valid(raw) {
		return invalid("", "the body is not valid UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return decodeError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("", "the body goes on behind the JSON object; send one")
	}
	return nil
}

func (c *call) readBody() ([]byte, error) {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Code: CodeMediaType,
			Message: "the body must be JSON; send it with Content-Type: application/json"}
	}
	// Not every writer can set deadlines; those of a server can.
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(bodyPatience))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	raw, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, c.h.limits.BodyBytes))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge,
			Message: "the body is too long; the limit is " + decimal(large.Limit) + " bytes"}
	case err != nil:
		return nil, invalid("", "the body could not be read: %v", err)
	}
	return raw, nil
}

// decodeError names the field that did not fit, as the decoder tells it.
func decodeError(err error) *Error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	text := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &wrong):
		// The decoder also names the Go structs that only group fields.
		return invalid(strings.ReplaceAll(wrong.Field, "JobOptions.", ""), "does not take a JSON %s", wrong.Value)
	case errors.As(err, &syntax):
		return invalid("", "the body is not valid JSON: %s (at byte %d)", text, syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return invalid("", "the body is empty, or ends too early; send a JSON object")
	}
	if field, ok := strings.CutPrefix(text, "unknown field "); ok {
		return invalid(strings.Trim(field, `"`), "is not a field of this request; see %sopenapi.json", Prefix)
	}
	return invalid("", "the body does not fit: %s", text)
}

// reply writes a value as JSON. Nothing is written before the value is known to fit.
func (h *Handler) reply(w http.ResponseWriter, r *http.Request, status int, value any) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // payloads are shown as they are; the type says that this is no page
	if err := encoder.Encode(value); err != nil {
		h.logger.Error("braid: a reply of the HTTP API cannot be encoded", "method", r.Method, "path", r.URL.Path, "error", err)
		status = http.StatusInternalServerError
		out.Reset()
		out.WriteString(`{"error":{"code":"internal","message":"something went wrong; the log tells what"}}` + "\n")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", decimal(int64(out.Len())))
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the caller may have gone
}

// shown is a stored JSON value as a reply holds it: what is not JSON, because somebody
// else wrote it into the store, is shown as a string.
func shown(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	text, err := json.Marshal(strings.ToValidUTF8(string(raw), "\uFFFD"))
	if err != nil {
		return json.RawMessage(`null`)
	}
	return text
}

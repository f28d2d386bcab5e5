package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// decode reads the body, strictly: one JSON object of known fields.
func (c *call) decode(into any) error {
	raw, err := c.readBody()
	if err != nil {
		return err
	}
	if !utf8.Valid(raw) {
		return invalid("", "the body is not valid UTF-8")
	}
	if !json.Valid(raw) {
		return syntaxError(raw)
	}
	if err := checkShape(raw, reflect.TypeOf(into)); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return invalid("", "the body does not fit: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// syntaxError tells where a body stops being JSON.
func syntaxError(raw []byte) *Error {
	var skipped struct{}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(raw, &skipped); !errors.As(err, &syntax) || int(syntax.Offset) >= len(raw) {
		return invalid("", "the body is empty, or ends too early; send a JSON object")
	}
	return invalid("", "the body is not valid JSON: %s (at byte %d); send one JSON object", syntax.Error(), syntax.Offset)
}

// encode makes the JSON of a reply, and its status.
func (h *Handler) encode(r *http.Request, status int, value any) (int, []byte) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // payloads are shown as they are; the type says that this is no page
	if err := encoder.Encode(value); err != nil {
		h.logger.Error("braid: a reply of the HTTP API cannot be encoded", "method", r.Method, "path", r.URL.Path, "error", err)
		return http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"something went wrong; the log tells what"}}` + "\n")
	}
	return status, out.Bytes()
}

// reply writes a value as JSON. Nothing is written before the value is known to fit.
func (h *Handler) reply(w http.ResponseWriter, r *http.Request, status int, value any) {
	status, out := h.encode(r, status, value)
	h.send(w, status, out)
}

// How a reply is written: in parts, each of which its reader must take in time.
const (
	sendPart     = 256 << 10
	sendPatience = 10 * time.Second
)

// send writes a reply.
func (h *Handler) send(w http.ResponseWriter, status int, out []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", decimal(int64(len(out))))
	control := http.NewResponseController(w)
	deadline := h.deadline(control.SetWriteDeadline)
	deadline.set(time.Now().Add(sendPatience))
	w.WriteHeader(status)
	var err error
	for part := range slices.Chunk(out, sendPart) {
		deadline.set(time.Now().Add(sendPatience))
		if _, err = w.Write(part); err != nil { // the caller may have gone
			break
		}
	}
	if err == nil {
		err = control.Flush() // while the deadline holds
	}
	deadline.end(err == nil || errors.Is(err, http.ErrNotSupported))
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

package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

// How long a caller may take to send a body: altogether, and without sending anything.
const (
	bodyPatience  = time.Minute
	stallPatience = 10 * time.Second
)

// readBody reads the body. What it holds in memory counts against the budget until the
// request has been answered.
func (c *call) readBody() ([]byte, error) {
	limit := c.h.limits.BodyBytes
	if err := c.checkHeader(limit); err != nil {
		return nil, err
	}
	deadline := c.h.deadline(http.NewResponseController(c.w).SetReadDeadline)
	raw, err := c.readAll(http.MaxBytesReader(c.w, c.r.Body, limit), deadline)
	deadline.end(err == nil)
	if err == nil {
		return raw, nil
	}
	c.w.Header().Set("Connection", "close") // the rest of the body is in the way
	var large *http.MaxBytesError
	var own *Error
	switch {
	case errors.As(err, &own):
		return nil, own
	case errors.As(err, &large):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded) && c.h.draining.Err() != nil:
		return nil, unavailable("the server stops; try again")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Error{Status: http.StatusRequestTimeout, Code: CodeTimeout, Message: "the body did not come in time; send it within " +
			bodyPatience.String() + ", without a pause of " + stallPatience.String()}
	}
	return nil, invalid("", "the body broke off; send as many bytes as Content-Length tells")
}

// checkHeader refuses bodies that need not be read for it.
func (c *call) checkHeader(limit int64) error {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &Error{Status: http.StatusUnsupportedMediaType, Code: CodeMediaType,
			Message: "the body must be JSON; send it with Content-Type: application/json"}
	}
	if encoding := c.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &Error{Status: http.StatusUnsupportedMediaType, Code: CodeMediaType,
			Message: "the body is sent with Content-Encoding: " + clip(encoding) + "; send it as it is, without that header"}
	}
	if c.r.ContentLength > limit {
		return tooLarge(limit)
	}
	return nil
}

func tooLarge(limit int64) *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge,
		Message: "the body is too long; the limit is " + decimal(limit) + " bytes"}
}

func unavailable(message string) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: CodeUnavailable, Message: message}
}

// readAll reads to the end. Memory is taken as the body comes: a length that is only
// told takes none.
func (c *call) readAll(body io.Reader, deadline *deadline) ([]byte, error) {
	const first = 4 << 10
	most := c.h.limits.BodyBytes + 1
	if length := c.r.ContentLength; length >= 0 {
		most = length + 1 // so that the last reading meets the end
	}
	raw := make([]byte, 0, min(most, first))
	end := time.Now().Add(bodyPatience)
	for {
		if len(raw) == cap(raw) {
			size := max(min(2*int64(cap(raw)), most), int64(len(raw))+1)
			if !c.hold(size) {
				return nil, unavailable("too many long bodies are under way; try again, or send shorter ones")
			}
			raw = append(make([]byte, 0, size), raw...)
		}
		next := time.Now().Add(stallPatience)
		if next.After(end) {
			next = end
		}
		deadline.set(next)
		n, err := body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if errors.Is(err, io.EOF) {
			return raw, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// hold makes the request's body count as size bytes.
func (c *call) hold(size int64) bool {
	more := counted(size) - c.held
	if more > 0 && !c.h.budget.take(more) {
		return false
	}
	c.held += max(0, more)
	return true
}

// release gives back what the body has held.
func (c *call) release() {
	c.h.budget.give(c.held)
	c.held = 0
}

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/braidmq/braid"
)

// Code tells the kinds of errors apart.
type Code string

// The codes of errors.
const (
	CodeInvalid        Code = "invalid_request"        // 400: field tells which
	CodeUnauthorized   Code = "unauthorized"           // 401: no token, or an unknown one
	CodeForbidden      Code = "forbidden"              // 403: the token lacks the role, or another site asks
	CodeNotFound       Code = "not_found"              // 404
	CodeNotAllowed     Code = "method_not_allowed"     // 405
	CodeConflict       Code = "conflict"               // 409: the job is in a state in which that cannot be done
	CodeLockLost       Code = "lock_lost"              // 409: the job is not held under that token
	CodeTimeout        Code = "timeout"                // 408: the body did not come in time
	CodeTooLarge       Code = "too_large"              // 413
	CodeMediaType      Code = "unsupported_media_type" // 415: bodies are application/json
	CodeListOrder      Code = "list_unsupported"       // 400: the store cannot list that way
	CodePartial        Code = "partial"                // 503: applied tells how many items of the batch were stored
	CodeOutcomeUnknown Code = "outcome_unknown"        // 503: it may have happened all the same
	CodeUnavailable    Code = "unavailable"            // 503: try again
	CodeInternal       Code = "internal"               // 500
)

// Error is how a request failed. It is sent as {"error": …}.
type Error struct {
	Status  int    `json:"-"`
	Code    Code   `json:"code" doc:"The kind of error."`
	Message string `json:"message" doc:"What is wrong, and what to write instead."`
	Field   string `json:"field,omitempty" doc:"The part of the request that was refused."`
	State   string `json:"state,omitempty" doc:"The state of the job that stands in the way."`
	Applied *int   `json:"applied,omitempty" doc:"How many items of a batch, from the first on, were stored before it failed."`
}

// ErrorReply is the body of every answer that is not a success.
type ErrorReply struct {
	Error *Error `json:"error"`
}

func (e *Error) Error() string { return "braid: " + string(e.Code) + ": " + e.Message }

// invalid refuses a part of the request. The text goes on behind its name; with an
// empty field, which means the whole request, it stands alone.
func invalid(field, format string, args ...any) *Error {
	text := fmt.Sprintf(format, args...)
	if field != "" {
		text = field + " " + text
	}
	return &Error{Status: http.StatusBadRequest, Code: CodeInvalid, Field: field, Message: text}
}

// errorOf describes an error of the client to the caller.
func errorOf(err error) *Error {
	var own *Error
	var bad *braid.InvalidError
	var state *braid.StateError
	var partial *braid.PartialError
	var store *braid.StoreError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &partial):
		return &Error{Status: http.StatusServiceUnavailable, Code: CodePartial, Message: err.Error(), Applied: &partial.Applied}
	case errors.As(err, &bad):
		return &Error{Status: http.StatusBadRequest, Code: CodeInvalid, Field: bad.Field, Message: err.Error()}
	case errors.As(err, &state):
		return &Error{Status: http.StatusConflict, Code: CodeConflict, Message: err.Error(), State: state.State.String()}
	case errors.Is(err, braid.ErrNotFound):
		return &Error{Status: http.StatusNotFound, Code: CodeNotFound, Message: err.Error()}
	case errors.Is(err, braid.ErrLockLost):
		return &Error{Status: http.StatusConflict, Code: CodeLockLost, Message: err.Error()}
	case errors.Is(err, braid.ErrListOrderUnsupported), errors.Is(err, braid.ErrListIndexDisabled):
		return &Error{Status: http.StatusBadRequest, Code: CodeListOrder, Message: err.Error()}
	case errors.As(err, &store) && store.OutcomeUnknown:
		return &Error{Status: http.StatusServiceUnavailable, Code: CodeOutcomeUnknown, Message: "the store did not answer; it may have happened all the same"}
	case errors.As(err, &store) && store.Retryable, errors.Is(err, braid.ErrClientClosed), errors.Is(err, braid.ErrStoreClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &Error{Status: http.StatusServiceUnavailable, Code: CodeUnavailable, Message: "the store cannot be reached; try again"}
	}
	return &Error{Status: http.StatusInternalServerError, Code: CodeInternal, Message: "something went wrong; the log tells what"}
}

// fail answers with an error. What the caller cannot be told is logged.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := errorOf(err)
	switch {
	case e.Status == http.StatusInternalServerError:
		h.logger.Error("braid: a request of the HTTP API failed", "method", r.Method, "path", r.URL.Path, "error", err)
	case e.Status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
		if r.Context().Err() == nil {
			h.logger.Warn("braid: a request of the HTTP API could not be served", "method", r.Method, "path", r.URL.Path, "error", err)
		}
	}
	h.reply(w, r, e.Status, ErrorReply{Error: e})
}

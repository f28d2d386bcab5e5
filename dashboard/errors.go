package dashboard

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/braidmq/braid"
)

// failure is an error that people are told as it stands.
type failure struct {
	status int
	text   string
}

func (f *failure) Error() string { return "braid: " + f.text }

// failureOf describes an error of the client to people.
func failureOf(err error) *failure {
	var own *failure
	var invalid *braid.InvalidError
	var state *braid.StateError
	var store *braid.StoreError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &invalid):
		return &failure{http.StatusBadRequest, sentence(err)}
	case errors.As(err, &state):
		return &failure{http.StatusConflict, sentence(err)}
	case errors.Is(err, braid.ErrNotFound):
		return &failure{http.StatusNotFound, "It is not here (any more)."}
	case errors.Is(err, braid.ErrListOrderUnsupported):
		return &failure{http.StatusBadRequest, "The store cannot list jobs in this order with these filters. Ordered by when they were enqueued, it can."}
	case errors.Is(err, braid.ErrListIndexDisabled):
		return &failure{http.StatusBadRequest, "This list needs an index that the store was opened without."}
	case errors.As(err, &store) && store.OutcomeUnknown:
		return &failure{http.StatusServiceUnavailable, "The store did not answer. It may have happened all the same: look before you try again."}
	case errors.As(err, &store) && store.Retryable, errors.Is(err, braid.ErrClientClosed), errors.Is(err, braid.ErrStoreClosed),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &failure{http.StatusServiceUnavailable, "The store cannot be reached. Try again in a moment."}
	}
	return &failure{http.StatusInternalServerError, "Something went wrong; the log tells what."}
}

// sentence makes a sentence of an error.
func sentence(err error) string {
	text := strings.TrimPrefix(err.Error(), "braid: ")
	if text == "" {
		return "Something is wrong."
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// fail answers with an error. What people cannot be told is logged.
func (h *Handler) fail(c *call, err error) {
	f := failureOf(err)
	if f.status >= http.StatusInternalServerError && c.ctx.Err() == nil {
		h.logger.Error("braid: a page of the dashboard failed", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
	}
	if !c.access.Read && h.login != nil {
		c.access = Access{} // nothing that belongs to those who may look
	}
	c.renderStatus(f.status, &page{name: "error", Title: http.StatusText(f.status), Data: f.text})
}

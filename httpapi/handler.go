package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/braidmq/braid"
)

// Prefix is what the path of every request begins with.
const Prefix = "/api/v1/"

// Limits bound what one request may ask for. Zero fields take the default.
type Limits struct {
	BodyBytes int64         // of a request's body; default 32 MiB
	Batch     int           // items of one batch; default 1,000
	Page      int           // jobs of one page; default and most 1,000
	Wait      time.Duration // of a claim that waits for a job; default 60 s
	// HeldBytes bounds what bodies and replies of more than 64 KiB hold in memory, all
	// requests together; what would go beyond it is answered with the code unavailable.
	// Default 128 MiB, or four times BodyBytes where that is more.
	HeldBytes int64
	// Reads is how many requests may read jobs, flows and schedules at once; the others
	// wait for their turn. Default 8.
	Reads int
}

// An Option configures the handler.
type Option func(*Handler)

// WithAuthorizer makes the handler ask who may do what. Without it everybody may do
// everything.
func WithAuthorizer(authorize Authorizer) Option {
	return func(h *Handler) { h.authorize = authorize }
}

// WithLimits sets limits other than the default.
func WithLimits(limits Limits) Option {
	return func(h *Handler) { h.limits = limits }
}

// WithoutPayloads hides payloads and results from those who look at jobs, children and
// schedules, for they may hold personal data. Whoever claims a job still gets its
// payload. Errors and metadata are shown.
func WithoutPayloads() Option {
	return func(h *Handler) { h.redact = true }
}

// WithLogger sets where the handler logs what it answers with an internal error. The
// default is slog.Default().
func WithLogger(logger *slog.Logger) Option {
	return func(h *Handler) { h.logger = logger }
}

// WithPollInterval sets how often the stream of events looks for what has changed. The
// default is one second. All listeners share one look.
func WithPollInterval(interval time.Duration) Option {
	return func(h *Handler) { h.pollInterval = interval }
}

// WithVersion sets the version of the program that the info page tells.
func WithVersion(version string) Option {
	return func(h *Handler) { h.version = version }
}

// Handler is the API of one client. Make it with New. It is safe for concurrent use.
type Handler struct {
	client       *braid.Client
	authorize    Authorizer
	limits       Limits
	redact       bool
	logger       *slog.Logger
	pollInterval time.Duration
	version      string
	mux          *http.ServeMux
	guard        *http.CrossOriginProtection
	feeds        feeds
	budget       budget
	reads        chan struct{}   // has room for as many as may read
	draining     context.Context // ended by Drain
	drain        context.CancelFunc
}

// New returns the handler. It starts nothing that outlives its requests, so it needs no
// end of its own; see Drain for servers that stop.
func New(client *braid.Client, options ...Option) *Handler {
	h := &Handler{
		client: client, logger: slog.Default(), pollInterval: time.Second,
		authorize: func(*http.Request) (Roles, bool) { return AllRoles, true },
		mux:       http.NewServeMux(), guard: http.NewCrossOriginProtection(),
	}
	for _, option := range options {
		if option != nil {
			option(h)
		}
	}
	h.limits = h.limits.withDefaults()
	h.budget.give(h.limits.HeldBytes)
	h.reads = make(chan struct{}, h.limits.Reads)
	h.draining, h.drain = context.WithCancel(context.Background())
	for _, e := range endpoints {
		h.mux.Handle(e.method+" "+e.path, h.serve(e))
	}
	return h
}

func (l Limits) withDefaults() Limits {
	const mostPage = 1000
	if l.BodyBytes <= 0 {
		l.BodyBytes = 32 << 20
	}
	if l.Batch <= 0 {
		l.Batch = 1000
	}
	if l.Page <= 0 || l.Page > mostPage {
		l.Page = mostPage
	}
	if l.Wait <= 0 {
		l.Wait = time.Minute
	}
	if l.HeldBytes <= 0 {
		l.HeldBytes = max(128<<20, 4*l.BodyBytes)
	}
	if l.Reads <= 0 {
		l.Reads = 8
	}
	return l
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if err := h.guard.Check(r); err != nil {
		h.fail(w, r, &Error{Status: http.StatusForbidden, Code: CodeForbidden, Message: "a page of another site may not do this"})
		return
	}
	// A path that is not clean would be redirected, maybe to another operation.
	escaped := r.URL.EscapedPath()
	if _, pattern := h.mux.Handler(r); pattern == "" || path.Clean(escaped) != escaped {
		h.notServed(w, r)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// Drain ends streams of events and claims that wait, lets no further ones wait, and
// leaves two seconds to bodies and replies that are on their way, so that a server can
// stop in good order. Other requests are served on.
func (h *Handler) Drain() { h.drain() }

// untilDrained is the request's context, which Drain ends, too.
func (c *call) untilDrained() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.ctx)
	stop := context.AfterFunc(c.h.draining, cancel)
	return ctx, func() { stop(); cancel() }
}

// serve checks the caller and the parameters, calls the endpoint, and writes its reply.
func (h *Handler) serve(e *endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if aborted, ok := v.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
				panic(v)
			}
			if v != nil {
				h.logger.Error("braid: a request of the HTTP API panicked", "method", r.Method, "path", e.path, "panic", v)
				h.fail(w, r, &Error{Status: http.StatusInternalServerError, Code: CodeInternal, Message: "something went wrong; the log tells what"})
			}
		}()
		roles, known := h.authorize(r)
		switch {
		case roles.Has(e.role):
		case known:
			h.fail(w, r, &Error{Status: http.StatusForbidden, Code: CodeForbidden, Message: "this needs the role " + e.role.String()})
			return
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="braid"`)
			h.fail(w, r, &Error{Status: http.StatusUnauthorized, Code: CodeUnauthorized, Message: "this needs a token: Authorization: Bearer …"})
			return
		}
		c := &call{h: h, w: w, r: r, ctx: r.Context()}
		if err := c.prepare(e); err != nil {
			h.fail(w, r, err)
			return
		}
		defer c.release()
		status, out, err := c.answer(e)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		if c.answered {
			return
		}
		held := counted(int64(len(out)))
		switch {
		case e.method != get: // which has done its work, and must say so
			h.budget.force(held)
		case !h.budget.take(held):
			h.fail(w, r, unavailable("too many long replies are under way; try again, or ask for a shorter page with limit"))
			return
		}
		defer h.budget.give(held)
		h.send(w, status, out)
	})
}

// answer calls the endpoint and encodes its reply, in its turn if it is heavy.
func (c *call) answer(e *endpoint) (int, []byte, error) {
	if e.heavy {
		if err := c.turn(); err != nil {
			return 0, nil, err
		}
		defer func() { <-c.h.reads }()
	}
	reply, err := e.serve(c)
	if err != nil || c.answered {
		return 0, nil, err
	}
	status, out := c.h.encode(c.r, http.StatusOK, reply)
	return status, out, nil
}

// turnPatience is how long a request waits for its turn to read.
const turnPatience = 10 * time.Second

// turn waits until the request may read.
func (c *call) turn() error {
	ctx, cancel := context.WithTimeout(c.ctx, turnPatience)
	defer cancel()
	select {
	case c.h.reads <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unavailable("too many requests are reading; try again")
	}
}

// notServed answers what no endpoint takes: an unknown path, or one that is there for
// other methods.
func (h *Handler) notServed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	unclean := path.Clean(r.URL.EscapedPath()) != r.URL.EscapedPath()
	for _, method := range []string{remove, get, http.MethodHead, post, put} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := h.mux.Handler(other); pattern != "" && !unclean {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		h.fail(w, r, &Error{Status: http.StatusNotFound, Code: CodeNotFound, Message: "there is no such path (an id is one segment, percent-encoded); see " + Prefix + "openapi.json"})
		return
	}
	allow := strings.Join(allowed, ", ")
	w.Header().Set("Allow", allow)
	h.fail(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: CodeNotAllowed, Message: "use " + allow})
}

// call is one request on its way through an endpoint.
type call struct {
	h        *Handler
	w        http.ResponseWriter
	r        *http.Request
	ctx      context.Context
	client   *braid.Client // on the store that the request names
	query    query
	answered bool  // the endpoint has written its reply itself
	held     int64 // of the budget, by the body
}

// prepare reads what every request has.
func (c *call) prepare(e *endpoint) error {
	values, err := parseQuery(c.r.URL.RawQuery, e)
	if err != nil {
		return err
	}
	c.query, c.client = values, c.h.client
	if store := values.text("store"); store != "" {
		if !slices.Contains(c.client.Stores(), store) {
			return invalid("store", "cannot be %q; the stores are %s", clip(store), strings.Join(c.client.Stores(), ", "))
		}
		c.client = c.client.On(store)
	}
	return nil
}

// path returns a part of the path, which must be text that a store can hold.
func (c *call) path(name string) string { return c.r.PathValue(name) }

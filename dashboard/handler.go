package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/braidmq/braid"
)

// An Option configures the handler.
type Option func(*Handler)

// WithBase is the path that the handler is mounted at, such as "/braid". Requests come
// with that path; it is not to be stripped. The default is the root.
func WithBase(path string) Option {
	return func(h *Handler) { h.base = strings.TrimRight(path, "/") }
}

// WithAuthorizer makes the handler ask what a request's sender may do.
func WithAuthorizer(authorize func(*http.Request) Access) Option {
	return func(h *Handler) { h.authorize = authorize }
}

// WithLogin shows a page that asks for a token to those who may not look. check tells
// what a token allows. An accepted token is kept in a cookie, for [TokenOf]; what the
// authorizer of [WithAuthorizer] allows counts, too.
func WithLogin(check func(token string) Access) Option {
	return func(h *Handler) { h.login = check }
}

// WithoutPayloads hides payloads and results, for they may hold personal data. Errors
// and metadata are shown.
func WithoutPayloads() Option {
	return func(h *Handler) { h.redact = true }
}

// WithEvents is the path of the stream of events of package httpapi, such as
// "/api/v1/events", on the same host. Pages follow it to be live. Without it they are as
// they were when they were loaded.
func WithEvents(path string) Option {
	return func(h *Handler) { h.events = path }
}

// WithLogger sets where the handler logs what it answers with an internal error. The
// default is slog.Default().
func WithLogger(logger *slog.Logger) Option {
	return func(h *Handler) { h.logger = logger }
}

// Handler is the dashboard of one client. Make it with New. It is safe for concurrent
// use, and starts nothing that outlives its requests.
type Handler struct {
	client    *braid.Client
	base      string
	events    string
	redact    bool
	authorize func(*http.Request) Access
	login     func(token string) Access
	logger    *slog.Logger
	mux       *http.ServeMux
	guard     *http.CrossOriginProtection
}

// New returns the dashboard of a client.
func New(client *braid.Client, options ...Option) *Handler {
	h := &Handler{client: client, logger: slog.Default(), mux: http.NewServeMux(), guard: http.NewCrossOriginProtection()}
	for _, option := range options {
		if option != nil {
			option(h)
		}
	}
	if h.authorize == nil {
		h.authorize = func(*http.Request) Access { return Access{Read: h.login == nil, Operate: h.login == nil} }
	}
	pages := map[string]func(*call) (*page, error){
		"/{$}": overview, "/queues": queues, "/jobs": jobs, "/job": job, "/flow": flow, "/schedules": schedules, "/workers": workers,
	}
	for path, serve := range pages {
		h.mux.Handle("GET "+h.base+path, h.page(serve))
	}
	actions := map[string]func(*call) (notice string, err error){
		"/queues/pause": pauseQueue, "/queues/resume": resumeQueue,
		"/job/retry": retryJob, "/job/cancel": cancelJob, "/job/promote": promoteJob, "/job/remove": removeJob,
		"/schedules/run": runSchedule, "/schedules/remove": removeSchedule,
	}
	for path, act := range actions {
		h.mux.Handle("POST "+h.base+path, h.action(act))
	}
	h.mux.HandleFunc("POST "+h.base+"/login", h.logIn)
	h.mux.HandleFunc("POST "+h.base+"/logout", h.logOut)
	h.mux.HandleFunc("GET "+h.base+"/static/{file}", serveAsset)
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.fail(h.newCall(w, r), &failure{http.StatusNotFound, "There is no such page."})
	})
	return h
}

// policy lets pages load nothing but the handler's own files, and run no script that
// stands in a page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// largestForm bounds the body of a POST.
const largestForm = 64 << 10

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if err := h.guard.Check(r); err != nil {
		h.fail(h.newCall(w, r), &failure{http.StatusForbidden, "A page of another site may not do this."})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, largestForm)
	h.mux.ServeHTTP(w, r)
}

// call is one request on its way through the handler.
type call struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	client *braid.Client // on the store that the request names
	access Access
	query  url.Values
	now    time.Time // of the store
}

func (h *Handler) newCall(w http.ResponseWriter, r *http.Request) *call {
	return &call{h: h, w: w, r: r, ctx: r.Context(), client: h.client, access: h.accessOf(r), query: r.URL.Query(), now: time.Now().UTC()}
}

// prepare checks who asks, and finds the store. It answers itself, and says no, where
// that fails.
func (c *call) prepare(needed Access) bool {
	if !c.access.covers(needed) {
		c.refuse(needed)
		return false
	}
	// A client that was not made tells so by its first call.
	if store := c.query.Get("store"); store != "" {
		if !slices.Contains(c.h.client.Stores(), store) {
			c.h.fail(c, &failure{http.StatusNotFound, "There is no store of that name."})
			return false
		}
		c.client = c.h.client.On(store)
	}
	now, err := c.client.Now()
	if err != nil {
		c.h.fail(c, err)
		return false
	}
	c.now = now
	return true
}

// page serves a page.
func (h *Handler) page(serve func(*call) (*page, error)) http.Handler {
	return h.guarded(func(c *call) {
		if !c.prepare(Access{Read: true}) {
			return
		}
		p, err := serve(c)
		if err != nil {
			h.fail(c, err)
			return
		}
		c.render(p)
	})
}

// action does what a form says, and leads back to the page that the form names.
func (h *Handler) action(act func(*call) (string, error)) http.Handler {
	return h.guarded(func(c *call) {
		if err := c.r.ParseForm(); err != nil {
			h.fail(c, &failure{http.StatusBadRequest, "The form cannot be read."})
			return
		}
		if !c.prepare(Access{Read: true, Operate: true}) {
			return
		}
		notice, err := act(c)
		if err != nil {
			h.fail(c, err)
			return
		}
		next := c.localPath(c.r.PostForm.Get("next"))
		values := next.Query()
		values.Set("notice", notice)
		next.RawQuery = values.Encode()
		http.Redirect(c.w, c.r, next.String(), http.StatusSeeOther)
	})
}

// guarded makes a page of a panic.
func (h *Handler) guarded(serve func(*call)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := h.newCall(w, r)
		defer func() {
			v := recover()
			if v == http.ErrAbortHandler { //nolint:errorlint // what net/http panics with, itself
				panic(v)
			}
			if v != nil {
				h.logger.Error("braid: a page of the dashboard panicked", "path", r.URL.Path, "panic", v)
				h.fail(c, &failure{http.StatusInternalServerError, "Something went wrong; the log tells what."})
			}
		}()
		serve(c)
	})
}

// localPath reads where a form wants to lead, which is never away from the dashboard.
func (c *call) localPath(text string) *url.URL {
	home := &url.URL{Path: c.h.base + "/"}
	next, err := url.Parse(text)
	if err != nil || next.IsAbs() || next.Host != "" || next.User != nil || next.Opaque != "" ||
		!strings.HasPrefix(next.Path, home.Path) || strings.HasPrefix(next.Path, "//") || strings.Contains(next.Path, `\`) {
		return home
	}
	return &url.URL{Path: next.Path, RawQuery: next.RawQuery}
}

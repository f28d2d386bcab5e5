// Package server is what the command braid server runs: the HTTP API, the dashboard,
// metrics and health over the stores of one client, which it keeps house for.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/dashboard"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/httpapi"
)

// Config says what to serve. Store and Listen are required.
type Config struct {
	Store  driver.Store            // the default one
	Named  map[string]driver.Store // more stores, by name
	Listen string                  // host:port; beyond loopback only with Tokens
	Tokens *Tokens                 // nil: everybody may do everything
	// HidePayloads keeps payloads and results from those who look.
	HidePayloads bool
	Keeper       braid.KeeperOptions
	Logger       *slog.Logger // nil: slog.Default
	Version      string
}

// Server serves. Use New, then Run.
type Server struct {
	config   Config
	listener net.Listener
	client   *braid.Client
	keeper   *braid.Keeper
	metrics  *metrics
	api      *httpapi.Handler
	stopping atomic.Bool
	underWay atomic.Int64 // requests of the API
}

// New checks the configuration and begins to listen. The caller closes the stores,
// after Run.
func New(config Config) (*Server, error) {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	listener, err := listen(config.Listen, config.Tokens != nil)
	if err != nil {
		return nil, err
	}
	s := &Server{config: config, listener: listener, metrics: newMetrics(config.Version)}
	s.metrics.underWay = s.underWay.Load
	options := []braid.ClientOption{braid.WithLogger(config.Logger), braid.WithMetrics(s.metrics.provider)}
	for name, store := range config.Named {
		options = append(options, braid.WithStore(name, store))
	}
	s.client = braid.NewClient(config.Store, options...)
	if _, err := s.client.Now(); err != nil { // what is wrong with the options
		_ = listener.Close() // nothing has come over it
		return nil, err
	}
	keeper := config.Keeper
	keeper.Logger = config.Logger
	s.keeper = braid.NewKeeper(s.client, keeper)
	apiOptions := []httpapi.Option{
		httpapi.WithAuthorizer(s.authorize), httpapi.WithLogger(config.Logger), httpapi.WithVersion(config.Version),
	}
	if config.HidePayloads {
		apiOptions = append(apiOptions, httpapi.WithoutPayloads())
	}
	s.api = httpapi.New(s.client, apiOptions...)
	return s, nil
}

// Address returns where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// The time that the server gives to what is under way.
const (
	headerPatience = 10 * time.Second
	idlePatience   = 2 * time.Minute
	stopPatience   = 5 * time.Second // half of what Docker gives a container
)

// Run serves until ctx ends, then lets requests that are under way finish, and returns
// nil. Run it once.
func (s *Server) Run(ctx context.Context) error {
	defer s.client.Close()
	keeping, stopKeeping := context.WithCancel(context.Background())
	requests, endRequests := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer stopKeeping()
	defer endRequests()
	failed := make(chan error, 2)
	running.Go(func() {
		if err := s.keeper.Run(keeping); err != nil {
			failed <- err
		}
	})
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience,
		MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog: slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug), // clients that break off
	}
	running.Go(func() {
		if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("braid: serve: %w", err)
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stopping.Store(true)
	s.api.Drain()
	grace, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	if server.Shutdown(grace) != nil { // what is still under way is broken off
		endRequests()
		_ = server.Close() // it has no more to say than that
	}
	return err
}

// handler is everything that the server answers.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", onlyMethods(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") }),
		http.MethodGet, http.MethodHead))
	mux.Handle("/readyz", onlyMethods(http.HandlerFunc(s.ready), http.MethodGet, http.MethodHead))
	mux.Handle("/metrics", onlyMethods(s.needs(httpapi.RoleRead, s.metrics), http.MethodGet, http.MethodHead))
	mux.Handle("/", onlyMethods(s.dashboard(), http.MethodGet, http.MethodHead, http.MethodPost))
	api := traced(s.api)
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect paths that the API knows better how to read.
		if strings.HasPrefix(r.URL.Path, "/api/") {
			s.underWay.Add(1)
			defer s.underWay.Add(-1)
			api.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
	if s.config.Tokens == nil {
		return onlyLoopback(all)
	}
	return all
}

// dashboard is what browsers see.
func (s *Server) dashboard() http.Handler {
	options := []dashboard.Option{
		dashboard.WithEvents(httpapi.Prefix + "events"), dashboard.WithLogger(s.config.Logger),
		dashboard.WithAuthorizer(func(r *http.Request) dashboard.Access {
			roles, _ := s.authorize(r)
			return accessOf(roles)
		}),
	}
	if s.config.HidePayloads {
		options = append(options, dashboard.WithoutPayloads())
	}
	if tokens := s.config.Tokens; tokens != nil {
		options = append(options, dashboard.WithLogin(func(token string) dashboard.Access {
			roles, _ := tokens.of(token)
			return accessOf(roles)
		}))
	}
	return dashboard.New(s.client, options...)
}

func accessOf(roles httpapi.Roles) dashboard.Access {
	return dashboard.Access{Read: roles.Has(httpapi.RoleRead), Operate: roles.Has(httpapi.RoleOperate)}
}

func (s *Server) authorize(r *http.Request) (httpapi.Roles, bool) {
	if s.config.Tokens == nil {
		return httpapi.AllRoles, true
	}
	return s.config.Tokens.Roles(r)
}

// needs asks a browser, or whoever else, for a token with a role.
func (s *Server) needs(role httpapi.Roles, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		roles, known := s.authorize(r)
		switch {
		case roles.Has(role):
			next.ServeHTTP(w, r)
		case known:
			writeText(w, http.StatusForbidden, "This needs the role "+role.String()+".\n")
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="braid: any name, and a token as the password", charset="UTF-8"`)
			writeText(w, http.StatusUnauthorized, "This needs a token.\n")
		}
	})
}

// traced makes jobs children of the caller's span.
func traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// onlyMethods refuses requests of other methods.
func onlyMethods(next http.Handler, methods ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			allow := strings.Join(methods, ", ")
			w.Header().Set("Allow", allow)
			writeText(w, http.StatusMethodNotAllowed, "Use "+allow+".\n")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the caller may have gone
}

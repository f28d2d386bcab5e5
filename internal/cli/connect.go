package cli

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/httpapi"
	"github.com/braidmq/braid/internal/apiclient"
	"github.com/braidmq/braid/internal/storeurl"
)

// The environment that commands which look and operate read.
const (
	storeVariable = "BRAID_STORE"
	tokenVariable = "BRAID_TOKEN"
	defaultServer = "http://127.0.0.1:8080"
)

// target says where a command looks and operates: a server or a store.
type target struct {
	url    string
	name   string // of a store of the server
	asJSON bool
	warns  bool // whether warnings about the settings of a store are logged
}

func (t *target) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&t.url, "store", "", "`URL` of a server or a store (default $"+storeVariable+", or "+defaultServer+", or the default store)")
	flags.StringVar(&t.name, "on", "", "`name` of one of the server's stores (default its default one)")
	flags.BoolVar(&t.asJSON, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("on", cobra.NoFileCompletions) // fails only for a flag that is not there
}

// address is the URL that was given; empty if none was.
func (t *target) address() string {
	if t.url != "" {
		return t.url
	}
	return os.Getenv(storeVariable)
}

func isServer(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// resolve settles on a URL, if none was given.
func (t *target) resolve(ctx context.Context) {
	t.url = t.address()
	if t.url == "" {
		t.url = defaultServer
		if t.name == "" && !listens(ctx, t.url) {
			t.url = defaultStore()
		}
	}
}

// connect returns a client of the API: of a server, or, for the URL of a store, of an
// API in this process. The caller calls close.
func (t *target) connect(ctx context.Context) (client *apiclient.Client, close func(), err error) {
	t.resolve(ctx)
	url := t.url
	if isServer(url) {
		client, err := apiclient.New(url, os.Getenv(tokenVariable), t.name)
		if err != nil {
			return nil, nil, err
		}
		return client, client.Close, nil
	}
	if t.name != "" {
		return nil, nil, usagef("--on names a store of a server; the URL %s is a store itself", storeurl.Redact(url))
	}
	open := storeurl.OpenQuiet
	if t.warns {
		open = storeurl.Open
	}
	store, err := open(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	jobs := braid.NewClient(store, braid.WithLogger(quiet))
	handler := httpapi.New(jobs, httpapi.WithLogger(quiet), httpapi.WithVersion(versionText()))
	return apiclient.InProcess(handler), func() {
		jobs.Close()
		store.Close()
	}, nil
}

// listens reports whether anybody accepts connections at the address of a URL.
func listens(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// with connects, and calls do.
func (t *target) with(cmd *cobra.Command, do func(*session) error) error {
	client, close, err := t.connect(cmd.Context())
	if err != nil {
		return err
	}
	defer close()
	return do(&session{Client: client, ctx: cmd.Context(), out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr(), asJSON: t.asJSON})
}

// session is one command at work.
type session struct {
	*apiclient.Client
	ctx    context.Context
	out    io.Writer
	errs   io.Writer
	asJSON bool
}

// print prints a value as JSON, or as the function writes it for people.
func (s *session) print(value any, text func() error) error {
	if !s.asJSON {
		return text()
	}
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

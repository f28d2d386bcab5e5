package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/server"
	"github.com/braidmq/braid/internal/storeurl"
)

const serverHelp = `server serves stores to people, programs and monitoring:
  /            the dashboard
  /api/v1/     the HTTP API; its document is /api/v1/openapi.json
  /metrics     for Prometheus
  /healthz     the process answers
  /readyz      every store answers, and the housekeeping gets on

It also keeps house: it fires schedules, recovers jobs whose worker was lost, deletes
what has had its time, and moves flows along. It runs no jobs.

Without a token file everybody who reaches the server may do everything, so it listens
on this machine only. With one, callers send Authorization: Bearer TOKEN; the dashboard
asks for the token. The file has a token and its roles per line:
  3vqZ0yTqYwXJpB1m read,operate
Roles: read (look), operate (retry, cancel, pause, schedule, …), produce (enqueue), work
(claim and settle jobs).

Ctrl-C stops it in good order.`

func newServer() *cobra.Command {
	var (
		stores             []string
		listen, tokens     string
		hidePayloads, asJS bool
		sweep              time.Duration
	)
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve the HTTP API, the dashboard and metrics",
		Long:  serverHelp,
		Example: `  braid server
  braid server --store memory: --store archive=memory: --listen 127.0.0.1:9000
  braid server --listen 0.0.0.0:8080 --token-file /run/secrets/braid-tokens`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			handler := slog.Handler(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if asJS {
				handler = slog.NewJSONHandler(cmd.ErrOrStderr(), nil)
			}
			config := server.Config{
				Listen: listen, HidePayloads: hidePayloads, Keeper: braid.KeeperOptions{SweepInterval: sweep},
				Logger: slog.New(handler), Version: versionText(),
			}
			if tokens != "" {
				var err error
				if config.Tokens, err = server.ReadTokens(tokens); err != nil {
					return err
				}
			}
			return runServer(cmd, stores, config)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&stores, "store", []string{defaultStore()}, "`URL` of a store; name=URL for another than the default one; repeatable")
	flags.StringVar(&listen, "listen", "127.0.0.1:8080", "where to listen, `host:port`; port 0 takes a free one")
	flags.StringVar(&tokens, "token-file", "", "`file` of tokens and their roles")
	flags.BoolVar(&hidePayloads, "hide-payloads", false, "do not show payloads and results")
	flags.BoolVar(&asJS, "log-json", false, "log in JSON")
	flags.DurationVar(&sweep, "sweep-interval", 30*time.Second, "how often to look for jobs of lost workers")
	return cmd
}

func runServer(cmd *cobra.Command, urls []string, config server.Config) error {
	ctx := cmd.Context()
	opened, err := openServed(ctx, urls, config.Logger)
	for _, store := range opened {
		defer store.Close()
	}
	if err != nil {
		return err
	}
	config.Store = opened[braid.DefaultStore]
	delete(opened, braid.DefaultStore)
	config.Named = opened
	s, err := server.New(config)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "braid server listens on http://%s\n", s.Address())
	return s.Run(ctx)
}

// openServed opens the stores of URL and name=URL. It returns what it has opened also
// with an error.
func openServed(ctx context.Context, urls []string, logger *slog.Logger) (map[string]driver.Store, error) {
	opened := make(map[string]driver.Store)
	for _, raw := range urls {
		name, url := braid.DefaultStore, raw
		if before, after, ok := strings.Cut(raw, "="); ok && !strings.ContainsAny(before, ":/?") {
			name, url = before, after
		}
		if _, taken := opened[name]; taken {
			return opened, usagef("--store names the store %q twice; write name=URL to tell them apart", name)
		}
		store, err := storeurl.OpenLogged(ctx, url, logger)
		if err != nil {
			return opened, err
		}
		opened[name] = store
	}
	if opened[braid.DefaultStore] == nil {
		return opened, usagef("--store names no default store; write one without a name")
	}
	return opened, nil
}

package cli

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/internal/shop"
	"github.com/braidmq/braid/internal/storeurl"
)

// mostOrders bounds --rate: the shop is for people to look at.
const mostOrders = 100

// demoStore refuses the URL of a server: a demo's handlers work on a store themselves.
func demoStore(cmd *cobra.Command, url string) error {
	where := "--store " + storeurl.Redact(url)
	if !cmd.Flags().Changed("store") {
		url = os.Getenv(storeVariable)
		where = storeVariable + "=" + storeurl.Redact(url)
	}
	if isServer(url) {
		return usagef("%s names a server, and a demo runs its jobs itself; write --store with the store of that server, such as --store %s", where, defaultStore())
	}
	return nil
}

func runShop(cmd *cobra.Command, args []string, url string, rate int) error {
	if len(args) > 0 {
		return usagef("--live runs a shop, which takes no folder; leave %q out", args[0])
	}
	for _, flag := range []string{"child-store", "concurrency", "json"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s is for the demo over a folder; leave it or --live out", flag)
		}
	}
	if rate < 1 || rate > mostOrders {
		return usagef("invalid --rate %d: use 1 to %d", rate, mostOrders)
	}
	if strings.EqualFold(url, "memory:") {
		return usagef("--live on a memory store would be seen by nobody; use a store that processes share, such as %s", defaultStore())
	}
	store, err := storeurl.Open(cmd.Context(), url)
	if err != nil {
		return err
	}
	defer store.Close()
	out := cmd.OutOrStdout()
	err = shop.Run(cmd.Context(), shop.Options{
		Store: store, Rate: rate,
		Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError})),
		Opened: func() {
			fmt.Fprintf(out, "The shop is open, with its jobs in %s.\nCtrl-C closes it and clears them away.\n", storeurl.Redact(url))
		},
	})
	if err == nil {
		fmt.Fprintln(out, "The shop is closed, and its jobs are cleared away.")
	}
	return err
}

package cli

import (
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/internal/flowtree"
)

const flowHelp = `flow prints how a flow stands, as a tree: the states and counts of the flow and of the
flows among its children, the children that failed, with their errors, and those that
it is still waiting for, with why: in a queue and how far behind, in a queue that is
paused, delayed and until when, running and where, or on their way.

Children that completed or were cancelled are only counted. --each bounds how many
failed and pending children of each flow are shown; the others are counted, too.

--store names the store of the flow's parent. Children in other stores are looked up
where --with names those, by the names that the program gave them (braid.WithStore).`

func newFlow() *cobra.Command {
	var (
		store   string
		others  []string
		asJSON  bool
		options flowtree.Options
	)
	cmd := &cobra.Command{
		Use:   "flow ID",
		Short: "Show a flow as a tree: what failed, and what it waits for",
		Long:  flowHelp,
		Example: `  braid flow report-7 --store URL
  braid flow report-7 --store URL --with email=URL --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no flow is named; the command is %s", cmd.UseLine())
			}
			return atMost(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := atLeast("each", options.Each, 1); err != nil {
				return err
			}
			return runFlow(cmd, args[0], store, others, asJSON, options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&store, "store", defaultStore(), "`URL` of the store of the flow's parent")
	flags.StringArrayVar(&others, "with", nil, "`NAME=URL` of another store of the program; may be repeated")
	flags.IntVar(&options.Each, "each", 20, "how many failed, and pending, children of a flow are shown")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func runFlow(cmd *cobra.Command, id, url string, others []string, asJSON bool, options flowtree.Options) (err error) {
	ctx := cmd.Context()
	stores, closeAll, err := openStores(ctx, url, others)
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	client := newClient(stores, braid.WithLogger(slog.New(slog.DiscardHandler)))
	defer client.Close()
	tree, err := flowtree.Read(ctx, client, id, options)
	if err != nil {
		return err
	}
	if !asJSON {
		return tree.WriteText(cmd.OutOrStdout())
	}
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(tree)
}

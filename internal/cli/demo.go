package cli

import (
	"encoding/json"
	"log/slog"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/internal/demo"
	"github.com/braidmq/braid/internal/storeurl"
)

const demoHelp = `With --live, demo runs an imaginary shop until Ctrl-C, for the dashboard to show and for you
to operate on: queues, schedules, a flow, handlers that fail now and then, jobs that wait.
Its queues are demo/email, demo/billing and so on. Ctrl-C closes it and clears its jobs away;
so does opening and closing it once more after it was killed.

Otherwise demo runs a flow: its parent lists the regular files below DIR (the current folder, if
none is given) and hands out a child job for each; when all have finished it collects
their results into a report. Symbolic links are not followed. Each child reads its file:
SHA-256, size, lines, kind of content. --child-store puts the children into another store
than their parent. It ends with its report, so that nobody is left to run a job that is
retried behind it; for that there is --live.

What the report counts:
  files       regular files, those that could not be read included; hard links each
  bytes       bytes in the files that could be read
  lines       line feeds in them, as wc -l counts them, in text and binary files alike
  failed      files that could not be read; each was tried twice, and is listed
  duplicates  files with the content of an earlier one: in a group of three equal
              files two are; empty files are equal, and so are hard links
Folders that cannot be read are listed too; nothing stops for one file or folder.

Ctrl-C ends the demo in good order: running jobs finish, waiting ones are taken back,
the report says that it is partial, and the exit code is 130. A second Ctrl-C ends it
at once. Several demos can share a store at the same time.

A demo that is killed, or ended at once, leaves its jobs in a queue of its own, demo/ and
a random name, on which nobody works. braid doctor lists such queues, and
braid jobs cancel --queue NAME clears one; what is finished goes after ten minutes, when a
worker or braid server runs on the store.

The report goes to standard output, progress to standard error. --json prints one
object: files, bytes, lines, failed, duplicates, wastedBytes, seconds, jobsPerSecond,
partial, unfinished, folder, store, childStore (if there is one), concurrency, and the
lists extensions, kinds, largest, duplicateGroups, failures and unreadableFolders. A path
that is not UTF-8 is {"base64": "…"} there.`

func newDemo() *cobra.Command {
	var (
		store       string
		childStore  string
		concurrency int
		asJSON      bool
		live        bool
		rate        int
	)
	cmd := &cobra.Command{
		Use:   "demo [DIR]",
		Short: "Look at every file of a folder with a job each; or, with --live, run a shop",
		Long:  demoHelp,
		Example: `  braid demo
  braid demo --json /usr/share | jq .duplicates
  braid demo --live`,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := demoStore(cmd, store); err != nil {
				return err
			}
			if live {
				return runShop(cmd, args, store, rate)
			}
			if cmd.Flags().Changed("rate") {
				return usagef("--rate is how many orders come to the shop of --live; give --live, too")
			}
			if err := atLeast("concurrency", concurrency, 1); err != nil {
				return err
			}
			folder := "."
			if len(args) > 0 {
				folder = args[0]
			}
			return runDemo(cmd, store, childStore, asJSON, demo.Options{Folder: folder, Concurrency: concurrency})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&store, "store", defaultStore(), "`URL` of the store that keeps the jobs")
	flags.StringVar(&childStore, "child-store", "", "`URL` of another store, for the jobs of the files")
	flags.IntVar(&concurrency, "concurrency", 4*runtime.GOMAXPROCS(0), "how many files are read at once")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	flags.BoolVar(&live, "live", false, "run a shop until Ctrl-C")
	flags.IntVar(&rate, "rate", 1, "how many orders per second come to the shop")
	return cmd
}

func runDemo(cmd *cobra.Command, url, childURL string, asJSON bool, options demo.Options) error {
	ctx, stdout, stderr := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	store, err := storeurl.Open(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	options.Store = store
	if childURL != "" {
		if options.ChildStore, err = storeurl.Open(ctx, childURL); err != nil {
			return err
		}
		defer options.ChildStore.Close()
	}
	// Failed attempts are in the report; only trouble with the store is worth a line.
	options.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	d, err := demo.New(options)
	if err != nil {
		return err
	}

	stopShowing := showProgress(stderr, d.Progress)
	report, err := d.Run(ctx)
	stopShowing()
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.WriteText(stdout)
	}
	if err == nil && report.Partial {
		err = errInterrupted
	}
	return err
}

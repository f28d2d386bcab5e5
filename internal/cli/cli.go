// Package cli holds the commands of the program braid. Each is a file here that reads
// flags and prints; what it does is in a package of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/httpapi"
)

// The program's exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2   // a command, flag, argument or store that does not exist
	exitInterrupted = 130 // as a shell reports a program that Ctrl-C ended
)

// Main runs the program on the process's own streams and signals, and returns its exit
// code.
func Main(args []string) int {
	ctx, stop := interruptible(context.Background(), os.Stderr, os.Exit)
	defer stop()
	return Run(ctx, args, os.Stdout, os.Stderr)
}

// Run runs the program and returns its exit code. A command ends early, in good order,
// when ctx ends. Results go to stdout; progress and errors go to stderr.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if !errors.Is(err, errInterrupted) {
		fmt.Fprintln(stderr, "braid: "+errorText(err))
	}
	return exitCode(err)
}

// exitCode is that of a command which ended with an error.
func exitCode(err error) int {
	var (
		usage   *usageError
		invalid *driver.InvalidError
		refusal *httpapi.Error
	)
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &usage) || errors.As(err, &invalid) || errors.As(err, &refusal) && refusal.Code == httpapi.CodeInvalid:
		return exitUsage
	}
	return exitFailure
}

// errorText is what people are told of an error, without the program's name in front.
func errorText(err error) string {
	text := err.Error()
	var refusal *httpapi.Error
	if errors.As(err, &refusal) { // its code is for programs
		text = strings.ReplaceAll(plain(strings.Replace(text, refusal.Error(), refusal.Message, 1)), "braid: braid: ", "braid: ")
	}
	return withoutPasswords(strings.TrimPrefix(text, "braid: "))
}

// login matches the part of a URL that logs in; the password may have any sign in it.
var login = regexp.MustCompile(`(://[^\s"/@:]*):([^\s"]*)@`)

// withoutPasswords hides what a URL in an error has for a password, wherever on the
// command line it was written. The examples' password is the word itself.
func withoutPasswords(text string) string {
	return login.ReplaceAllStringFunc(text, func(match string) string {
		parts := login.FindStringSubmatch(match)
		if parts[2] == "password" {
			return match
		}
		return parts[1] + ":xxxxx@"
	})
}

// errInterrupted ends a command that was interrupted and has said so.
var errInterrupted = errors.New("braid: interrupted")

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "braid",
		Short: "Background jobs for Go",
		Long: `braid is the tool of Braid, a background-job system for Go.

Where a command takes --store, these URLs name a store:

` + storeForms() + `

` + aboutDefaultStore() + `

demo, flow and server open a store themselves: that of --store, or the default one;
bench measures memory:. Commands that look and operate also take the URL of a braid
server there. Without it they use $BRAID_STORE, or a server at ` + defaultServer + `,
or, if nothing listens there, the default store. A server's token is read from
$BRAID_TOKEN.

Exit codes: 0 done, 1 failed, 2 a command line that cannot be carried out as it stands,
130 interrupted.`,
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
		// Cobra's own check would print less about a command that does not exist.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newServer(), newJobs(), newEnqueue(), newWhy(), newQueues(), newSchedules(), newFlow(),
		newWorkers(), newTop(), newDoctor(), newDemo(), newBench(), newMigrate(), newVersion())
	return root
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Tell about a command",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			about := cmd.Root()
			for _, name := range args {
				at := subcommand(about, name)
				if at == nil {
					return unknownCommand(about, name)
				}
				about = at
			}
			return about.Help()
		},
	}
}

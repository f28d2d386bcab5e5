package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/braidmq/braid/internal/storeurl"
)

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf("braid: "+format, args...)}
}

// unknownCommand names the commands that there are.
func unknownCommand(parent *cobra.Command, name string) error {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		return usagef("%q has no command %q", parent.CommandPath(), name)
	}
	slices.Sort(names)
	return usagef("unknown command %q; use %s", name, or(names))
}

func subcommand(parent *cobra.Command, name string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == name || c.HasAlias(name) {
			return c
		}
	}
	return nil
}

// flagError turns what the flag parser says into an error that names the flags that
// there are.
func flagError(cmd *cobra.Command, err error) error {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	slices.Sort(names)
	return usagef("%v; the flags of %s are %s", err, cmd.CommandPath(), and(names))
}

// atMost refuses more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("unexpected argument %q; the command is %s", args[n], cmd.UseLine())
		}
		return nil
	}
}

// atLeast refuses a flag's number below least.
func atLeast(flag string, value, least int) error {
	if value < least {
		return usagef("invalid --%s %d: use %s or more", flag, value, strconv.Itoa(least))
	}
	return nil
}

// storeForms describes the URLs of stores, a line each.
func storeForms() string {
	var text strings.Builder
	for _, form := range storeurl.Forms() {
		if len(form.Example) > 12 {
			fmt.Fprintf(&text, "  %s\n  %-12s %s\n", form.Example, "", form.About)
			continue
		}
		fmt.Fprintf(&text, "  %-12s %s\n", form.Example, form.About)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// aboutDefaultStore tells where jobs are kept if no store is named.
func aboutDefaultStore() string {
	url, err := storeurl.Default()
	if err != nil {
		return "There is no default store: " + err.Error() + "."
	}
	return "The default store is " + url + ".\nIt is made when it is first used; what is in it stays, and processes may share it."
}

func or(words []string) string  { return join(words, "or") }
func and(words []string) string { return join(words, "and") }

func join(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

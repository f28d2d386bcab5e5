package cli

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/braidmq/braid/driver"
)

// pairs reads key=value flags into a map; nil if there are none.
func pairs(flag string, values []string) (map[string]string, error) {
	var all map[string]string
	for _, pair := range values {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("invalid --%s %q: use key=value", flag, plain(pair))
		}
		if _, twice := all[key]; twice {
			return nil, usagef("invalid --%s %q: the key is given twice; write it once", flag, plain(pair))
		}
		if all == nil {
			all = make(map[string]string)
		}
		all[key] = value
	}
	return all, nil
}

// mostPayload is more than a server or a store takes by default: what is longer, such as
// a device without an end, is not read on.
const mostPayload = driver.DefaultMaxValueBytes

// payloadArgument reads a payload: JSON, - for standard input, or @file. Text that is not
// JSON is refused, since quoting it would hide mistakes.
func payloadArgument(cmd *cobra.Command, text string) (json.RawMessage, error) {
	raw := []byte(text)
	var err error
	switch {
	case text == "":
		return nil, nil
	case text == "-":
		raw, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), mostPayload+1))
	case strings.HasPrefix(text, "@"):
		raw, err = readPayload(text[1:])
	}
	if err != nil {
		return nil, err
	}
	if len(raw) > mostPayload {
		return nil, usagef("invalid payload %q: is longer than %d MiB; keep what is large elsewhere, and enqueue where it is", short(plain(text), 40), mostPayload>>20)
	}
	if raw = []byte(strings.TrimSpace(string(raw))); !json.Valid(raw) {
		return nil, usagef(`invalid payload %q: write JSON, such as '{"to":"ann"}' or '"text"', @file, or - for standard input`, short(plain(string(raw)), 40))
	}
	return raw, nil
}

func readPayload(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, mostPayload+1))
}

// noneOf completes nothing.
func noneOf(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// atLeastOne refuses a command line without arguments.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("no %s is named; the command is %s", what, cmd.UseLine())
		}
		if slices.Contains(args, "") {
			return usagef("a %s is named by an empty text; the command is %s", what, cmd.UseLine())
		}
		return nil
	}
}

// exactlyOne refuses anything but one argument.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := atLeastOne(what)(cmd, args); err != nil {
			return err
		}
		return atMost(1)(cmd, args)
	}
}

// group is a command that only has others below it.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

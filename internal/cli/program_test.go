//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// program puts the test binary on a path as braid, and returns the environment in which
// it is that.
func program(t *testing.T) []string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(folder, "braid")); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), programVariable+"=1", "PATH="+folder+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+folder, "BRAID_STORE=sqlite:"+filepath.Join(folder, "jobs.db"))
}

func TestCompletionInBash(t *testing.T) {
	environment := program(t)
	complete := func(line string) []string {
		t.Helper()
		const script = `source /usr/share/bash-completion/bash_completion
source <(braid completion bash)
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_WORDS=($1)
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
__start_braid braid
printf '%s\n' "${COMPREPLY[@]}"`
		shell := exec.Command("bash", "--norc", "--noprofile", "-c", script, "bash", line)
		shell.Env = environment
		var stderr bytes.Buffer
		shell.Stderr = &stderr
		out, err := shell.Output()
		if err != nil || strings.Contains(stderr.String(), "not found") || strings.Contains(stderr.String(), "No such file") {
			t.Fatalf("%v\n%s; `make test` installs what is missing", err, stderr.String())
		}
		var found []string
		for line := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ") // a description may follow
			if word != "" {
				found = append(found, word)
			}
		}
		slices.Sort(found)
		return found
	}
	for _, test := range []struct {
		line string
		want []string
	}{
		{"braid jo", []string{"jobs"}},
		{"braid jobs ", []string{"cancel", "get", "list", "promote", "remove", "retry"}},
		{"braid help sch", nil},
		{"braid jobs list --sta", []string{"--state"}},
		{"braid jobs list --state wa", []string{"waiting", "waiting-children"}},
		{"braid jobs retry --queue mail --state f", []string{"failed"}},
		{"braid server --to", []string{"--token-file"}},
		{"braid completion ", []string{"bash", "fish", "powershell", "zsh"}},
	} {
		if got := complete(test.line); !slices.Equal(got, test.want) {
			t.Errorf("%q is completed with %q; want %q", test.line, got, test.want)
		}
	}
}

func TestCompletionOfOtherShells(t *testing.T) {
	for shell, want := range map[string]string{"zsh": "#compdef braid", "fish": "complete -c braid", "powershell": "Register-ArgumentCompleter"} {
		if code, stdout, stderr := run(t, t.Context(), "completion", shell); code != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("braid completion %s: exit code %d, %s, %.200s", shell, code, stderr, stdout)
		}
	}
}

// The exit codes of docs/cli.md, as a shell sees them.
func TestExitCodes(t *testing.T) {
	environment := program(t)
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, exitOK},
		{[]string{"enqueue", "mail", "--id", "m-1"}, exitOK},
		{[]string{"jobs", "list", "--state", "failed"}, exitOK}, // none
		{[]string{"jobs", "cancel", "m-1"}, exitOK},
		{[]string{"jobs", "cancel", "m-1"}, exitFailure}, // it has finished
		{[]string{"why", "none"}, exitFailure},
		{[]string{"queues", "--store", "http://127.0.0.1:1"}, exitFailure}, // nobody answers
		{[]string{"jobs", "lst"}, exitUsage},
		{[]string{"jobs", "list", "--nmae", "x"}, exitUsage},
		{[]string{"enqueue", "mail", "{"}, exitUsage},
		{[]string{"queues", "--store", "mongo://"}, exitUsage},
	} {
		command := exec.Command("braid", test.args...)
		command.Path, command.Err, command.Env = braidIn(environment), nil, environment
		err := command.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := command.ProcessState.ExitCode(); got != test.want {
			t.Errorf("braid %s: exit code %d; want %d", strings.Join(test.args, " "), got, test.want)
		}
	}
}

// A server that is told to stop has done what it was for; a command that has to finish
// something has not.
func TestExitCodesOfWhatIsInterrupted(t *testing.T) {
	environment := program(t)
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"server", "--store", "memory:", "--listen", "127.0.0.1:0"}, exitOK},
		{[]string{"bench", "--jobs", "100000000", "--store", "memory:"}, exitInterrupted},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			command := exec.Command("braid", test.args...)
			command.Path, command.Err, command.Env = braidIn(environment), nil, environment
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it is under way
				t.Errorf("braid %v printed %q: %v", test.args, line, err)
			}
			if err := command.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = command.Wait() // tells the exit code, too
			if got := command.ProcessState.ExitCode(); got != test.want {
				t.Errorf("braid %s, after %v: exit code %d; want %d", test.args[0], signal, got, test.want)
			}
		}
	}
}

// braidIn is where program put the program.
func braidIn(environment []string) string {
	for _, variable := range slices.Backward(environment) {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			folder, _, _ := strings.Cut(path, ":")
			return filepath.Join(folder, "braid")
		}
	}
	return ""
}

func TestThePageOfTheProgramNamesEachCommand(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	root.InitDefaultCompletionCmd()
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		if c.Runnable() && !strings.Contains(string(page), "`"+c.CommandPath()) {
			t.Errorf("docs/cli.md does not name `%s`", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	for _, command := range root.Commands() {
		look(command)
	}
}

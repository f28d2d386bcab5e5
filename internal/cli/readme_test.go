//go:build unix

package cli

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A newcomer types what the README's section "See it run" says, in that order: each
// command works, and prints what the README shows.
func TestTheCommandsOfTheReadmeDoWhatItShows(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## See it run\n")
	section, _, _ = strings.Cut(section, "\n## ")
	terminals := fenced(section, "sh")
	steps := fenced(section, "console")
	if len(terminals) != 1 || terminals[0] != "braid server\nbraid demo --live\n" || len(steps) < 2 {
		t.Fatalf("the section has other blocks than this test knows: %q, and %d of console", terminals, len(steps))
	}

	environment := append(program(t), "BRAID_STORE=", "XDG_STATE_HOME="+t.TempDir())
	// The port of the README may be taken here.
	address := strings.TrimPrefix(start(t, environment, "server", "--listen", "127.0.0.1:0"), "braid server listens on ")
	if line := start(t, environment, "demo", "--live"); !strings.HasPrefix(line, "The shop is open") {
		t.Fatalf("braid demo --live printed %q", line)
	}
	if page := get(t, address+"/queues"); !strings.Contains(page, "demo/billing") {
		t.Errorf("the dashboard does not show the shop's queues:\n%s", page)
	}
	environment = append(environment, "BRAID_STORE="+address)
	for _, block := range steps {
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, shown, _ := strings.Cut(step, "\n")
			follow(t, environment, command, shown)
		}
	}
}

// fenced returns the blocks of a language.
func fenced(markdown, language string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllStringSubmatch(markdown, -1) {
		found = append(found, match[1])
	}
	return found
}

// start starts the program, which is told to stop at the end of the test, and returns
// its first line.
func start(t *testing.T, environment []string, args ...string) string {
	t.Helper()
	command := exec.Command("braid", args...)
	command.Path, command.Err, command.Env = braidIn(environment), nil, environment
	command.Stderr = t.Output()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		rest, err := io.ReadAll(lines)
		if err := command.Wait(); err != nil {
			t.Errorf("braid %v: %v", args, err)
		}
		if err != nil || args[0] == "demo" && !strings.Contains(string(rest), "cleared away") {
			t.Errorf("at its end braid %v printed %q, %v", args, rest, err)
		}
	})
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("braid %v printed %q: %v", args, line, err)
	}
	return strings.TrimSpace(line)
}

// follow types a command until it prints the lines that are shown, which takes the
// shop a moment; one that changes something is typed once.
func follow(t *testing.T, environment []string, line, shown string) {
	t.Helper()
	looks := regexp.MustCompile(`^braid (jobs (list|get)|why) `).MatchString(line)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		command := exec.Command("sh", "-c", line)
		command.Env = environment
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		missing := missingLine(shown, string(out))
		if missing == "" {
			return
		}
		if !looks || time.Now().After(deadline) {
			t.Fatalf("%s does not print the README's line\n%s\nbut\n%s", line, missing, out)
		}
	}
}

// missingLine returns the first line that is shown and not printed, but for numbers,
// names of workers, and the widths of columns.
func missingLine(shown, printed string) string {
	lines := make(map[string]bool)
	for line := range strings.Lines(printed) {
		lines[alike(line)] = true
	}
	for line := range strings.Lines(shown) {
		if alike(line) != "" && alike(line) != "…" && !lines[alike(line)] {
			return line
		}
	}
	return ""
}

func alike(line string) string {
	line = regexp.MustCompile(`\S+-\d+-[0-9a-f]{8}`).ReplaceAllString(line, "WORKER")
	line = regexp.MustCompile(`\d+(ms|s) `).ReplaceAllString(line, "0s ")
	line = regexp.MustCompile(`\d+`).ReplaceAllString(line, "0")
	return strings.Join(strings.Fields(line), " ")
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", url, response.Status, err)
	}
	return string(page)
}

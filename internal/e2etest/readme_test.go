package e2etest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's program must compile as it stands in an empty module, and print what the
// README says that it prints.
func TestTheProgramInTheReadmePrintsWhatTheReadmeSays(t *testing.T) {
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(checkout, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, want := block(t, readme, "go"), block(t, readme, "text")

	module := t.TempDir()
	write(t, module, "main.go", program)
	write(t, module, "go.mod", moduleFile(t, checkout))
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, module, "go.sum", string(sums))

	run := exec.Command("go", "run", "-mod=mod", ".")
	run.Dir = module
	run.Env = append(os.Environ(), "GOWORK=off")
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	if err := run.Run(); err != nil {
		t.Fatalf("go run: %v\n%s", err, stderr.Bytes())
	}
	if stdout.String() != want {
		t.Errorf("the program printed %q; the README says %q", stdout.String(), want)
	}
}

// block returns the only fenced block of a language.
func block(t *testing.T, markdown []byte, language string) string {
	t.Helper()
	blocks := regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllSubmatch(markdown, -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d blocks of %s; this test expects one", len(blocks), language)
	}
	return string(blocks[0][1])
}

// moduleFile returns the go.mod of a program that uses the checkout. It names the
// versions that the checkout's go.mod names, so that nothing has to be looked up.
func moduleFile(t *testing.T, checkout string) string {
	t.Helper()
	ours, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(ours), "module github.com/braidmq/braid\n")
	if !found {
		t.Fatal("go.mod does not begin with its module's path")
	}
	return "module example.com/program\n" + rest + `
require github.com/braidmq/braid v0.0.0
replace github.com/braidmq/braid => ` + checkout + "\n"
}

func write(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

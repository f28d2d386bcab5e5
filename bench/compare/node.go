package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"time"
)

// Node is a system that a script for Node.js drives: bench.mjs in a folder of its own,
// beside the packages that it needs.
type Node struct {
	Title  string
	Folder string         // of the script
	Fixed  map[string]any // what the script is told in every phase
	Batch  int            // jobs of one call that takes many
}

// Install installs the script's packages, of which one is named, if need be. It is an
// error if Node.js is missing.
func (n *Node) Install(ctx context.Context, main string) error {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return errors.New(program + " is not installed")
		}
	}
	if installed, err := filepath.Glob(filepath.Join(n.Folder, "node_modules", main, "package.json")); err != nil || installed != nil {
		return err
	}
	install := exec.CommandContext(ctx, "npm", "ci", "--silent", "--no-audit", "--no-fund")
	install.Dir = n.Folder
	if output, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, output)
	}
	return nil
}

// Name is part of System.
func (n *Node) Name() string { return n.Title }

// Enqueue is part of System.
func (n *Node) Enqueue(ctx context.Context, jobs, producers int) (time.Duration, error) {
	return n.run(ctx, "enqueue", map[string]any{"jobs": jobs, "producers": producers})
}

// EnqueueBatches is part of System.
func (n *Node) EnqueueBatches(ctx context.Context, jobs int) (time.Duration, error) {
	return n.run(ctx, "batches", map[string]any{"jobs": jobs, "batch": n.Batch})
}

// Process is part of System.
func (n *Node) Process(ctx context.Context, jobs, concurrency int) (time.Duration, error) {
	return n.run(ctx, "process", map[string]any{"jobs": jobs, "concurrency": concurrency})
}

func (n *Node) run(ctx context.Context, phase string, request map[string]any) (time.Duration, error) {
	request["phase"] = phase
	maps.Copy(request, n.Fixed)
	argument, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	script := exec.CommandContext(ctx, "node", "bench.mjs", string(argument))
	script.Dir = n.Folder
	var stderr bytes.Buffer
	script.Stderr = &stderr
	output, err := script.Output()
	if err != nil {
		return 0, fmt.Errorf("node bench.mjs: %w\n%s", err, stderr.String())
	}
	var answer struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(output, &answer); err != nil {
		return 0, fmt.Errorf("node bench.mjs printed %q: %w", output, err)
	}
	return time.Duration(answer.Seconds * float64(time.Second)), nil
}

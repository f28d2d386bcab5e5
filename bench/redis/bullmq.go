package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// bullmqSystem is BullMQ, driven by a script that Node.js runs.
type bullmqSystem struct {
	folder  string // of the script
	port    int
	payload string
}

// newBullMQ installs the script's packages, if need be. It is an error if Node.js is
// missing.
func newBullMQ(ctx context.Context, folder, addr, payload string) (*bullmqSystem, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, errors.New(program + " is not installed")
		}
	}
	if installed, err := filepath.Glob(filepath.Join(folder, "node_modules", "bullmq", "package.json")); err != nil || installed == nil {
		install := exec.CommandContext(ctx, "npm", "ci", "--silent", "--no-audit", "--no-fund")
		install.Dir = folder
		if output, err := install.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("npm ci: %w\n%s", err, output)
		}
	}
	return &bullmqSystem{folder: folder, port: number, payload: payload}, nil
}

// bullmqRequest is what the script gets.
type bullmqRequest struct {
	Port        int    `json:"port"`
	Phase       string `json:"phase"`
	Jobs        int    `json:"jobs"`
	Producers   int    `json:"producers,omitempty"`
	Batch       int    `json:"batch,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"`
	Payload     string `json:"payload"`
}

func (b *bullmqSystem) Name() string { return "bullmq" }

func (b *bullmqSystem) Enqueue(ctx context.Context, jobs, producers int) (time.Duration, error) {
	return b.run(ctx, bullmqRequest{Phase: "enqueue", Jobs: jobs, Producers: producers})
}

func (b *bullmqSystem) EnqueueBatches(ctx context.Context, jobs int) (time.Duration, error) {
	return b.run(ctx, bullmqRequest{Phase: "batches", Jobs: jobs, Batch: batchSize})
}

func (b *bullmqSystem) Process(ctx context.Context, jobs, concurrency int) (time.Duration, error) {
	return b.run(ctx, bullmqRequest{Phase: "process", Jobs: jobs, Concurrency: concurrency})
}

func (b *bullmqSystem) run(ctx context.Context, request bullmqRequest) (time.Duration, error) {
	request.Port, request.Payload = b.port, b.payload
	argument, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	script := exec.CommandContext(ctx, "node", "bench.mjs", string(argument))
	script.Dir = b.folder
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

package main

import (
	"context"
	"time"

	"github.com/braidmq/braid/bench/compare"
)

// graphileSystem is graphile-worker, on the database of the measurement under way.
type graphileSystem struct {
	databases *databases
	node      compare.Node
}

func (g *graphileSystem) Name() string { return g.node.Name() }

func (g *graphileSystem) here() *compare.Node {
	g.node.Fixed = map[string]any{"url": g.databases.url(), "payload": payloadText}
	return &g.node
}

func (g *graphileSystem) Enqueue(ctx context.Context, jobs, producers int) (time.Duration, error) {
	return g.here().Enqueue(ctx, jobs, producers)
}

func (g *graphileSystem) EnqueueBatches(ctx context.Context, jobs int) (time.Duration, error) {
	return g.here().EnqueueBatches(ctx, jobs)
}

func (g *graphileSystem) Process(ctx context.Context, jobs, concurrency int) (time.Duration, error) {
	return g.here().Process(ctx, jobs, concurrency)
}

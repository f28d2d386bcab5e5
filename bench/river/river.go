// Package river is River as a system to compare with, on any of its drivers.
package river

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/braidmq/braid/bench/compare"
)

// System is River. Finished jobs stay, as they do for a day by default. TTx is the
// type of its driver's transactions.
type System[TTx any] struct {
	// Open connects; close is called after each phase.
	Open    func(ctx context.Context) (driver riverdriver.Driver[TTx], close func() error, err error)
	Payload string
	Batch   int // jobs of one call that takes many
	// Eager lets the client fetch as often as River allows, instead of every 100 ms.
	Eager bool
}

// arguments of a job that does nothing.
type arguments struct {
	Text string `json:"text"`
}

func (arguments) Kind() string { return "bench" }

// Name is part of compare.System.
func (s *System[TTx]) Name() string {
	if s.Eager {
		return "river, eager"
	}
	return "river"
}

// Enqueue is part of compare.System.
func (s *System[TTx]) Enqueue(ctx context.Context, jobs, producers int) (took time.Duration, err error) {
	err = s.connected(ctx, &river.Config{}, func(client *river.Client[TTx]) error {
		took, err = compare.Produce(ctx, jobs, producers, func(ctx context.Context) error {
			_, err := client.Insert(ctx, arguments{s.Payload}, nil)
			return err
		})
		return err
	})
	return took, err
}

// EnqueueBatches is part of compare.System. InsertManyFast is River's quickest way: on
// Postgres it is a COPY.
func (s *System[TTx]) EnqueueBatches(ctx context.Context, jobs int) (took time.Duration, err error) {
	batch := make([]river.InsertManyParams, s.Batch)
	for i := range batch {
		batch[i].Args = arguments{s.Payload}
	}
	err = s.connected(ctx, &river.Config{}, func(client *river.Client[TTx]) error {
		var begun atomic.Int64
		took, err = compare.Produce(ctx, (jobs+s.Batch-1)/s.Batch, 2, func(ctx context.Context) error {
			end := int(begun.Add(int64(s.Batch)))
			_, err := client.InsertManyFast(ctx, batch[:min(s.Batch, jobs-(end-s.Batch))])
			return err
		})
		return err
	})
	return took, err
}

// Process is part of compare.System.
func (s *System[TTx]) Process(ctx context.Context, jobs, concurrency int) (took time.Duration, err error) {
	var ran atomic.Int64
	all := make(chan struct{})
	var once sync.Once
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[arguments]) error {
		if ran.Add(1) == int64(jobs) {
			once.Do(func() { close(all) })
		}
		return nil
	}))
	config := &river.Config{Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: concurrency}}}
	if s.Eager {
		config.FetchCooldown, config.FetchPollInterval = river.FetchCooldownMin, 10*river.FetchPollIntervalMin
	}
	err = s.connected(ctx, config, func(client *river.Client[TTx]) error {
		start := time.Now()
		if err := client.Start(ctx); err != nil {
			return err
		}
		select {
		case <-all:
			unfinished := river.NewJobListParams().States(rivertype.JobStateAvailable, rivertype.JobStateRunning).First(1)
			err = compare.Poll(ctx, func() (bool, error) {
				left, err := client.JobList(ctx, unfinished)
				return err == nil && len(left.Jobs) == 0, err
			})
		case <-ctx.Done():
			err = ctx.Err()
		}
		took = time.Since(start)
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		return errors.Join(err, client.Stop(stopCtx))
	})
	return took, err
}

// connected connects, migrates, calls do, and closes the connections.
func (s *System[TTx]) connected(ctx context.Context, config *river.Config, do func(*river.Client[TTx]) error) (err error) {
	driver, closeAll, err := s.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	config.Logger = quiet
	client, err := river.NewClient(driver, config)
	if err != nil {
		return err
	}
	return do(client)
}

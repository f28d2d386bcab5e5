package braid_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

func TestAKeeperRecoversJobsAndFiresSchedules(t *testing.T) {
	b := newBench(t)
	id := b.enqueueNamed("lost")
	b.lease(braid.LeaseRequest{Names: []string{"lost"}, Worker: "dead", LockDuration: 100 * time.Millisecond})
	if _, err := b.client.Schedule(b.ctx, "tick", "ticked", braid.Every(time.Second), nil); err != nil {
		t.Fatal(err)
	}
	keeper := braid.NewKeeper(b.client, braid.KeeperOptions{SweepInterval: 100 * time.Millisecond})
	if len(keeper.Health().Loops) != 0 {
		t.Error("a keeper that was not started has loops")
	}
	ctx, stop := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- keeper.Run(ctx) }()

	again := b.lease(braid.LeaseRequest{Names: []string{"lost"}, Worker: "alive", Wait: 20 * time.Second})
	if again[0].ID != id || again[0].StalledCount != 1 {
		t.Errorf("leased %+v", again[0])
	}
	b.lease(braid.LeaseRequest{Names: []string{"ticked"}, Worker: "alive", Wait: 20 * time.Second})
	if health := keeper.Health(); len(health.Loops) == 0 || health.Err() != nil {
		t.Errorf("health: %+v", health)
	}
	if err := keeper.Run(ctx); !errors.Is(err, braid.ErrKeeperRunning) {
		t.Errorf("a second Run: %v", err)
	}
	stop()
	if err := receive(b, done, "the keeper's end"); err != nil {
		t.Error(err)
	}
}

func TestAKeeperRefusesBadOptions(t *testing.T) {
	b := newBench(t)
	for field, options := range map[string]braid.KeeperOptions{
		"KeeperOptions.SweepInterval": {SweepInterval: time.Millisecond},
		"KeeperOptions.MaxStalled":    {MaxStalled: 2, FailStalled: true},
	} {
		var invalid *braid.InvalidError
		if err := braid.NewKeeper(b.client, options).Run(b.ctx); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%+v: %v", options, err)
		}
	}
	for name, keeper := range map[string]*braid.Keeper{"zero": {}, "nil": nil} {
		if err := keeper.Run(b.ctx); !errors.Is(err, braid.ErrInvalid) || len(keeper.Health().Loops) != 0 {
			t.Errorf("a %s keeper: %v", name, err)
		}
	}
	if err := braid.NewKeeper(nil, braid.KeeperOptions{}).Run(b.ctx); !errors.Is(err, braid.ErrInvalid) {
		t.Errorf("without a client: %v", err)
	}
}

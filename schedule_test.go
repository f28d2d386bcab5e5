package braid_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
)

func TestBadSchedulesAreRefusedBeforeAnythingIsStored(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	cases := []struct {
		name    string
		key     string
		cadence braid.Cadence
		says    string
	}{
		{"no cadence", "k", braid.Cadence{}, "braid.Cron"},
		{"empty key", "", braid.Every(time.Hour), "schedule key"},
		{"long key", strings.Repeat("x", 256), braid.Every(time.Hour), "255"},
		{"too often", "k", braid.Every(time.Millisecond), "1s"},
		{"not cron", "k", braid.Cron("whenever"), "cron"},
		{"too many fields", "k", braid.Cron("0 0 9 * * *"), "cron"},
		{"unknown zone", "k", braid.Cron("0 9 * * *", "Mars/Olympus"), "Mars/Olympus"},
		{"two zones", "k", braid.Cron("0 9 * * *", "UTC", "UTC"), "one time zone"},
		{"30 February", "k", braid.Cron("0 0 30 2 *"), "never matches"},
	}
	for _, c := range cases {
		err := job.Schedule(b.ctx, b.client, c.key, c.cadence, "x")
		if !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want ErrInvalid that says %q", c.name, err, c.says)
		}
	}
	if schedules, err := b.client.Schedules(b.ctx, braid.ScheduleFilter{}); len(schedules) != 0 || err != nil {
		t.Errorf("stored %+v (%v)", schedules, err)
	}
}

func TestAScheduleFiresAndItsJobsTellTheirSlot(t *testing.T) {
	b := newBench(t)
	slots := make(chan string, 10)
	job := braid.NewJob[string, string]("job", braid.Priority(4))
	if err := job.Schedule(b.ctx, b.client, "every-second", braid.Every(time.Second), "payload",
		braid.Metadata(map[string]string{"team": "core"})); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
			job.Handle(w, func(ctx context.Context, s string) (string, error) {
				current := braid.Current(ctx)
				if s != "payload" || current.Metadata["team"] != "core" || !strings.HasPrefix(current.ID, "sched/every-second/") {
					t.Errorf("job is %+v with %q", current, s)
				}
				slots <- current.Metadata["scheduledFor"]
				return s, nil
			})
		})
	}
	first, second := receive(b, slots, "the first slot"), receive(b, slots, "the second slot")
	at, err := time.Parse(time.RFC3339Nano, first)
	if err != nil {
		t.Fatal(err)
	}
	then, err := time.Parse(time.RFC3339Nano, second)
	if err != nil || then.Sub(at) < time.Second || then.Sub(at)%time.Second != 0 {
		t.Errorf("slots are %s and %s (%v), want them on one grid, each once", first, second, err)
	}
	if removed, err := job.Unschedule(b.ctx, b.client, "every-second"); !removed || err != nil {
		t.Errorf("unschedule: %v, %v", removed, err)
	}
	if removed, err := job.Unschedule(b.ctx, b.client, "every-second"); removed || err != nil {
		t.Errorf("unschedule again: %v, %v", removed, err)
	}
	if _, err := b.client.GetSchedule(b.ctx, "every-second"); !errors.Is(err, braid.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}

func TestADeclarationWithTheSameCadenceKeepsTheSlot(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	declare := func(cadence braid.Cadence, payload string) braid.ScheduleInfo {
		t.Helper()
		if err := job.Schedule(b.ctx, b.client, "k", cadence, payload); err != nil {
			t.Fatal(err)
		}
		info, err := b.client.GetSchedule(b.ctx, "k")
		if err != nil || string(info.Payload) != `"`+payload+`"` {
			t.Fatalf("schedule is %+v (%v)", info, err)
		}
		return info
	}
	first := declare(braid.Every(time.Hour), "one")
	time.Sleep(2 * time.Millisecond) // so that a new grid would differ
	if again := declare(braid.Every(time.Hour), "two"); !again.NextRunAt.Equal(first.NextRunAt) {
		t.Errorf("next run moved from %v to %v", first.NextRunAt, again.NextRunAt)
	}
	if other := declare(braid.Every(2*time.Hour), "three"); other.NextRunAt.Equal(first.NextRunAt) {
		t.Errorf("a new cadence kept the next run %v", other.NextRunAt)
	}
}

func TestASetTouchesOnlyItsGroup(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	entry := func(key string) braid.SyncItem { return job.Entry(key, braid.Every(time.Hour), "x") }
	sync := func(group string, items ...braid.SyncItem) {
		t.Helper()
		if err := braid.SyncSchedules(b.ctx, b.client, group, items...); err != nil {
			t.Fatal(err)
		}
	}
	keys := func() string {
		schedules, err := b.client.Schedules(b.ctx, braid.ScheduleFilter{})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, s := range schedules {
			all = append(all, s.Key)
		}
		return strings.Join(all, " ")
	}
	if err := job.Schedule(b.ctx, b.client, "alone", braid.Every(time.Hour), "x"); err != nil {
		t.Fatal(err)
	}
	sync("other", entry("other"))
	sync("mine", entry("a"), entry("b"), entry("c"))
	sync("mine", entry("a"), entry("b"))
	if got := keys(); got != "a alone b c other" {
		t.Errorf("without Prune: %s", got)
	}
	warned := false
	for _, line := range b.log.lines() {
		warned = warned || strings.Contains(line, "not declared any more") && strings.Contains(line, "[c]")
	}
	if !warned {
		t.Errorf("nothing was logged about c: %q", b.log.lines())
	}
	sync("mine", entry("a"), braid.Prune())
	if got := keys(); got != "a alone other" {
		t.Errorf("with Prune: %s", got)
	}
	err := braid.SyncSchedules(b.ctx, b.client, "mine", entry("x"), entry("x"))
	if !errors.Is(err, braid.ErrInvalid) || !strings.Contains(err.Error(), `"x"`) || keys() != "a alone other" {
		t.Errorf("declared twice: %v; schedules are %s", err, keys())
	}
	err = braid.SyncSchedules(b.ctx, b.client, "mine", entry("y"), job.Entry("z", braid.Cron("no"), "x"))
	if !errors.Is(err, braid.ErrInvalid) || keys() != "a alone other" {
		t.Errorf("one bad entry: %v; schedules are %s", err, keys())
	}
}

func TestPruneAfterLooksAgain(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	entry := func(key string) braid.SyncItem { return job.Entry(key, braid.Every(time.Hour), "x") }
	for _, items := range [][]braid.SyncItem{
		{entry("gone"), entry("moved")},
		{braid.PruneAfter(50 * time.Millisecond)},
	} {
		if err := braid.SyncSchedules(b.ctx, b.client, "group", items...); err != nil {
			t.Fatal(err)
		}
	}
	// Meanwhile another program takes one of the two over.
	if err := braid.SyncSchedules(b.ctx, b.client, "other", entry("moved")); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := b.client.GetSchedule(b.ctx, "gone")
		if errors.Is(err, braid.ErrNotFound) {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("it was not pruned: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := b.client.GetSchedule(b.ctx, "moved"); err != nil {
		t.Errorf("what another group declares was pruned: %v", err)
	}
}

func TestClosingTheClientEndsAPendingPrune(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[string, string]("job")
	for _, items := range [][]braid.SyncItem{
		{job.Entry("old", braid.Every(time.Hour), "x")},
		{braid.PruneAfter(time.Hour)},
	} {
		if err := braid.SyncSchedules(b.ctx, b.client, "group", items...); err != nil {
			t.Fatal(err)
		}
	}
	b.client.Close() // returns, and leaves no goroutine
	if _, err := b.store.Schedule(b.ctx, "old"); err != nil {
		t.Errorf("it was pruned before its time: %v", err)
	}
}

func TestFourProgramsThatDeclareOneScheduleFireItOncePerSlot(t *testing.T) {
	b := newBench(t)
	job := braid.NewJob[int, int]("job")
	stop := make(chan struct{})
	var programs sync.WaitGroup
	for range 4 {
		programs.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := job.Schedule(b.ctx, b.client, "k", braid.Every(time.Second), 1); err != nil {
					t.Error(err)
					return
				}
			}
		})
		b.work(braid.WorkerOptions{}, func(w *braid.Worker) {
			job.Handle(w, func(_ context.Context, n int) (int, error) { return n, nil })
		})
	}
	var seen []*driver.Job
	deadline := time.Now().Add(10 * time.Second)
	for len(seen) < 2 && time.Now().Before(deadline) {
		page, err := b.store.List(b.ctx, driver.ListRequest{Name: "job"})
		if err != nil {
			t.Fatal(err)
		}
		seen = page.Jobs
		time.Sleep(10 * time.Millisecond)
	}
	close(stop)
	programs.Wait()
	slots := make(map[string]bool)
	for _, j := range seen {
		if slot := j.Metadata["scheduledFor"]; slots[slot] {
			t.Errorf("slot %s fired twice", slot)
		} else {
			slots[slot] = true
		}
	}
	if len(slots) < 2 {
		t.Errorf("%d slots fired, want 2", len(slots))
	}
}

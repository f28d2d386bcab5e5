package redisstore_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/maintain"
	"github.com/braidmq/braid/internal/testserver"
)

// logBook keeps what is logged.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBook) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *logBook) says(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Contains(b.text.String(), text)
}

func TestADamagedScheduleKeepsNoOtherFromBeingReadOrFiring(t *testing.T) {
	url := testserver.Redis(t).URL()
	prefix := freshPrefix("")
	store, client := stores{url: url}.open(t, prefix), clientOf(t, url)
	ctx := t.Context()
	put := func(key string) driver.Schedule {
		t.Helper()
		stored, err := store.UpsertSchedule(ctx, driver.Schedule{Key: key, JobName: "n", Queue: "q", Every: 86_400_000, AttemptsMax: 1, NextRunAt: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	damages := map[string]func(packed string) string{
		"a-cut":   func(packed string) string { return packed[:len(packed)/2] },
		"b-short": func(string) string { return "abc" },
		"c-other": func(packed string) string { return packed[:9] + "\xff\xff" + packed[11:] },
	}
	for key, damage := range damages {
		put(key)
		name := "{" + prefix + "}:sc:" + key
		packed, err := client.Get(ctx, name).Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Set(ctx, name, damage(packed), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	put("d-sound")
	all, err := store.Schedules(ctx, driver.ScheduleFilter{})
	if err != nil || len(all) != 4 {
		t.Fatalf("%d schedules, %v; want 4", len(all), err)
	}
	for _, s := range all {
		if _, damaged := damages[s.Key]; s.Damaged != damaged {
			t.Errorf("schedule %q: damaged is %v", s.Key, s.Damaged)
		}
	}

	var book logBook
	sweeping, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	m := maintain.New(maintain.Config{Store: store, Now: func() driver.Time { return driver.TimeOf(time.Now()) },
		Logger: slog.New(slog.NewTextHandler(&book, nil))})
	done := make(chan struct{})
	go func() { defer close(done); m.Run(sweeping) }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for fired := false; !fired || !book.says("a-cut") || !book.says("c-other"); {
		counts, err := store.Counts(ctx, "q")
		if err != nil || sweeping.Err() != nil {
			t.Fatalf("the sound schedule did not fire, or the damaged were not reported: %v, %v", counts, err)
		}
		fired = counts.Waiting == 1
		<-look.C
	}
	stop()
	<-done

	for key := range damages {
		if _, err := store.Advance(ctx, key, 1000, 2000); err != nil {
			t.Errorf("Advance of %q: %v", key, err)
		}
		if stored := put(key); stored.Damaged || stored.Every != 86_400_000 {
			t.Errorf("declared again, %q is %+v", key, stored)
		}
		if removed, err := store.RemoveSchedule(ctx, key); !removed || err != nil {
			t.Errorf("removal of %q: %v, %v", key, removed, err)
		}
	}
}

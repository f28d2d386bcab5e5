package braid_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/braidmq/braid"
)

func TestAScheduleWithoutADefinition(t *testing.T) {
	b := newBench(t)
	info, err := b.client.Schedule(b.ctx, "daily", "report", braid.Cron("30 9 * * *", "America/New_York"), json.RawMessage(`{"n": 1.0}`),
		braid.Queue("reports"), braid.Priority(3), braid.SkipOverlap(), braid.Timeout(time.Minute), braid.Metadata(map[string]string{"k": "v"}))
	if err != nil {
		t.Fatal(err)
	}
	if info.Key != "daily" || !info.SkipOverlap || *info.Timeout != time.Minute || string(info.Payload) != `{"n": 1.0}` {
		t.Errorf("stored %+v", info)
	}
	slots := info.Upcoming(3)
	if len(slots) != 3 || !slots[0].Equal(info.NextRunAt) {
		t.Fatalf("upcoming %v", slots)
	}
	for _, slot := range slots {
		if slot.Location().String() != "America/New_York" || slot.Hour() != 9 || slot.Minute() != 30 {
			t.Errorf("slot %v", slot)
		}
	}

	h, err := b.client.RunSchedule(b.ctx, "daily")
	if err != nil {
		t.Fatal(err)
	}
	job, err := b.client.Get(b.ctx, h.ID)
	if err != nil || job.Name != "report" || job.Queue != "reports" || job.Priority != 3 || string(job.Payload) != `{"n": 1.0}` || job.Metadata["k"] != "v" {
		t.Errorf("the job %+v, %v", job, err)
	}
	after, err := b.client.GetSchedule(b.ctx, "daily")
	if err != nil || !after.NextRunAt.Equal(info.NextRunAt) {
		t.Errorf("the run moved the schedule: %+v, %v", after, err)
	}
	if _, err := b.client.RunSchedule(b.ctx, "none"); !errors.Is(err, braid.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	for _, bad := range []braid.Cadence{{}, braid.Cron("61 * * * *"), braid.Cron("0 0 30 2 *")} {
		if _, err := b.client.Schedule(b.ctx, "bad", "report", bad, nil); !errors.Is(err, braid.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestUpcomingSlotsOfAnInterval(t *testing.T) {
	b := newBench(t)
	info, err := b.client.Schedule(b.ctx, "often", "report", braid.Every(time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	slots := info.Upcoming(3)
	if len(slots) != 3 || slots[2].Sub(slots[0]) != 2*time.Minute {
		t.Errorf("upcoming %v", slots)
	}
}

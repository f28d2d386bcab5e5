package braid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/braidmq/braid"
	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/memstore"
)

// particular is a store that no text may reach that nothing can be called.
type particular struct {
	*memstore.Store
	t *testing.T
}

func (s particular) check(what string, texts ...string) {
	for _, text := range texts {
		if driver.CheckText("text", text, driver.MaxIDBytes) != nil {
			s.t.Errorf("%s reached the store with %.20q", what, text)
		}
	}
}

func (s particular) Jobs(ctx context.Context, ids []string) ([]*driver.Job, error) {
	s.check("Jobs", ids...)
	return s.Store.Jobs(ctx, ids)
}

func (s particular) Attempts(ctx context.Context, id string) ([]driver.Attempt, error) {
	s.check("Attempts", id)
	return s.Store.Attempts(ctx, id)
}

func (s particular) Cancel(ctx context.Context, now driver.Time, ids []string) ([]driver.OperateResult, error) {
	s.check("Cancel", ids...)
	return s.Store.Cancel(ctx, now, ids)
}

func (s particular) Remove(ctx context.Context, now driver.Time, ids []string) ([]bool, error) {
	s.check("Remove", ids...)
	return s.Store.Remove(ctx, now, ids)
}

func (s particular) Position(ctx context.Context, id string) (driver.Opt[int], error) {
	s.check("Position", id)
	return s.Store.Position(ctx, id)
}

func (s particular) Schedule(ctx context.Context, key string) (driver.Schedule, error) {
	s.check("Schedule", key)
	return s.Store.Schedule(ctx, key)
}

func (s particular) WatchFinished(ctx context.Context, id string) (<-chan driver.Finished, error) {
	s.check("WatchFinished", id)
	return s.Store.WatchFinished(ctx, id)
}

func (s particular) Ack(ctx context.Context, now driver.Time, batch []driver.Ack) ([]driver.AckResult, error) {
	for _, ack := range batch {
		s.check("Ack", ack.ID, ack.Token)
	}
	return s.Store.Ack(ctx, now, batch)
}

func (s particular) Heartbeat(ctx context.Context, now driver.Time, locks []driver.Lock, d driver.Millis) (driver.HeartbeatResult, error) {
	for _, lock := range locks {
		s.check("Heartbeat", lock.ID, lock.Token)
	}
	return s.Store.Heartbeat(ctx, now, locks, d)
}

func TestWhatNothingCanBeCalledIsAnsweredWithoutTheStore(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	defer store.Close()
	client := braid.NewClient(particular{store, t})
	defer client.Close()
	if _, err := client.Enqueue(ctx, "n", nil, braid.ID("a")); err != nil {
		t.Fatal(err)
	}
	second := func(_ any, err error) error { return err }
	for _, text := range []string{"\x00", "a\xff", "\xed\xa0\x80", strings.Repeat("x", 600)} {
		for what, err := range map[string]error{
			"Get":         second(client.Get(ctx, text)),
			"Why":         second(client.Why(ctx, text)),
			"Cancel":      client.Cancel(ctx, text),
			"GetSchedule": second(client.GetSchedule(ctx, text)),
			"RunSchedule": second(client.RunSchedule(ctx, text)),
			"Wait":        second(braid.NewJob[braid.None, braid.None]("n").ByID(client, text).Wait(ctx)),
		} {
			if !errors.Is(err, braid.ErrNotFound) {
				t.Errorf("%s of %.20q: %v, want ErrNotFound", what, text, err)
			}
		}
		if _, _, err := client.Position(ctx, text); !errors.Is(err, braid.ErrNotFound) {
			t.Errorf("Position of %.20q: %v, want ErrNotFound", text, err)
		}
		for what, err := range map[string]error{
			"Counts":             second(client.Counts(ctx, text)),
			"List by queue":      second(client.List(ctx, braid.ListFilter{Queue: text})),
			"List by name":       second(client.List(ctx, braid.ListFilter{Name: text})),
			"List by metadata":   second(client.List(ctx, braid.ListFilter{Metadata: map[string]string{text: "v"}})),
			"Schedules by queue": second(client.Schedules(ctx, braid.ScheduleFilter{Queue: text})),
			"CancelByKey":        second(client.CancelByKey(ctx, "n", text)),
			"Pause":              client.Pause(ctx, text),
		} {
			if !errors.Is(err, braid.ErrInvalid) {
				t.Errorf("%s of %.20q: %v, want ErrInvalid", what, text, err)
			}
		}
		if attempts, err := client.Attempts(ctx, text); err != nil || len(attempts) != 0 {
			t.Errorf("Attempts of %.20q: %v, %v", text, attempts, err)
		}
		if gone, err := client.Unschedule(ctx, text); err != nil || gone {
			t.Errorf("Unschedule of %.20q: %v, %v", text, gone, err)
		}
		jobs, err := client.GetMany(ctx, text, "a", text)
		if err != nil || len(jobs) != 3 || jobs[0] != nil || jobs[1] == nil || jobs[2] != nil {
			t.Errorf("GetMany around %.20q: %v, %v", text, jobs, err)
		}
		state, err := client.ExtendLeases(ctx, []braid.Lock{{ID: text, Token: "t"}, {ID: "a", Token: text}}, time.Second)
		if err != nil || len(state.Lost) != 2 {
			t.Errorf("ExtendLeases of %.20q: %+v, %v", text, state, err)
		}
		settled, err := client.SettleLeases(ctx, braid.Settlement{ID: text, Token: "t", Kind: braid.SettleReleased},
			braid.Settlement{ID: "a", Token: text, Kind: braid.SettleReleased})
		if err != nil || !errors.Is(settled[0].Err, braid.ErrNotFound) || !errors.Is(settled[1].Err, braid.ErrLockLost) {
			t.Errorf("SettleLeases of %.20q: %+v, %v", text, settled, err)
		}
		results, err := client.CancelMany(ctx, text, "unknown")
		if err != nil || !errors.Is(results[0].Err, braid.ErrNotFound) || results[0].ID != text || !errors.Is(results[1].Err, braid.ErrNotFound) {
			t.Errorf("CancelMany of %.20q: %+v, %v", text, results, err)
		}
		if removed, err := client.RemoveMany(ctx, text); err != nil || removed[0] {
			t.Errorf("RemoveMany of %.20q: %v, %v", text, removed, err)
		}
	}
}

func TestMetadataAndCronHaveLimits(t *testing.T) {
	ctx := t.Context()
	store := memstore.New()
	defer store.Close()
	client := braid.NewClient(store)
	defer client.Close()
	pairs := func(n, size int) map[string]string {
		m := make(map[string]string, n)
		for i := range n {
			m[fmt.Sprintf("%03d", i)] = strings.Repeat("v", size)
		}
		return m
	}
	minute := func(bytes int) string { return "0" + strings.Repeat(",1", (bytes-len("0 * * * *"))/2) + " * * * *" }
	for what, c := range map[string]struct {
		metadata map[string]string
		cron     string
		field    string // that is refused; empty: nothing is
		limit    int
	}{
		"as many entries as there may be": {metadata: pairs(driver.MaxMetadataEntries, 1), cron: minute(driver.MaxCronBytes - 1)},
		"one entry more":                  {metadata: pairs(driver.MaxMetadataEntries+1, 1), field: "metadata", limit: driver.MaxMetadataEntries},
		"as many bytes as there may be":   {metadata: pairs(1, driver.MaxMetadataBytes-3)},
		"one byte more":                   {metadata: pairs(1, driver.MaxMetadataBytes-2), field: "metadata", limit: driver.MaxMetadataBytes},
		"a value with a NUL":              {metadata: map[string]string{"k": "a\x00"}, field: "metadata value of k"},
		"a value that is not UTF-8":       {metadata: map[string]string{"k": "\xff"}, field: "metadata value of k"},
		"a cron that is too long":         {cron: minute(driver.MaxCronBytes + 1), field: "cron", limit: driver.MaxCronBytes},
	} {
		cron := c.cron
		if cron == "" {
			cron = "@daily"
		}
		_, err := client.Schedule(ctx, "key", "n", braid.Cron(cron), nil, braid.Metadata(c.metadata))
		errs := []error{err}
		if c.field != "cron" {
			_, err := client.Enqueue(ctx, "n", nil, braid.Metadata(c.metadata))
			errs = append(errs, err)
		}
		for _, err := range errs {
			var invalid *braid.InvalidError
			switch {
			case c.field == "" && err != nil:
				t.Errorf("%s: %v", what, err)
			case c.field == "":
			case !errors.As(err, &invalid) || invalid.Field != c.field || c.limit > 0 && !strings.Contains(invalid.Reason, fmt.Sprint(c.limit)):
				t.Errorf("%s: %v, want a refusal of %s that tells the limit %d", what, err, c.field, c.limit)
			}
		}
	}
}

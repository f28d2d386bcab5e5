package sqlitestore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/sqlitestore"
)

func TestAStoreThatNobodyOpenedIsRefused(t *testing.T) {
	store := new(sqlitestore.Store)
	ctx := t.Context()
	_, enqueue := store.Enqueue(ctx, 1, []driver.EnqueueRequest{{Spec: driver.Spec{Name: "job", Queue: "queue", AttemptsMax: 1}}})
	_, counts := store.Counts(ctx, "")
	_, jobs := store.Jobs(ctx, []string{"id"})
	_, paused := store.PausedQueues(ctx)
	for call, err := range map[string]error{
		"Ping": store.Ping(ctx), "Enqueue": enqueue, "Counts": counts, "Jobs": jobs, "PausedQueues": paused,
	} {
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), "sqlitestore.Open") {
			t.Errorf("%s: %v, want ErrInvalid that says sqlitestore.Open", call, err)
		}
	}
	if err := store.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

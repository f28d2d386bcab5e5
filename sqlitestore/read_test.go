package sqlitestore

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// A read that is cut short at any moment leaves its connection fit for the next one.
func TestReadsThatAreCutShortLeaveNoTransaction(t *testing.T) {
	s := openForTest(t)
	for range 5000 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(rand.N(100*time.Microsecond), cancel)
		if _, err := s.Jobs(ctx, []string{"a"}); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("Jobs: %v", err)
		}
		timer.Stop()
		cancel()
	}
}

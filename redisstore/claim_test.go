package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braidmq/braid/driver"
	"github.com/braidmq/braid/internal/testserver"
)

func TestAClaimOfManyChunksAndItsRepetition(t *testing.T) {
	store := stores{url: testserver.SharedRedis(t)}.open(t, freshPrefix(""))
	var ids []string
	for i := range 700 {
		ids = append(ids, fmt.Sprintf("job-%03d", i))
	}
	enqueue(t, store, ids...)
	claim := func(limit int, resume bool) []string {
		t.Helper()
		result, err := store.Claim(t.Context(), 0, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Worker: "w",
			Token: "t", Limit: limit, LockDuration: 1000, Resume: resume})
		if err != nil {
			t.Fatal(err)
		}
		var claimed []string
		for _, job := range result.Jobs {
			claimed = append(claimed, job.ID)
		}
		return claimed
	}
	if got := claim(600, false); !slices.Equal(got, ids[:600]) {
		t.Errorf("the claim gave %d jobs, want the first 600 in order", len(got))
	}
	if got := claim(600, true); !slices.Equal(got, ids[:600]) {
		t.Errorf("its repetition gave %d jobs, want the same 600", len(got))
	}
	if got := claim(1000, true); !slices.Equal(got, ids) {
		t.Errorf("a repetition with more room gave %d jobs, want all 700", len(got))
	}
}

func TestAClaimEndsBeforeItsRecordsAreTooLarge(t *testing.T) {
	store := stores{url: testserver.SharedRedis(t)}.open(t, freshPrefix(""))
	payload := []byte(`"` + strings.Repeat("x", 3<<20) + `"`)
	for i := range 4 {
		_, err := store.Enqueue(t.Context(), 0, []driver.EnqueueRequest{{ID: fmt.Sprint(i),
			Spec: driver.Spec{Name: "n", Queue: "q", AttemptsMax: 1, Payload: payload}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for call, want := range []int{2, 2, 0} {
		result, err := store.Claim(t.Context(), 5, driver.ClaimRequest{Queue: "q", Names: []string{"n"}, Worker: "w",
			Token: fmt.Sprint("t", call), Limit: 10, LockDuration: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Jobs) != want {
			t.Errorf("call %d claimed %d jobs of 3 MiB, want %d", call, len(result.Jobs), want)
		}
		next, more := result.NextRunAt.Get()
		if more != (call == 0) || more && next > 5 {
			t.Errorf("call %d says that the next job is due at %v (%v)", call, next, more)
		}
	}
}
